"""What ``--dry --diff`` shows is what is written, for every operation on a BMC.

Those whose own tests compare it too (their subjects need sites of their own) are named in :data:`ELSEWHERE`.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.operations.redfish.bench import Bench
from tests.operations.redfish.deployments import make_deployment
from tests.operations.redfish.site import lab_site
from tests.operations.redfish.test_image import served

from metalwright.connectors.services import SiteServices
from metalwright.operations import redfish as operations
from metalwright.operations.redfish import accounts, bios, boot, event_logs, http_boot, image, manager, power
from metalwright.simulator.state import Account, Job

TESTS = Path(__file__).parents[2]
NTP = ["10.0.0.7", "10.0.0.8"]
ADDRESS, GATEWAY = "127.158.64.77", "127.158.64.1"
STATIC = {"address": ADDRESS, "prefix": "127.158.64.0/24", "gateway": GATEWAY}
MOVED = {"Address": ADDRESS, "SubnetMask": "255.255.255.0", "Gateway": GATEWAY}
CYCLED = ["power: On → Off, then On again", "power: On → Off (ForceOff)"]
RESET, SYSTEM, SETTINGS = "POST ComputerSystem.Reset", "PATCH 1", "PATCH Settings"
URL, HTTP_PORT = "http://10.0.0.1/a.efi", {"SysProfile": "Performance"}
DISK_ENABLED = "boot option Boot0001 (Disk): disabled → enabled"
SECRET = "SECRETMEDIUM-SECRETMEDIUM-SECRETMEDIUM"
HTTP_ONCE = {"BootSourceOverrideTarget": "UefiHttp", "BootSourceOverrideEnabled": "Once", "HttpBootUri": URL}
CD_ONCE = {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}

_IN_ACCOUNTS = "failures/test_accounts.py::test_what_the_dry_run_showed_is_what_was_written"
_IN_MEDIA = (
    "failures/test_boot_and_media.py::test_what_the_diff_shows_is_what_is_written_and_a_second_run_changes_nothing"
)
ELSEWHERE = {
    **dict.fromkeys(("accounts.own_login", "accounts.barred", "accounts.lockout"), _IN_ACCOUNTS),
    **dict.fromkeys(("manager.protocols", "manager.syslog", "manager.lockdown"), _IN_ACCOUNTS),
    **dict.fromkeys(("boot.override", "virtual_media.inserted", "virtual_media.ejected"), _IN_MEDIA),
    "bios.attributes": "failures/test_bios.py::test_what_the_preview_showed_is_what_was_written",
    "firmware.updated": "failures/test_firmware.py::test_what_an_image_needs_is_installed_first",
    "firmware.activated": "failures/test_firmware.py::test_one_restart_brings_all_staged_images_into_force",
    "power.state": "failures/test_power.py::test_what_the_diff_shows_is_what_is_sent",
    "certificate.https_certificate": "operations/redfish/test_certificate.py::"
    "test_the_bmc_gets_a_certificate_of_the_sites_own_authority_for_a_key_that_it_made",
}
WRITES_NOTHING = {"refusals.refused", "refusals.skipped"}
PREVIEWS = ("preview(", "is_dry=True", "PREVIEW")


@dataclass(frozen=True)
class Case:
    """``shown`` are the lines of the preview, ``written`` the requests of the run and their bodies."""

    operation: Any
    arguments: dict[str, Any]
    shown: list[str]
    written: list[tuple[str, Any]]
    arrange: Callable[[Bench], None] = lambda _: None


def turned_on(bench: Bench) -> None:
    assert bench.run(power.state, wanted="On").is_ok


def granted(bench: Bench) -> None:
    bench.site.grant("lab-1")


def with_jobs(bench: Bench) -> None:
    bench.system.state.jobs.append(Job(id="JID_1"))


def with_operator(bench: Bench) -> None:
    bench.system.state.accounts.append(Account(id="7", user="vendor", salt="s", digest="d", role="Operator"))


def staying_where_it_is(bench: Bench) -> None:
    bench.system.faults.set("address-ignored")


def with_the_disk_off_and_last(bench: Bench) -> None:
    """A shell comes before a disk that is disabled; both as the BMC takes and shows them once they are repaired."""
    options = "/redfish/v1/Systems/1/BootOptions"
    shell = {"@odata.id": f"{options}/Boot0003", "BootOptionReference": "Boot0003", "DisplayName": "EFI Shell"}
    disk: dict[str, Any] = {"@odata.id": f"{options}/Boot0001", "BootOptionReference": "Boot0001"}
    disk |= {"DisplayName": "Disk", "Alias": "Hdd", "BootOptionEnabled": False}
    members = [{"@odata.id": option["@odata.id"]} for option in (shell, disk)]
    bench.rule("GET", "BootOptions$", edit=[{"at": "/Members", "set": members}])
    bench.rule("GET", "Boot0003$", status=200, body=shell)
    bench.rule("GET", "Boot0001$", status=200, body=disk)
    bench.rule("GET", "Systems/1$", edit=[{"at": "/Boot/BootOrder", "set": ["Boot0003", "Boot0001"]}])
    bench.rule("PATCH", "Boot0001$|Systems/1$", status=204)
    enabled = {"method": "PATCH", "path": "Boot0001$"}
    bench.rule("GET", "Boot0001$", when={"after": enabled}, status=200, body={**disk, "BootOptionEnabled": True})
    ordered = {"method": "PATCH", "path": "Systems/1$"}
    moved = [{"at": "/Boot/BootOrder", "set": ["Boot0001", "Boot0003"]}]
    bench.rule("GET", "Systems/1$", when={"after": ordered}, edit=moved)


CASES = (
    Case(power.reset, {}, ["power: On → On (ForceRestart)"], [(RESET, {"ResetType": "ForceRestart"})], turned_on),
    Case(
        *(power.restart, {}, CYCLED, [(RESET, {"ResetType": "ForceOff"}), (RESET, {"ResetType": "On"})], turned_on),
    ),
    Case(event_logs.cleared, {}, ["event log Log: n entries → cleared"], [("POST LogService.ClearLog", {})]),
    Case(
        *(manager.clock, {"servers": NTP}, ["NTP: off → 10.0.0.7, 10.0.0.8"]),
        [("PATCH NetworkProtocol", {"NTP": {"ProtocolEnabled": True, "NTPServers": NTP}})],
    ),
    Case(
        *(accounts.enabled, {"users": ["vendor"], "is_enabled": False}, ["account vendor: on → off"]),
        *([("PATCH 7", {"Enabled": False})], with_operator),
    ),
    Case(
        *(bios.jobs_cleared, {"jobs": ["JID_1", "JID_9"]}, ["job JID_1 (BIOSConfiguration, Scheduled) → removed"]),
        *([("DELETE JID_1", None)], with_jobs),
    ),
    Case(
        *(boot.order, {}, [DISK_ENABLED, "boot order: Boot0003, Boot0001 → Boot0001, Boot0003"]),
        [("PATCH Boot0001", {"BootOptionEnabled": True}), (SYSTEM, {"Boot": {"BootOrder": ["Boot0001", "Boot0003"]}})],
        with_the_disk_off_and_last,
    ),
    Case(
        *(http_boot.boot, {"url": URL, "settings": HTTP_PORT}),
        ["SysProfile: Balanced → Performance", "boot target: None → UefiHttp", f"HTTP boot: none → {URL}"],
        [(SETTINGS, {"Attributes": HTTP_PORT}), (SYSTEM, {"Boot": HTTP_ONCE})],
        granted,
    ),
    Case(
        *(manager.address, STATIC, [f"BMC address: 127.158.1.1 → {ADDRESS}", "DHCP: on → off"]),
        [("PATCH 1", {"DHCPv4": {"DHCPEnabled": False}, "IPv4StaticAddresses": [MOVED]})],
        staying_where_it_is,
    ),
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One machine for all cases: with a job queue, and with HTTP boot."""
    bmc = {"oem": "dell", "boot_targets": ("None", "Cd", "Hdd", "UefiHttp", "Pxe")}
    root = tmp_path_factory.mktemp("preview") / "site"
    with lab_site(root, 1, 1, prefix="127.158", bmc_changes=bmc) as site:
        yield Bench(site)


