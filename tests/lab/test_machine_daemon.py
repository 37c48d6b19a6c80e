"""A lab of QEMU machines: nothing outlives the daemon, however it ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.simulator.blocking_client import post

from metalwright.simulator.lab import Lab
from metalwright.simulator.spec import BmcSpec, DiskSpec, LabSpec, MachineSpec

SPEC = LabSpec(
    machines=(
        MachineSpec(
            backend="qemu",
            bmc=BmcSpec(address="127.81.4.1"),
            disks=(DiskSpec(serial="SYS1", size_bytes=64 * 1024**2),),
        ),
    )
)

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path / "lab")
    yield lab
    lab.down()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"did not happen within {seconds} s"
        time.sleep(0.05)


def power_on(lab: Lab) -> int:
    url = lab.status().machine("lab-1").bmc_url
    bmc = SPEC.machines[0].bmc
    reset = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"
    assert post(url + reset, {"ResetType": "On"}, bmc.user, bmc.password.get_secret_value()) == 204
    pid = lab.status().machine("lab-1").pid
    assert pid is not None
    return pid


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_machines_die_with_the_daemon_and_come_back_off(lab: Lab, number: int) -> None:
    daemon = lab.up(SPEC).pid
    machine = power_on(lab)
    assert is_running(machine)
    assert daemon is not None
    os.kill(daemon, number)
    until(lambda: not is_running(machine))
    until(lambda: not lab.is_up)
    status = lab.up(SPEC).machine("lab-1")
    assert (status.power, status.power_ons) == ("Off", 1)


def test_status_shows_the_judges_view(lab: Lab) -> None:
    lab.up(SPEC)
    power_on(lab)
    until(lambda: any(entry.kind == "NoBootDevice" for entry in lab.status().machine("lab-1").log), 120)
    status = lab.status()
    assert status.accelerator in ("kvm", "tcg")
    machine = status.machine("lab-1")
    assert (machine.power, machine.boots) == ("On", {})
    assert [entry.args for entry in machine.resets] == [["On"]]
    assert machine.disks[0].allocated_bytes == 0
    assert "BdsDxe" in Path(machine.console).read_text(errors="replace")
