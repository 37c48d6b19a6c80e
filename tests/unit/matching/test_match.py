from __future__ import annotations

from typing import Any

import pytest
from tests.unit.matching.machines import BLUEPRINT, NODE, REPORT, TB, blueprint_with, node_with, report_with

from metalwright.matching import choose_system_disk, match, system_disk_finding
from metalwright.model.blueprint import Blueprint
from metalwright.model.finding import Finding, MatchResult
from metalwright.model.report import (
    CANNOT_SEE,
    CRITICAL,
    Cpu,
    Dimm,
    Drive,
    Gpu,
    HardwareReport,
    MemoryFacts,
    Nic,
    NicPort,
    Problem,
)


def result(report: HardwareReport) -> MatchResult:
    return match(BLUEPRINT, report, NODE)


def only(report: HardwareReport) -> Finding:
    findings = result(report).findings
    assert len(findings) == 1, findings
    return findings[0]


def test_a_machine_that_is_what_the_blueprint_says_passes() -> None:
    assert result(REPORT) == MatchResult(node="gpu-a01-u07", verdict="PASS")


def test_a_missing_gpu_is_named_by_its_slot_with_the_part_that_would_do() -> None:
    assert REPORT.gpus is not None
    finding = only(report_with(gpus=REPORT.gpus[:7]))
    assert (finding.code, finding.verdict, finding.slot) == ("gpu-count", "FAIL", "SXM8")
    assert (finding.expected, finding.found) == ("8 GPUs", "7 GPUs")
    assert finding.source == "BMC 10.20.0.11, system 1"
    assert finding.hint is not None
    assert "NVIDIA H100 SXM 80GB" in finding.hint


def test_a_wrong_gpu_is_named_by_its_slot() -> None:
    assert REPORT.gpus is not None
    wrong = Gpu(slot="SXM3", manufacturer="NVIDIA", model="NVIDIA A100 SXM4 80GB", memory_gib=80)
    finding = only(report_with(gpus=(*REPORT.gpus[:2], wrong, *REPORT.gpus[3:])))
    assert (finding.code, finding.slot, finding.found) == ("gpu-model", "SXM3", "NVIDIA A100 SXM4 80GB")


@pytest.mark.parametrize("part", ["cpus", "gpus", "nics", "drives", "psus"])
def test_an_unknown_part_is_deferred_and_never_passes(part: str) -> None:
    found = result(report_with(**{part: None}))
    assert found.verdict == "DEFERRED"
    assert [finding.code for finding in found.findings] == [f"unknown-{part}"]


def test_unknown_memory_is_deferred() -> None:
    found = result(report_with(memory=MemoryFacts()))
    assert (found.verdict, {finding.code for finding in found.findings}) == (
        "DEFERRED",
        {"unknown-memory", "unknown-dimms"},
    )


def test_an_empty_list_of_a_bmc_that_cannot_see_is_deferred() -> None:
    blind = report_with(drives=(), problems=(Problem(uri="/redfish/v1/Systems/1", what=f"{CANNOT_SEE} drives"),))
    assert result(blind).verdict == "DEFERRED"
    assert result(report_with(drives=())).verdict == "FAIL"


@pytest.mark.parametrize(
    ("readable", "hidden", "verdict"), [(2, 0, "PASS"), (1, 1, "DEFERRED"), (1, 0, "FAIL"), (2, 1, "DEFERRED")]
)
def test_in_16_members_that_cannot_be_read_never_pass(readable: int, hidden: int, verdict: str) -> None:
    good = Cpu(slot="1", model="Xeon Platinum 8462Y+", cores=32)
    cpus = (*(good for _ in range(readable)), *(Cpu(slot="9") for _ in range(hidden)))
    assert result(report_with(cpus=cpus)).verdict == verdict


def memory_of(*sizes_gib: float | None, total_gib: float | None = None) -> HardwareReport:
    """32 DIMMs of 64 GiB, the first ones of these sizes; the total is their sum unless given."""
    every = [*sizes_gib, *(64.0 for _ in range(32 - len(sizes_gib)))]
    dimms = tuple(Dimm(slot=f"P1-DIMM{n}", size_gib=size, part_number="M321") for n, size in enumerate(every, 1))
    total = total_gib if total_gib is not None else sum(size or 0 for size in every)
    return report_with(memory=MemoryFacts(total_gib=total, dimms=dimms))


def test_one_smaller_dimm_is_named_though_the_total_is_close() -> None:
    finding = only(memory_of(32.0))
    assert (finding.code, finding.verdict, finding.slot) == ("dimm-size", "FAIL", "P1-DIMM1")
    assert (finding.expected, finding.found) == ("64 GiB", "32 GiB M321")
    assert finding.hint == "fit another 64 GiB M321"