@pytest.fixture(autouse=True)
def behaved(bench: Bench) -> None:
    """No fault of an earlier case is left."""
    bench.behave()


def test_every_operation_on_a_bmc_has_its_preview_compared_with_its_run() -> None:
    named = set(ELSEWHERE)
    here = {name_of(case.operation) for case in CASES} | {name_of(image.started)}
    assert not here & named
    assert here | named | WRITES_NOTHING == set(all_operations())


def test_the_tests_that_compare_the_others_are_there_and_ask_for_a_preview() -> None:
    for place in set(ELSEWHERE.values()):
        path, _, name = place.partition("::")
        text = (TESTS / path).read_text(encoding="utf-8")
        bodies = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and node.name == name]
        assert len(bodies) == 1, place
        source = ast.get_source_segment(text, bodies[0]) or ""
        assert any(word in source for word in PREVIEWS), place


@pytest.mark.parametrize("case", CASES, ids=lambda case: name_of(case.operation))
def test_a_preview_writes_nothing_and_shows_what_the_run_then_writes(case: Case, bench: Bench) -> None:
    case.arrange(bench)
    bench.forget()
    shown = [re.sub(r"\d+ entries", "n entries", line) for line in bench.preview(case.operation, **case.arguments)]
    assert shown == case.shown
    assert bench.writes() == []
    done = bench.run(case.operation, **case.arguments)
    assert done.is_ok, done.text
    assert written(bench) == case.written
    assert [re.sub(r"\d+ entries", "n entries", line) for line in done.diff] == shown


