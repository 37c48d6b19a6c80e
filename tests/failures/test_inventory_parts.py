"""Known failures of single parts: ``inspect`` and ``match`` against an 8-GPU server with the recipe of each entry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.failures.profiled import Profiled, profiled, site_of
from tests.failures.test_inventory import HARDWARE

from metalwright.simulator.recipes import recipes
from metalwright.simulator.service.traffic import Traffic


@pytest.fixture(scope="module")
def server() -> Iterator[Profiled]:
    with profiled("h100-8x-supermicro", "127.113.9.1") as running:
        yield running


@pytest.fixture(scope="module")
def whole(server: Profiled) -> dict[str, Any]:
    """What the server tells while its BMC behaves."""
    (report,) = server.inspect()
    return report


def told(server: Profiled, recipe: str, times: int = 1) -> dict[str, Any]:
    """What it tells with the faults of a recipe; the last of some reports, which are all alike."""
    faults = server.bmc.system.faults
    faults.clear()
    server.bmc.traffic = Traffic(1000)
    for fault in recipes()[recipe]:
        faults.set(fault.name, **fault.model_dump(exclude={"name"}, exclude_unset=True))
    try:
        reports = [server.inspect() for _ in range(times)]
    finally:
        faults.clear()
    assert any(record.faults for record in server.bmc.traffic.records)
    assert reports.count(reports[0]) == times
    (report,) = reports[0]
    return report


def problems(report: dict[str, Any]) -> str:
    return "\n".join(f"{item['uri']}: {item['what']}" for item in report["problems"])


def macs(report: dict[str, Any]) -> list[str | None]:
    return [port["mac"] for nic in report["nics"] for port in nic["ports"]]


def test_in_04_two_empty_slots_more_change_nothing(server: Profiled, whole: dict[str, Any]) -> None:
    assert told(server, "in-04")["memory"] == whole["memory"]


def test_in_08_three_odd_macs_are_named_and_never_used(server: Profiled, whole: dict[str, Any]) -> None:
    report = told(server, "in-08")
    assert list(filter(None, macs(report))) == list(filter(None, macs(whole)))
    assert len(macs(report)) == len(macs(whole)) + 3
    for name in ("odd-1", "odd-2", "odd-3"):
        assert f"{name}: has no usable MAC address" in problems(report)


def test_in_09_the_adapters_tell_the_macs_that_the_system_does_not(server: Profiled, whole: dict[str, Any]) -> None:
    report = told(server, "in-09")
    assert sorted(filter(None, macs(report))) == sorted(filter(None, macs(whole)))


def test_in_13_no_id_of_a_firmware_item_is_guessed(server: Profiled) -> None:
    assert [item["id"] for item in told(server, "in-13")["firmware"]] == ["Bluefield_FW_BMC_0"]
    below = "/FirmwareInventory/"
    assert [record.path for record in server.bmc.traffic.records if below in record.path] == []


def test_in_14_storage_without_drives_is_passed_over(server: Profiled) -> None:
    assert told(server, "in-14a")["system"]["power_state"] == "Off"


def test_in_14_drives_without_a_size_are_unknown_and_no_pass(server: Profiled, tmp_path: Path) -> None:
    site = site_of(tmp_path, server, HARDWARE)
    for fault in recipes()["in-14b"]:
        server.bmc.system.faults.set(fault.name, **fault.model_dump(exclude={"name"}, exclude_unset=True))
    done = site.run("match", "gpu-1", "--json", factory=server.password)
    server.bmc.system.faults.clear()
    assert done.json["nodes"][0]["verdict"] == "DEFERRED", done.json
    assert "drives" in {finding["code"].partition("-")[2] for finding in done.json["nodes"][0]["findings"]}


def test_di_05_a_mac_that_is_new_at_each_boot_is_no_network_card(server: Profiled, whole: dict[str, Any]) -> None:
    assert told(server, "di-05", times=2)["nics"] == whole["nics"]
