"""``inspect`` and ``match`` against simulated BMCs, over real TLS."""

from __future__ import annotations

from pathlib import Path

from tests.simulator.discovery.sites import GIB, logins_at, machine, make_site, node_of, port_of, run_cli, run_process

from metalwright.model.report import HardwareReport
from metalwright.simulator.running import RunningService, service_in_thread
from metalwright.simulator.spec import DiskSpec

LOGIN = {"METALWRIGHT_BMC_USER": "admin", "METALWRIGHT_BMC_PASSWORD": "factory-secret"}
ONE = node_of(machine(1))


def test_a_url_needs_no_inventory_and_gives_a_list_of_reports(first: RunningService) -> None:
    run = run_process("inspect", first.url, "--json", **LOGIN)
    assert run.code == 0, run.err
    (report,) = [HardwareReport.model_validate(item) for item in run.json]
    assert (report.system.serial, report.system.uuid) == ("LAB0001X", "6d657461-6c77-4269-8000-000000000001")
    assert (report.bmc.address, report.bmc.macs) == ("127.85.0.1", ("52:54:00:bc:00:01",))
    assert [(drive.serial, drive.size_bytes, drive.protocol) for drive in report.drives or ()] == [
        ("DISK1X", 2 * GIB, "NVMe")
    ]
    assert [port.mac for nic in report.nics or () for port in nic.ports] == ["52:54:00:1a:00:01"]
    assert report.memory.total_gib == 1
    assert "not pinned" in run.err
    assert first.bmc.gate.sessions == {}


def test_a_wrong_password_is_sent_exactly_once(first: RunningService) -> None:
    run = run_cli("inspect", first.url, METALWRIGHT_BMC_USER="admin", METALWRIGHT_BMC_PASSWORD="wrong-secret")
    assert run.code == 1
    assert run.out == ""
    assert "127.85.0.1" in run.err
    assert "hint:" in run.err
    assert logins_at(first) == ["LoginRefused"]


def test_without_login_the_error_names_the_variables(first: RunningService) -> None:
    run = run_cli("inspect", first.url)
    assert run.code == 1
    assert "METALWRIGHT_BMC_USER" in run.err
    assert logins_at(first) == []


def test_half_a_login_is_wrong_usage(first: RunningService) -> None:
    assert run_cli("inspect", first.url, METALWRIGHT_BMC_USER="admin").code == 64


def test_nobody_there_is_an_error_with_the_address() -> None:
    run = run_cli("inspect", "https://127.85.9.9:9", **LOGIN)
    assert run.code == 1
    assert "127.85.9.9:9" in run.err
    assert "Traceback" not in run.err


def test_http_needs_permission() -> None:
    run = run_cli("inspect", "http://127.85.9.9:9", **LOGIN)
    assert run.code == 64
    assert "http is refused" in run.err


def test_a_wrong_drive_fails_with_slot_expected_found_and_what_would_do(tmp_path: Path) -> None:
    spec = machine(1, disks=(DiskSpec(serial="SMALL", size_bytes=GIB // 2),))
    with service_in_thread(spec, "127.85.0.5") as service:
        site = make_site(tmp_path, [{**ONE, "bmc_address": "127.85.0.5"}], port_of(service))
        run = site.run("match", "lab-1", "--json")
    assert run.code == 2
    (node,) = run.json["nodes"]
    assert (node["node"], node["verdict"]) == ("lab-1", "FAIL")
    wrong = next(finding for finding in node["findings"] if finding["code"] == "drive-mismatch")
    assert wrong["slot"]
    assert "1.1 GB" in wrong["expected"]
    assert "0.5 GB" in wrong["found"]
    assert wrong["source"] == "BMC 127.85.0.5, system 1"


def test_another_machine_at_the_address_fails_and_is_not_pinned(first: RunningService, tmp_path: Path) -> None:
    node = {**ONE, "serial": "OTHER1X", "bmc_address": "127.85.0.1"}
    run = make_site(tmp_path, [node], port_of(first)).run("match", "lab-1")
    assert run.code == 2
    assert "identity-serial" in run.out
    assert "OTHER1X" in run.out
    assert "pinned" not in run.err


def test_one_unreachable_bmc_does_not_hide_the_other_node(first: RunningService, tmp_path: Path) -> None:
    other = {**node_of(machine(2)), "bmc_address": "127.85.9.9"}
    site = make_site(tmp_path, [{**ONE, "bmc_address": "127.85.0.1"}, other], port_of(first))
    run = site.run("match", "lab-1", "lab-2", "--json")
    assert run.code == 1
    assert [node["node"] for node in run.json["nodes"]] == ["lab-1"]
    assert "127.85.9.9" in run.err