def test_two_wrong_dimms_do_not_make_up_for_each_other() -> None:
    assert {finding.slot for finding in result(memory_of(32.0, 96.0)).findings} == {"P1-DIMM1", "P1-DIMM2"}


def test_a_dimm_of_unknown_size_is_deferred() -> None:
    finding = only(memory_of(None, total_gib=2048))
    assert (finding.code, finding.verdict, finding.slot) == ("unknown-dimm-size", "DEFERRED", "P1-DIMM1")


@pytest.mark.parametrize(("total_gib", "verdict"), [(2048, "PASS"), (2040, "PASS"), (2016, "DEFERRED"), (1984, "FAIL")])
def test_a_total_that_only_a_summary_tells_passes_when_it_is_near_enough_to_exclude_a_missing_module(
    total_gib: float, verdict: str
) -> None:
    blueprint = blueprint_with(memory={"total_gib": 2048})
    found = match(blueprint, report_with(memory=MemoryFacts(total_gib=total_gib)), NODE)
    assert found.verdict == verdict


def test_one_of_sixty_four_dimms_that_is_missing_fails_without_a_wanted_number() -> None:
    dimms = tuple(Dimm(slot=str(n), size_gib=32) for n in range(63))
    report = report_with(memory=MemoryFacts(total_gib=63 * 32, dimms=dimms))
    found = match(blueprint_with(memory={"total_gib": 2048}), report, NODE)
    assert [finding.code for finding in found.findings] == ["memory-total"]


def test_cores_that_are_switched_off_are_a_contradiction() -> None:
    assert REPORT.cpus is not None
    halved = REPORT.cpus[1].model_copy(update={"enabled_cores": 16})
    finding = only(report_with(cpus=(REPORT.cpus[0], halved)))
    assert (finding.code, finding.slot, finding.found) == ("cpu-cores", "CPU 2", "16 of 32 cores enabled")


def test_a_part_that_its_bmc_calls_broken_stops_and_is_named() -> None:
    problem = Problem(uri="/redfish/v1/Systems/HGX_Baseboard_0/Processors/GPU_SXM_3", what=CRITICAL)
    finding = only(report_with(problems=(problem,)))
    assert (finding.code, finding.verdict, finding.slot) == ("part-health", "FAIL", "GPU_SXM_3")


def test_power_supplies_that_no_bmc_shows_are_settled_by_what_a_person_attests() -> None:
    silent = report_with(psus=None)
    assert only(silent).verdict == "DEFERRED"
    assert "attested: {psus: 6, psu_watts: 3000}" in (only(silent).hint or "")
    right = node_with(attested={"psus": 6, "psu_watts": 3000})
    assert match(BLUEPRINT, silent, right).verdict == "PASS"
    for attested, code in (
        ({"psus": 5, "psu_watts": 3000}, "psu-count"),
        ({"psus": 6, "psu_watts": 2000}, "psu-watts"),
        ({"psus": 6}, "unknown-psu-watts"),
    ):
        found = match(BLUEPRINT, silent, node_with(attested=attested))
        assert [finding.code for finding in found.findings] == [code]


def test_a_bmc_that_shows_its_power_supplies_is_believed_before_the_rack_file() -> None:
    assert REPORT.psus is not None
    attested = node_with(attested={"psus": 6, "psu_watts": 3000})
    assert match(BLUEPRINT, report_with(psus=REPORT.psus[:5]), attested).verdict == "FAIL"


def test_another_class_of_server_is_told() -> None:
    system = REPORT.system.model_copy(update={"manufacturer": "Dell Inc.", "model": "PowerEdge R750"})
    assert [finding.code for finding in result(report_with(system=system)).findings] == [
        "system-manufacturer",
        "system-model",
    ]


def drives_blueprint(*groups: dict[str, Any]) -> Blueprint:
    return blueprint_with(drives=list(groups))


@pytest.mark.parametrize("order", [(3840, 3200), (3200, 3840)])
def test_in_12_overlapping_groups_are_matched_as_a_whole(order: tuple[int, int]) -> None:
    blueprint = drives_blueprint(
        {"role": "system", "count": 1, "min_bytes": 3 * TB, "max_bytes": 4 * TB},
        {"role": "scratch", "count": 1, "min_bytes": 3_800 * 10**9, "max_bytes": 4 * TB},
    )
    drives = tuple(Drive(slot=str(gb), serial=f"S{gb}", size_bytes=gb * 10**9) for gb in order)
    report = report_with(drives=drives)
    assert match(blueprint, report, NODE).verdict == "PASS"
    assert choose_system_disk(blueprint, NODE, report) == "S3200"


