"""What plain pyinfra must never do, and must always leave behind, whatever the BMC and the operator do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.operations.redfish.site import FACTORY_PASSWORD, LabSite

from metalwright.journal.locks import NodeLock

PATCH = ("exec", "--", "PATCH", "@system", '\'{"AssetTag": "X1"}\'')


def _declare(site: LabSite, old: str, new: str) -> None:
    rack = site.root / "inventory" / "racks" / "rack-1.yaml"
    text = rack.read_text()
    assert old in text
    rack.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("serial: LAB0001", "serial: OTHER01", "serial OTHER01"),
        ('bmc_mac: "52:54:00:bc:00:01"', 'bmc_mac: "52:54:00:bc:00:99"', "bmc_mac 52:54:00:bc:00:99"),
    ],
)
def test_a_machine_that_is_not_the_declared_one_is_read_but_never_written(
    site: LabSite, old: str, new: str, said: str
) -> None:
    _declare(site, old, new)
    run = site.pyinfra("-y", "inventory/bmcs.py", *PATCH)
    assert run.code == 1
    assert "does not belong to the declared machine; nothing was written" in run.text
    assert said in run.text
    assert site.writes("lab-1") == []
    assert site.pyinfra("-y", "inventory/bmcs.py", "exec", "--", "GET", "@system").code == 0


def test_a_uuid_in_the_other_byte_order_is_the_same_machine(site: LabSite) -> None:
    _declare(site, "uuid: 006d6574-616c-6c00-", "uuid: 74656d00-6c61-006c-")
    assert site.pyinfra("-y", "inventory/bmcs.py", *PATCH).code == 0
    assert site.machines["lab-1"].system.state.asset_tag == "X1"


def test_a_wrong_password_is_sent_once_also_across_processes(site: LabSite) -> None:
    for _ in range(2):
        run = site.pyinfra("-y", "-vvv", "inventory/bmcs.py", *PATCH, FACTORY_PASSWORD="wr0ng-pa55word")
        assert run.code == 1
        assert "wr0ng-pa55word" not in run.text
    assert "it is not sent again" in run.text
    assert len(site.machines["lab-1"].system.log.of_kind("LoginRefused")) == 1


def test_a_changed_certificate_and_a_dead_bmc_stop_their_hosts_only(pair: LabSite) -> None:
    assert pair.deploy("boot_disk").code == 0
    changed = pair.machines["lab-1"]
    logins = len(changed.system.log.of_kind("LoginSucceeded"))
    with pair.workspace().journal as journal:
        journal.pins.announce("lab-1", "0" * 64, why="the test expects another certificate")
        journal.pins.prove("lab-1", "0" * 64)
    run = pair.pyinfra("-y", "inventory/bmcs.py", *PATCH)
    assert run.code == 1
    assert "[lab-1]" in run.text
    assert "not the pinned one; no credential was sent" in run.text
    assert len(changed.system.log.of_kind("LoginSucceeded")) == logins
    assert pair.machines["lab-2"].system.state.asset_tag == "X1"

    _declare(pair, f"bmc_port: {urlsplit(pair.machines['lab-2'].url).port}", "bmc_port: 9")
    run = pair.pyinfra("-y", "inventory/bmcs.py", "--limit", "lab-2", *PATCH)
    assert run.code == 1
    assert "the BMC cannot be reached" in run.text
    assert "hint: check the address" in run.text


def test_a_node_that_another_run_holds_is_not_written(site: LabSite) -> None:
    with NodeLock(site.root / ".metalwright", "lab-1").acquire("run-7"):
        run = site.pyinfra("-y", "inventory/bmcs.py", *PATCH)
        assert run.code == 1
        assert "another run works on the node" in run.text
        assert "run run-7, since" in run.text
        assert site.writes("lab-1") == []
    assert site.pyinfra("-y", "inventory/bmcs.py", *PATCH).code == 0


def test_a_bmc_given_by_its_address_may_be_written_but_not_booted_from_a_medium(site: LabSite) -> None:
    address = site.machines["lab-1"].url.removeprefix("https://")
    login = {"METALWRIGHT_BMC_USER": "admin", "METALWRIGHT_BMC_PASSWORD": FACTORY_PASSWORD}
    insert = "/redfish/v1/Systems/1/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"
    run = site.pyinfra(
        "-y", f"@redfish/{address}", "exec", "--", "POST", insert, '\'{"Image": "http://127.83.9.9/x.iso"}\'', **login
    )
    assert run.code == 1
    assert "this BMC is in no inventory" in run.text
    assert site.writes("lab-1") == []
    assert site.pyinfra("-y", f"@redfish/{address}", *PATCH, **login).code == 0
    assert site.open_sessions() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_session(site: LabSite, number: signal.Signals) -> None:
    machine = site.machines["lab-1"]
    machine.system.faults.set("slow", method="GET", path="Bios", seconds=5)
    child = subprocess.Popen(
        [str(Path(sys.executable).with_name("pyinfra")), "-y", "inventory/bmcs.py", "deploys/bios.py"],
        cwd=site.root,
        env={**os.environ, **site.environment, "PYINFRA_PROGRESS": "off"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _wait(lambda: bool(machine.bmc.gate.sessions))
    time.sleep(1)
    child.send_signal(number)
    begun = time.monotonic()
    child.wait(30)
    assert time.monotonic() - begun < 4
    assert site.open_sessions() == 0
    time.sleep(5)  # the slow answer that nobody waits for any more


def _wait(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
