"""No error about a BMC without host, method, path, status, the BMC's own words and the next action.

Held in two ways: commands over a BMC that fails in every way that HTTP knows, judged by what they print; and every
place in the source that makes such an error, judged by what it hands over.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.failures.transport_bmcs import AT_ONCE, bmc
from tests.simulator.discovery.sites import Run, SiteOnDisk, machine, make_site, node_of, port_of

import metalwright
from metalwright import errors
from metalwright.simulator.running import RunningService

KINDS = {
    name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.RedfishError)
}
ALL_LOGS = "LogServices$"
COMMANDS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "inspect": (("inspect", "lab-1"), "GET", "/redfish/v1/Systems"),
    "match": (("match", "lab-1"), "GET", "/redfish/v1/Systems"),
    "power": (("power", "lab-1"), "GET", "/redfish/v1/Systems"),
    "bios": (("bios", "show", "lab-1"), "GET", "/redfish/v1/Systems/1/Bios"),
    "sel": (("sel", "lab-1"), "GET", "/redfish/v1/Systems/1/LogServices"),
    "locate": (("locate", "lab-1"), "PATCH", "/redfish/v1/Systems/1"),
}
NAME = "Base.1.18.{} The BMC answers {}."
HTML = {"body": "<html>gateway</html>", "content_type": "text/html"}


def refused(status: int, name: str) -> tuple[dict[str, Any], str]:
    return {"status": status, "message": f"Base.1.18.{name}"}, f"HTTP {status}; {NAME.format(name, name)}"


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "bad request": refused(400, "PropertyValueNotInList"),
    "no login": refused(401, "NoValidSession"),
    "no privilege": refused(403, "InsufficientPrivilege"),
    "missing": refused(404, "ResourceMissingAtURI"),
    "not allowed": refused(405, "OperationNotAllowed"),
    "conflict": refused(409, "ResourceInUse"),
    "precondition": refused(412, "PreconditionFailed"),
    "too many": refused(429, "ServiceTemporarilyUnavailable"),
    "internal": refused(500, "InternalError"),
    "unavailable": refused(503, "ServiceInUnknownState"),
    "gateway": ({"status": 502, **HTML}, "HTTP 502; text/html: gateway"),
    "page": ({"status": 200, **HTML}, "HTTP 200; text/html: gateway"),
    "closed": ({"close": "before"}, "connection closed: "),
}
SOME = ("no privilege", "internal", "closed")
CASES = [("power", fault) for fault in FAULTS]
CASES += [("inspect", fault) for fault in FAULTS if fault != "missing"]  # a BMC without systems has no host
CASES += [(command, fault) for command in ("match", "bios", "sel", "locate") for fault in SOME]


@dataclass(frozen=True)
class Rack:
    """One node and its BMC."""

    site: SiteOnDisk
    service: RunningService

    def run(self, command: str, fault: str) -> Run:
        """The command over a BMC that fails so at the place that the command needs."""
        words, method, path = COMMANDS[command]
        do = {"headers": AT_ONCE, **FAULTS[fault][0]} if "status" in FAULTS[fault][0] else FAULTS[fault][0]
        self.service.system.faults.clear()
        self.service.system.faults.rule(method, ALL_LOGS if command == "sel" else f"{path}$", **do)
        return self.site.run(*words)


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    with bmc() as service:
        host = service.url.removeprefix("https://").partition(":")[0]
        node = {**node_of(machine(1)), "bmc_address": host}
        yield Rack(make_site(tmp_path_factory.mktemp("errors"), [node], port_of(service)), service)


@pytest.mark.parametrize(("command", "fault"), CASES)
def test_an_error_tells_method_host_path_status_the_bmcs_words_and_the_next_action(
    command: str, fault: str, rack: Rack
) -> None:
    _, method, path = COMMANDS[command]
    done = rack.run(command, fault)
    assert done.code == 1, done.out
    said = " ".join(done.err.split())
    assert f"{method} {rack.service.url}{path}" in said, done.err
    assert FAULTS[fault][1] in said, done.err
    assert re.search(r"hint: \w", said), done.err
    assert "Traceback" not in done.err
    assert "fault of metalwright" not in done.err


def test_every_place_that_makes_an_error_about_a_bmc_says_where_and_what_next() -> None:
    bare = []
    for path in sorted(Path(metalwright.__file__).parent.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(f"{kind}(" in text for kind in KINDS):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS:
                given = {keyword.arg for keyword in node.keywords}
                bare += [f"{path.name}:{node.lineno} {name}" for name in {"where", "hint"} - given]
    assert bare == []
    assert len(KINDS) == 8
