"""The reader says of every captured machine what the machine really contains."""

from __future__ import annotations

import asyncio
import json
import re
from functools import cache
from typing import Any

import pytest
from tests.captures.conftest import captures_dir, load, truth

from metalwright.model.report import HardwareReport
from metalwright.redfish.inventory import CapturedTree, read_found, read_identities, read_reports

MEMORY_TOLERANCE = 0.03


@cache
def reports(machine: str) -> tuple[HardwareReport, ...]:
    return tuple(asyncio.run(read_reports(load(machine))))


def report_of(machine: str, host: dict[str, Any]) -> HardwareReport:
    name = host["uri"].rstrip("/").rpartition("/")[2]
    found = [report for report in reports(machine) if report.system.id == name]
    assert len(found) == 1, f"{name} is reported {len(found)} times"
    return found[0]


def plain(text: str | None) -> str:
    return re.sub(r"[^a-z0-9]", "", (text or "").lower())


def wanted(host: dict[str, Any], name: str) -> Any:
    if name not in host:
        pytest.skip(f"the truth does not know {name}")
    return host[name]


def test_every_host_and_nothing_but_hosts_is_reported(machine: str) -> None:
    hosts = [item["uri"].rpartition("/")[2] for item in truth()[machine]["systems"] if item["kind"] == "host"]
    assert sorted(report.system.id for report in reports(machine)) == sorted(hosts)


@pytest.mark.parametrize("name", ["manufacturer", "serial", "bios_version"])
def test_the_system_is_named_as_it_is(machine: str, host_truth: dict[str, Any], name: str) -> None:
    assert getattr(report_of(machine, host_truth).system, name) == wanted(host_truth, name)


def test_the_model_is_the_one_that_was_bought(machine: str, host_truth: dict[str, Any]) -> None:
    assert plain(wanted(host_truth, "model")) in plain(report_of(machine, host_truth).system.model)


def test_the_uuid_is_in_normal_form(machine: str, host_truth: dict[str, Any]) -> None:
    assert report_of(machine, host_truth).system.uuid == wanted(host_truth, "uuid").lower()


def test_sockets_and_cores_are_those_of_the_host(machine: str, host_truth: dict[str, Any]) -> None:
    cpus = report_of(machine, host_truth).cpus
    assert cpus is not None
    assert len(cpus) == wanted(host_truth, "cpus")
    assert {cpu.cores for cpu in cpus} == {wanted(host_truth, "cores_per_socket")}


def test_memory_is_host_memory_and_dimms_are_present_ones(machine: str, host_truth: dict[str, Any]) -> None:
    memory = report_of(machine, host_truth).memory
    assert memory.total_gib == pytest.approx(wanted(host_truth, "memory_gib"), rel=MEMORY_TOLERANCE)
    assert memory.dimms is not None
    assert len(memory.dimms) == wanted(host_truth, "dimms")


@pytest.mark.parametrize("part", ["gpus", "drives", "psus"])
def test_present_parts_are_counted_once(machine: str, host_truth: dict[str, Any], part: str) -> None:
    accepted = host_truth.get(f"{part}_accept") or [wanted(host_truth, part)]
    found = getattr(report_of(machine, host_truth), part)
    assert found is not None
    assert len(found) in accepted


def test_gpus_bear_the_name_that_they_are_sold_by(machine: str, host_truth: dict[str, Any]) -> None:
    model = plain(wanted(host_truth, "gpu_model"))
    gpus = report_of(machine, host_truth).gpus
    for gpu in gpus or ():
        assert gpu.model is not None
        assert plain(gpu.model) in model


def test_nic_macs_are_those_of_the_hosts_ports(machine: str, host_truth: dict[str, Any]) -> None:
    nics = report_of(machine, host_truth).nics
    macs = [port.mac for nic in nics or () for port in nic.ports if port.mac is not None]
    assert sorted(macs) == sorted(wanted(host_truth, "nic_macs"))


def test_the_bmc_version_is_the_bmcs(machine: str, host_truth: dict[str, Any]) -> None:
    assert report_of(machine, host_truth).bmc.firmware_version == wanted(host_truth, "bmc_firmware")


def test_what_is_unknown_is_named_in_problems(machine: str, host_truth: dict[str, Any]) -> None:
    report = report_of(machine, host_truth)
    named = " ".join(problem.what for problem in report.problems)
    for field in ("manufacturer", "model", "serial", "uuid", "bios_version"):
        if getattr(report.system, field) is None:
            assert f"{field} is unknown" in named
    for part in ("cpus", "gpus", "nics", "drives", "psus", "firmware"):
        if getattr(report, part) is None:
            assert report.problems, f"{part} is unknown and no problem says so"


def test_a_read_pass_asks_for_nothing_twice_and_stays_small(machine: str) -> None:
    tree = load(machine)
    before = len(tree.reads)
    asyncio.run(read_reports(tree))
    asked = [path.rstrip("/") for path in tree.reads[before:]]
    assert len(asked) == len(set(asked))
    assert len(asked) < 400


def test_the_short_identity_agrees_with_the_full_report_and_costs_few_reads(machine: str) -> None:
    tree = load(machine)
    before = len(tree.reads)
    identities = asyncio.run(read_identities(tree))
    assert len(tree.reads) - before <= 20
    full = {report.system.id: report for report in reports(machine)}
    assert {identity.system.id for identity in identities} == set(full)
    for identity in identities:
        report = full[identity.system.id]
        assert (identity.system.serial, identity.system.uuid) == (report.system.serial, report.system.uuid)
        assert identity.bmc.macs == report.bmc.macs


@pytest.mark.parametrize("power", ["On", "Off"])
def test_a_switch_tray_has_no_host_and_is_a_switch(power: str) -> None:
    folder = captures_dir()
    if folder is None or not (folder / "nvidia-gbswitch.json").is_file():
        pytest.skip("METALWRIGHT_CAPTURES names no folder with nvidia-gbswitch.json")
    bodies = json.loads((folder / "nvidia-gbswitch.json").read_text())
    bodies["/redfish/v1/Systems/System_0"]["PowerState"] = power
    assert asyncio.run(read_reports(CapturedTree(bodies))) == []
    found = asyncio.run(read_found(CapturedTree(bodies))).hostless
    assert found is not None
    assert (found.kind, found.report.system.serial) == ("switch", "HW3694074PHZ")


def test_a_dpu_of_its_own_is_a_dpu() -> None:
    folder = captures_dir()
    if folder is None or not (folder / "nvidia-bluefield3.json").is_file():
        pytest.skip("METALWRIGHT_CAPTURES names no folder with nvidia-bluefield3.json")
    found = asyncio.run(read_found(load("nvidia-bluefield3"))).hostless
    assert found is not None
    assert found.kind == "dpu"
