"""The lab daemon with memory machines: up, down, kill, faults, and what status says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.simulator.blocking_client import get

from metalwright.errors import LabError
from metalwright.simulator.lab import Lab
from metalwright.simulator.spec import BmcSpec, DiskSpec, LabSpec, MachineSpec, dump_lab_spec, read_lab_spec

FIRST = MachineSpec(
    name="lab-1",
    bmc=BmcSpec(address="127.81.3.101"),
    disks=(DiskSpec(serial="SYS1", size_bytes=1024**2, note="system"),),
    boot_command=("sleep", "60"),
)
SPEC = LabSpec(machines=(FIRST, FIRST.model_copy(update={"name": "lab-2", "serial": "LAB0002"})))


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path / "lab")
    yield lab
    lab.down()


def has_ended(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":  # nobody has asked for its exit code yet
            return True
        time.sleep(0.02)
    return False


def test_up_is_ready_when_every_bmc_answers_and_up_again_changes_nothing(lab: Lab) -> None:
    status = lab.up(SPEC)
    assert [machine.power for machine in status.machines] == ["Off", "Off"]
    assert all(get(f"{machine.bmc_url}/redfish/v1") == 200 for machine in status.machines)
    assert lab.up(SPEC).pid == status.pid
    with pytest.raises(LabError, match="another lab is up"):
        lab.up(LabSpec(machines=(FIRST,)))


def test_down_ends_the_daemon_and_up_keeps_what_the_machines_had(lab: Lab) -> None:
    status = lab.up(SPEC)
    disk = Path(status.machine("lab-1").disks[0].path)
    disk.write_bytes(b"kept")
    lab.set_fault("lab-1", "slow", seconds=0.0)
    lab.down()
    assert status.pid is not None
    assert has_ended(status.pid)
    down = lab.status()
    assert (down.is_up, down.machine("lab-1").power) == (False, "Off")
    assert [entry.kind for entry in lab.up(SPEC).machine("lab-1").log] == ["FaultSet"]
    assert disk.read_bytes() == b"kept"


def test_wipe_removes_everything(lab: Lab) -> None:
    lab.up(SPEC)
    lab.down(wipe=True)
    assert not lab.layout.directory.exists()
    lab.down(wipe=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_daemon_that_is_killed_leaves_nothing_running_and_can_come_up_again(lab: Lab, number: int) -> None:
    pid = lab.up(SPEC).pid
    assert pid is not None
    os.kill(pid, number)
    for _ in range(100):
        if not lab.is_up:
            break
        time.sleep(0.05)
    assert not lab.is_up
    assert lab.status().is_up is False
    assert lab.up(SPEC).pid != pid


def test_faults_are_set_and_cleared_from_another_process(lab: Lab) -> None:
    url = lab.up(SPEC).machine("lab-2").bmc_url
    lab.set_fault("lab-2", "wrong-answer", status=503)
    with pytest.raises(urllib.error.HTTPError, match="503"):
        get(f"{url}/redfish/v1")
    assert lab.status().machine("lab-2").faults == ["wrong-answer"]
    lab.clear_faults("lab-2")
    assert get(f"{url}/redfish/v1") == 200
    with pytest.raises(LabError, match="no such fault"):
        lab.set_fault("lab-2", "gremlins")
    with pytest.raises(LabError, match="no such machine"):
        lab.set_fault("lab-3", "slow")


def test_a_port_that_is_taken_is_said_with_the_address(lab: Lab, tmp_path: Path) -> None:
    url = lab.up(LabSpec(machines=(FIRST,))).machine("lab-1").bmc_url
    port = int(url.rsplit(":", 1)[1])
    taken = FIRST.model_copy(update={"bmc": FIRST.bmc.model_copy(update={"port": port})})
    with pytest.raises(LabError, match=f"127.81.3.101:{port}"):
        Lab(tmp_path / "other").up(LabSpec(machines=(taken,)))


def test_a_disk_can_be_blanked_while_its_machine_is_off(lab: Lab) -> None:
    disk = Path(lab.up(SPEC).machine("lab-1").disks[0].path)
    disk.write_bytes(b"x" * 1024**2)
    assert lab.blank_disk("lab-1", "SYS1") == disk
    assert not any(disk.read_bytes())
    with pytest.raises(LabError, match="no such disk"):
        lab.blank_disk("lab-1", "NONE")


def test_the_lab_works_in_a_network_namespace_without_root(tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(dump_lab_spec(SPEC)))
    script = (
        "import sys, pathlib\n"
        "from metalwright.simulator.lab import Lab\n"
        "from metalwright.simulator.spec import read_lab_spec\n"
        "lab = Lab(pathlib.Path(sys.argv[1]) / 'lab')\n"
        "status = lab.up(read_lab_spec(pathlib.Path(sys.argv[2])))\n"
        "lab.down(wipe=True)\n"
        "print(status.is_up, len(status.machines))\n"
    )
    argv = ["unshare", "-rn", sys.executable, "-c", script, str(tmp_path), str(spec)]
    if subprocess.run(["unshare", "-rn", "true"], check=False).returncode != 0:
        pytest.skip("this machine forbids unprivileged namespaces")
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True 2\n", "")


def test_lab_files_keep_passwords_private_and_are_checked(tmp_path: Path, lab: Lab) -> None:
    lab.up(SPEC)
    assert lab.layout.spec_file.stat().st_mode & 0o077 == 0
    assert read_lab_spec(lab.layout.spec_file) == SPEC
    assert "factory-secret" not in repr(SPEC) + lab.layout.log_file.read_text() + lab.status().model_dump_json()
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("machines:\n- {name: a, cpus: 0}\n")
    with pytest.raises(LabError, match=r"wrong\.yaml: machines\.0\.cpus"):
        read_lab_spec(wrong)
    wrong.write_text("machines:\n- {name: a}\n- {name: a}\n")
    with pytest.raises(LabError, match="share a name"):
        read_lab_spec(wrong)
