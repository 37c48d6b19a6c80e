"""Known failures of the inventory: the real command line against an 8-GPU server whose BMC tells odd things."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.failures.profiled import Profiled, profiled, site_of
from tests.simulator.discovery.sites import GIB, make_site, node_of, port_of
from tests.simulator.discovery.sites import machine as lab_machine

from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.records import Disk, DiskContent, DiskRule
from metalwright.imaging.agent.target import pick_disk
from metalwright.redfish import restarting
from metalwright.simulator.running import service_in_thread
from metalwright.simulator.spec import DiskSpec

SYS, CH = "/redfish/v1/Systems/1", "/redfish/v1/Chassis/1"
HARDWARE: dict[str, Any] = {
    "system": {"manufacturer": "Supermicro", "models": ["SYS-821GE-TNHR"]},
    "cpus": {"count": 2, "models": ["Xeon Platinum 8462Y+"], "cores": 32},
    "memory": {"total_gib": 2048, "dimms": 32},
    "gpus": {"count": 8, "vendor": "nvidia", "model": "H100 SXM 80GB", "memory_gib": 80},
    "drives": [{"role": "system", "count": 2, "min_bytes": 900 * 10**9, "max_bytes": 10**12}],
}


@pytest.fixture(scope="module")
def server() -> Iterator[Profiled]:
    with profiled("h100-8x-supermicro", "127.93.1.1") as running:
        yield running


@pytest.fixture(autouse=True)
def _well(server: Profiled) -> Iterator[None]:
    """Every test starts with a BMC that behaves, and whose log is empty."""
    server.bmc.system.faults.clear()
    server.bmc.traffic.counts.clear()
    yield
    server.bmc.system.faults.clear()


def findings(server: Profiled, tmp_path: Path, *options: str, code: int = 2, **node: Any) -> list[dict[str, Any]]:
    """What ``match --json`` finds at the server, beside the disk that is open in every case."""
    site = site_of(tmp_path, server, HARDWARE, **node)
    done = site.run("match", "gpu-1", "--json", *options, factory=server.password)
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    (result,) = done.json["nodes"]
    return [finding for finding in result["findings"] if finding["code"] != "system-disk"]


def problems(report: dict[str, Any]) -> str:
    return "\n".join(f"{item['uri']}: {item['what']}" for item in report["problems"])


def test_the_server_matches_while_its_bmc_behaves(server: Profiled, tmp_path: Path) -> None:
    assert findings(server, tmp_path, code=0) == []


def test_in_01_a_chassis_without_its_type_keeps_host_and_chassis(server: Profiled) -> None:
    """The host and the chassis stay in the report; the property that is missing is named in ``problems``."""
    server.bmc.system.faults.rule("GET", f"{CH}$", edit=[{"at": "/ChassisType", "drop": True}])
    (report,) = server.inspect()
    assert (report["chassis"]["serial"], report["chassis"]["type"]) == (f"CS5{server.bmc.identity.code}", None)
    assert len(report["gpus"]) == 8
    assert f"{CH}: ChassisType is missing" in problems(report)


def test_in_02_texts_where_numbers_belong_never_stop_the_reading(server: Profiled) -> None:
    """Numbers written as texts count, blanks and N/A are unknown, and what is odd is named in ``problems``."""
    odd = {"Socket": 1, "MaxSpeedMHz": "", "TotalCores": "48", "TotalThreads": {"Count": 96}}
    server.bmc.system.faults.rule("GET", f"{SYS}/Processors/1$", edit=[{"at": "", "merge": odd}])
    (report,) = server.inspect()
    cpu = report["cpus"][0]
    assert (cpu["cores"], cpu["max_mhz"], cpu["threads"]) == (48, None, None)
    assert "TotalThreads is {'Count': 96}: taken as unknown" in problems(report)


def test_in_05_a_gpu_that_is_absent_and_one_that_is_sick_are_told_apart(server: Profiled, tmp_path: Path) -> None:
    """An absent GPU does not count and its slot is named; a broken one counts, and stops as broken."""
    faults = server.bmc.system.faults
    faults.rule("GET", "PCIeDevices/GPU8$", edit=[{"at": "", "merge": {"Status": {"State": "Absent"}}}])
    faults.rule("GET", "PCIeDevices/GPU3$", edit=[{"at": "", "merge": {"Status": {"Health": "Critical"}}}])
    found = {finding["code"]: finding for finding in findings(server, tmp_path)}
    assert set(found) == {"gpu-count", "part-health"}
    assert (found["gpu-count"]["slot"], found["gpu-count"]["found"]) == ("GPU8", "7 GPUs")
    assert found["part-health"]["slot"] == "GPU3"


SEVEN = {"edit": [{"at": "/Members/7", "drop": True}, {"at": "/Members@odata.count", "drop": True}]}
RESTARTED = {"before": {"method": "POST", "path": "Manager.Reset$"}}


def resets(server: Profiled) -> int:
    counts = server.bmc.traffic.counts
    return sum(count for (method, path), count in counts.items() if method == "POST" and path.endswith("Manager.Reset"))


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarting, "PAUSE_S", 0.01)


@pytest.mark.usefixtures("_quick")
def test_in_06_a_gpu_that_shows_after_a_restart_of_the_bmc_passes_on_demand(server: Profiled, tmp_path: Path) -> None:
    """``match --restart-bmc`` restarts a BMC once where parts are missing, and reads until two reads agree."""
    server.bmc.system.faults.rule("GET", "PCIeDevices$", when=RESTARTED, **SEVEN)
    server.bmc.system.faults.rule("GET", f"{SYS}$", edit=[{"at": "/PowerState", "set": "On"}])
    (missing,) = findings(server, tmp_path)
    assert (missing["code"], missing["slot"]) == ("gpu-count", "GPU8")
    assert "--restart-bmc" in missing["hint"]
    assert resets(server) == 0
    assert findings(server, tmp_path, "--restart-bmc", code=0) == []
    assert resets(server) == 1


@pytest.mark.usefixtures("_quick")
def test_in_06_a_gpu_that_stays_away_costs_one_restart_and_no_more(server: Profiled, tmp_path: Path) -> None:
    server.bmc.system.faults.rule("GET", "PCIeDevices$", **SEVEN)
    assert [finding["code"] for finding in findings(server, tmp_path, "--restart-bmc")] == ["gpu-count"]
    assert resets(server) == 1


@pytest.mark.usefixtures("_quick")
def test_in_06_a_wrong_part_and_another_machine_restart_nothing(server: Profiled, tmp_path: Path) -> None:
    findings(server, tmp_path / "other", "--restart-bmc", serial="OTHER77")
    server.bmc.system.faults.rule("GET", "PCIeDevices$", **SEVEN)
    site = site_of(tmp_path / "both", server, HARDWARE, serial="OTHER77")
    done = site.run("match", "gpu-1", "--restart-bmc", factory=server.password)
    assert done.code == 1
    assert "its BMC is not restarted" in done.err
    assert resets(server) == 0


def test_in_11_kernel_names_cannot_be_written_into_a_blueprint(tmp_path: Path) -> None:
    """``check`` refuses a kernel name with file and line; drives are told apart by size, protocol and serial number."""
    site = make_site(tmp_path, [])
    path = tmp_path / "blueprints/lab-vm/1.0.0.yaml"
    path.write_text(path.read_text().replace("- role: system", "- path: /dev/nvme3n1\n    role: system"))
    done = site.run("check")
    assert done.code == 2
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if "/dev/nvme3n1" in text)
    assert f"1.0.0.yaml:{line}" in done.out + done.err
    assert "path" in done.out + done.err


def disk(path: str, serial: str, size_bytes: int) -> Disk:
    blank = DiskContent(state="blank", summary=(), stamp=None)
    return Disk(path, serial, None, "KCM6", size_bytes, "NVMe", False, False, blank)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_in_11_the_disk_is_the_same_whatever_names_the_kernel_gives(order: tuple[int, int, int]) -> None:
    sizes = {"SYS1": 960 * 10**9, "SCR1": 7 * 10**12, "SCR2": 7 * 10**12}
    disks = tuple(disk(f"/dev/nvme{n}n1", serial, size) for n, (serial, size) in zip(order, sizes.items(), strict=True))
    rule = DiskRule(role="system", serial=None, wwn=None, min_bytes=10**9, max_bytes=10**12, protocol="NVMe")
    assert pick_disk(disks, rule, 10**9).serial == "SYS1"
    with pytest.raises(AgentError):
        pick_disk(disks, rule._replace(max_bytes=None), 10**9)


def test_in_12_a_group_that_no_drive_can_satisfy_is_refused_offline(tmp_path: Path) -> None:
    """Rules that contradict are refused by ``check``; overlapping groups match as a whole; unknown is no pass."""
    site = make_site(tmp_path, [])
    path = tmp_path / "blueprints/lab-vm/1.0.0.yaml"
    path.write_text(path.read_text().replace("    protocol: NVMe", "    protocol: NVMe\n    max_bytes: 1000"))
    done = site.run("check")
    assert done.code == 2
    assert "no drive matches" in done.out + done.err
    assert "1.0.0.yaml:" in done.out + done.err


def test_in_16_dead_members_are_isolated_and_never_pass(server: Profiled, tmp_path: Path) -> None:
    """A listed member that is gone or answers an error costs only itself; the count is then unknown, never a pass."""
    faults = server.bmc.system.faults
    faults.rule("GET", f"{SYS}/Processors/2$", status=500)
    faults.rule("GET", f"{SYS}/Memory/1$", status=404)
    found = {finding["code"]: finding for finding in findings(server, tmp_path)}
    assert set(found) == {"unknown-cpus", "dimm-count"}
    assert found["unknown-cpus"]["found"] == "1 sockets and 1 that cannot be read"
    assert found["dimm-count"]["found"] == "31 DIMMs"
    (report,) = server.inspect()
    assert f"{SYS}/Memory: 31 of 32 members could be read" in problems(report)
    assert len(report["gpus"]) == 8


def test_in_17_a_port_in_the_wrong_mode_is_named_against_the_blueprint(server: Profiled, tmp_path: Path) -> None:
    """Ports are compared with the blueprint alone; one in the wrong mode is named, and so is the setting."""
    (report,) = server.inspect()
    fabric = [port for nic in report["nics"] for port in nic["ports"] if port["link"] == "infiniband"]
    groups = [{"role": "fabric", "count": len(fabric) - 1, "speed_gbps": 400, "link": "infiniband"}]
    groups.append({"role": "storage", "count": 1, "speed_gbps": 400, "link": "ethernet"})
    site = site_of(tmp_path, server, {**HARDWARE, "nics": groups})
    done = site.run("match", "gpu-1", "--json", factory=server.password)
    found = [item for item in done.json["nodes"][0]["findings"] if item["code"].startswith("nic")]
    assert [item["code"] for item in found] == ["nic-link"]
    assert found[0]["expected"] == "400 Gbit/s ethernet (storage)"
    assert "set the port's link type to ethernet" in found[0]["hint"]


def test_in_19_a_system_that_tells_almost_nothing_is_still_a_report(server: Profiled) -> None:
    """What is missing is null and named with its URI and the power state; nothing crashes on an unknown maker."""
    drops = [{"at": f"/{name}", "drop": True} for name in ("Manufacturer", "Model", "Oem", "SerialNumber")]
    emptied = {"at": "", "merge": {"MemorySummary": None, "ProcessorSummary": {}}}
    server.bmc.system.faults.rule("GET", f"{SYS}$", edit=[*drops, emptied])
    (report,) = server.inspect()
    assert (report["system"]["manufacturer"], report["system"]["serial"]) == (None, None)
    assert f"{SYS}: manufacturer is unknown (power state Off)" in problems(report)
    assert len(report["cpus"]) == 2


def test_in_10_a_serial_that_is_a_placeholder_at_first_makes_no_second_record(tmp_path: Path) -> None:
    """A placeholder is no serial number: the node is claimed by the keys that are there, and stays the one record."""
    claimed_each_time(tmp_path, {"SerialNumber": "NA"}, {})


def test_in_18_a_uuid_that_changes_its_letter_case_or_vanishes_makes_no_second_record(tmp_path: Path) -> None:
    """UUIDs are compared in normal form and in both byte orders; without one, serial number and BMC MAC claim."""
    uuid = lab_machine(1).uuid
    claimed_each_time(tmp_path, {"UUID": uuid.upper()}, {"UUID": uuid.lower()}, {"UUID": None})


def claimed_each_time(root: Path, *steps: dict[str, Any]) -> None:
    """Discover the machine again and again while it tells other things of itself."""
    spec = lab_machine(1, disks=(DiskSpec(serial="DISK1X", size_bytes=2 * GIB),))
    with service_in_thread(spec, "127.93.1.2") as service:
        site = make_site(root, [node_of(spec)], port_of(service))
        for step in steps:
            service.system.faults.clear()
            service.system.faults.rule("GET", f"{SYS}$", edit=[{"at": "", "merge": step}])
            done = site.run("discover", "127.93.1.2", "--json", "--fresh")
            assert done.code == 0, done.err
            assert [item["node"] for item in done.json["claimed"]] == ["lab-1"]
            assert (done.json["unclaimed"], done.json["missing"]) == ([], [])