def test_a_preview_of_the_deploy_ramdisk_shows_the_restart_and_what_leaves_the_slots(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The preview names the disk, the power, the medium that leaves and the way of the ramdisk; the run does that."""

    def order(self: SiteServices, node: str, method: str) -> str:
        self.workspace.journal.deployments.create(make_deployment(node, f"r-{node}", SECRET))
        return url

    monkeypatch.setattr(SiteServices, "order_medium", order)
    turned_on(bench)
    granted(bench)
    with served(b"\0" * 4096) as url:
        bench.system.state.media.image = old = "http://10.0.0.1/old.iso"
        bench.forget()
        shown = bench.preview(image.started)
        assert [line.partition("sha256")[0] for line in shown] == [
            "system disk: as it is → image ",
            "power: On → Off, then On again",
            f"virtual media Cd: {old} → empty",
            "deploy ramdisk: unknown → by virtual-media",
        ]
        assert bench.writes() == []
        done = bench.run(image.started)
        assert done.is_ok, done.text
        assert done.diff == shown
        assert written(bench) == [
            (RESET, {"ResetType": "ForceOff"}),
            ("POST VirtualMedia.EjectMedia", {}),
            ("POST VirtualMedia.InsertMedia", {"Image": url}),
            (SYSTEM, {"Boot": CD_ONCE}),
            (RESET, {"ResetType": "On"}),
        ]


def test_a_restart_that_nothing_would_prove_is_shown_as_off_and_on(bench: Bench) -> None:
    turned_on(bench)
    bench.rule("GET", "Systems/1$", edit=[{"at": at, "drop": True} for at in ("/LastResetTime", "/BootProgress")])
    assert bench.preview(power.reset) == CYCLED


def written(bench: Bench) -> list[tuple[str, Any]]:
    """The requests that change something, and their bodies."""
    seen = [record for record in bench.seen() if record.method not in ("GET", "HEAD")]
    return [(f"{record.method} {record.path.rsplit('/', 1)[-1]}", record.body) for record in seen]


def all_operations() -> Iterator[str]:
    """``module.operation`` of each operation on a BMC."""
    for found in pkgutil.iter_modules(operations.__path__):
        module = importlib.import_module(f"{operations.__name__}.{found.name}")
        for name, value in vars(module).items():
            if hasattr(value, "_inner") and value.__module__ == module.__name__:
                yield f"{found.name}.{name}"


def name_of(operation: Any) -> str:
    """``module.operation``."""
    return f"{operation.__module__.rsplit('.', 1)[-1]}.{operation._inner.__name__}"