def test_in_12_a_drive_of_unknown_size_is_deferred() -> None:
    blueprint = drives_blueprint({"role": "system", "count": 1, "min_bytes": 3_840 * 10**9})
    found = match(blueprint, report_with(drives=(Drive(slot="1", serial="S1"),)), NODE)
    assert found.verdict == "DEFERRED"


def test_a_drive_that_is_too_small_is_named_with_what_would_do() -> None:
    assert REPORT.drives is not None
    small = Drive(slot="Bay 7", serial="X", model="PM9A3", protocol="NVMe", size_bytes=960 * 10**9)
    findings = result(report_with(drives=(*REPORT.drives[:8], small))).findings
    wrong = next(finding for finding in findings if finding.code == "drive-mismatch")
    assert wrong.slot == "Bay 7"
    assert wrong.expected == "NVMe of at least 7.00 TB (scratch)"
    assert wrong.hint is not None
    assert "another MZQL2" in wrong.hint


def test_in_17_a_port_in_the_wrong_mode_is_named_and_the_setting_offered() -> None:
    assert REPORT.nics is not None
    wrong = Nic(slot="Slot 3", model="CX7", ports=(NicPort(name="1", speed_gbps=400, link="ethernet"),))
    finding = only(report_with(nics=(*REPORT.nics[:3], wrong, *REPORT.nics[4:])))
    assert (finding.code, finding.slot, finding.found) == ("nic-link", "Slot 3 port 1", "400 Gbit/s ethernet, CX7")
    assert finding.hint == "set the port's link type to infiniband in its firmware, or fit another CX7"


def test_adapters_that_do_not_list_their_ports_defer() -> None:
    assert REPORT.nics is not None
    nics = tuple(nic.model_copy(update={"ports": ()}) for nic in REPORT.nics)
    assert result(report_with(nics=nics)).verdict == "DEFERRED"


def test_further_ports_and_drives_are_no_contradiction() -> None:
    assert REPORT.nics is not None
    assert REPORT.drives is not None
    more = report_with(
        nics=(*REPORT.nics, Nic(slot="LOM", ports=(NicPort(name="1", speed_gbps=1, link="ethernet"),))),
        drives=(*REPORT.drives, Drive(slot="USB", serial="U", size_bytes=64 * 10**9)),
    )
    assert result(more).verdict == "PASS"


def test_a_port_that_the_rack_file_names_must_be_there() -> None:
    node = node_with(ports=({"mac": "7c:c2:55:99:99:99", "role": "host"},))
    assert REPORT.nics is not None
    ports = (NicPort(name="1", mac=f"aa:00:00:00:00:0{n}", speed_gbps=400, link="infiniband") for n in range(8))
    fabric = tuple(Nic(slot=f"Slot {n}", ports=(port,)) for n, port in enumerate(ports))
    known = report_with(nics=(*fabric, REPORT.nics[-1]))
    assert [finding.code for finding in match(BLUEPRINT, known, node).findings] == ["nic-mac"]


def test_the_system_disk_is_the_only_one_that_can_be_it() -> None:
    assert choose_system_disk(BLUEPRINT, NODE, REPORT) == "SYS1"


def test_two_disks_that_can_be_it_are_no_choice_and_the_finding_says_what_to_write() -> None:
    assert REPORT.drives is not None
    twin = REPORT.drives[0].model_copy(update={"slot": "M.2 B", "serial": "SYS2"})
    report = report_with(drives=(*REPORT.drives, twin))
    assert choose_system_disk(BLUEPRINT, NODE, report) is None
    finding = system_disk_finding(BLUEPRINT, NODE, report)
    assert finding is not None
    assert finding.verdict == "DEFERRED"
    assert finding.hint == "name it in the rack file: system_disk: {serial: SYS1}"
    assert choose_system_disk(BLUEPRINT, node_with(system_disk={"serial": "sys2"}), report) == "SYS2"


def test_a_named_disk_that_is_not_there_is_a_contradiction_never_another_disk() -> None:
    node = node_with(system_disk={"serial": "GONE"})
    assert choose_system_disk(BLUEPRINT, node, REPORT) is None
    finding = system_disk_finding(BLUEPRINT, node, REPORT)
    assert finding is not None
    assert finding.verdict == "FAIL"
    assert match(BLUEPRINT, REPORT, node).verdict == "FAIL"


def test_alternates_stand_in() -> None:
    blueprint = blueprint_with(alternates={"cpus": ["Xeon Platinum 8468"]})
    cpus = tuple(Cpu(slot=str(n), model="Intel(R) Xeon(R) Platinum 8468", cores=32) for n in (1, 2))
    assert match(blueprint, report_with(cpus=cpus), NODE).verdict == "PASS"
    assert result(report_with(cpus=cpus)).verdict == "FAIL"
