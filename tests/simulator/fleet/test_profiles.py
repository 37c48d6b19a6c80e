"""What each profile serves is what it declares: every link leads somewhere, and a reader finds the declared machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.simulator.fleet.direct import Direct

from metalwright.cli.app import run
from metalwright.errors import LabError
from metalwright.simulator.fleet.truth import fill_truth
from metalwright.simulator.profiles import NAMES, load_profile

SERVICES = ("/redfish/v1/SessionService", "/redfish/v1/AccountService", "/redfish/v1/TaskService")

Find = Callable[[str], Direct]


def links_in(body: Any) -> Iterator[str]:
    if isinstance(body, dict):
        for key, value in body.items():
            if key == "@odata.id" and isinstance(value, str) and "#" not in value:
                yield value.rstrip("/")
            else:
                yield from links_in(value)
    elif isinstance(body, list):
        for value in body:
            yield from links_in(value)


def test_there_are_at_least_eight_kinds_of_five_vendors() -> None:
    vendors = {load_profile(name).tree.body("/redfish/v1")["Vendor"] for name in NAMES}
    assert len(NAMES) >= 8
    assert len(vendors) >= 5


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(LabError, match="h100-8x-supermicro"):
        load_profile("abacus")


@pytest.mark.parametrize("name", NAMES)
def test_a_tree_is_complete_and_every_link_leads_to_a_resource(name: str, bmc: Find) -> None:
    direct = bmc(name)
    tree, routes = direct.bmc.tree_routes.tree, direct.bmc.tree_routes
    resources = [body for _, body in tree.bodies() if "@odata.id" in body]
    assert len(resources) >= 150
    missing = []
    for path, body in tree.bodies():
        for link in links_in(body):
            if link.startswith(SERVICES):
                routes.find(link)  # raises where there is none
            elif tree.find(link) is None:
                missing.append((path, link))
    assert missing == []


@pytest.mark.parametrize("name", NAMES)
def test_each_resource_names_itself_and_collections_count_right(name: str) -> None:
    for path, body in load_profile(name).tree.bodies():
        if "@odata.id" in body:
            assert body["@odata.id"].rstrip("/") == path
        if "Members" in body:
            assert len(body["Members"]) == body["Members@odata.count"]
            assert all(link.startswith(path) for link in links_in(body["Members"])) or "Drives" in path


@pytest.mark.parametrize("name", NAMES)
def test_inspect_finds_what_the_profile_declares(
    name: str, bmc: Find, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    direct = bmc(name)
    if direct.host:
        direct.reset("On")  # a host that is off may keep silent about its parts
    monkeypatch.setenv("METALWRIGHT_BMC_USER", direct.bmc.spec.bmc.user)
    monkeypatch.setenv("METALWRIGHT_BMC_PASSWORD", direct.bmc.spec.bmc.password.get_secret_value())
    assert run(["inspect", direct.url, "--json"]) == 0
    reports = json.loads(capsys.readouterr().out)
    truth = fill_truth(direct.bmc.tree_routes.tree, direct.bmc.identity)
    assert len(reports) == len(truth)
    for report, wanted in zip(reports, truth, strict=True):
        for part in wanted:
            assert declared(report[part], wanted[part]) == declared(wanted[part], wanted[part]), part


def declared(found: Any, wanted: Any) -> Any:
    """``found`` cut down to what ``wanted`` declares; lists are put in an order."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return {key: declared(found.get(key), value) for key, value in wanted.items()}
    if isinstance(wanted, list) and isinstance(found, list):
        shape = wanted[0] if wanted else None
        return sorted((declared(item, shape) for item in found), key=lambda item: json.dumps(item, sort_keys=True))
    return found
