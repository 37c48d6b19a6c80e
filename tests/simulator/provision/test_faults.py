"""Each fault of one machine is a clear error with a hint, nothing is lost, and the other machine goes on to its end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.simulator.provision.world import TWO_MACHINES, Options, World, world

pytestmark = pytest.mark.timeout(900)

QUICK = ("inventory/site.yaml", "bmc_settle_minutes: 2", "bmc_settle_minutes: 0.1")
QUICK_RAMDISK = ("inventory/site.yaml", "ramdisk_boot_minutes: 5", "ramdisk_boot_minutes: 0.3")
PATIENT_RAMDISK = (*QUICK_RAMDISK[:2], "ramdisk_boot_minutes: 1")
QUICK_OS = ("inventory/site.yaml", "os_boot_minutes: 6", "os_boot_minutes: 0.3")


SAID_OF_A_SMALL_DISK = {"bmc": "NVMe 1.1 GB", "ramdisk": "(serial SYS0001) is too small"}


def events(site: World, kind: str) -> int:
    return sum(entry.kind == kind for entry in site.status(site.machine).log)


def test_an_unreachable_bmc_stops_its_own_node_only(tmp_path: Path, tiny_image: tuple[Path, str]) -> None:
    with world(tmp_path, "127.130", tiny_image, Options(machines=TWO_MACHINES)) as site:
        first = site.machine
        site.lab.set_fault("lab-1", "unreachable")
        code, text = site.provision(nodes=("lab-1", "lab-2"))
        assert code == 1
        assert "lab-1        identify     FAILED" in text, text
        assert "hint: " in text
        assert went_to_its_end(site)
        assert site.writes(first) == []
        assert site.is_untouched(first, first.system_disk)


def went_to_its_end(site: World, name: str = "lab-2") -> bool:
    """Whether a node got its image once, and its system was started from it."""
    machine = next(machine for machine in site.demo.machines if machine.name == name)
    booted = (site.boots(machine, "cd"), site.boots(machine, "disk"))
    return site.stamp(machine) is not None and site.disk_writes(machine, machine.system_disk) == 1 and booted == (1, 1)


def test_a_wrong_password_is_sent_once_whatever_is_run_afterwards(tmp_path: Path, tiny_image: tuple[Path, str]) -> None:
    with world(tmp_path, "127.131", tiny_image) as site:
        password = site.state / "factory-password"
        good = password.read_text()
        password.write_text("Another-pass-1")
        for _ in range(2):
            code, text = site.provision()
            assert (code, "hint" in text, "Another-pass-1" in text) == (1, True, False), text
        assert "metalwright credentials clear lab-1" in text
        assert events(site, "LoginRefused") == 1
        password.write_text(good)
        code, text = site.provision("--until", "credentials")
        assert code == 0, text
        assert events(site, "LoginRefused") == 1


@pytest.mark.parametrize("seen_by", ["bmc", "ramdisk"])
def test_a_disk_that_is_too_small_stops_its_own_node_before_the_first_write(
    tmp_path: Path, tiny_image: tuple[Path, str], seen_by: str
) -> None:
    options = Options(machines=TWO_MACHINES, small=("lab-1",) if seen_by == "bmc" else ())
    with world(tmp_path, "127.99", tiny_image, options) as site:
        machine = site.machine
        if seen_by == "ramdisk":  # the BMC says 4 GiB all the same
            os.truncate(site.disk(machine, machine.system_disk), 1 << 30)
        code, text = site.provision(nodes=("lab-1", "lab-2"))
        assert code == 1, text
        assert SAID_OF_A_SMALL_DISK[seen_by] in text, text
        assert "hint: " in text
        assert site.is_untouched(machine, machine.system_disk)
        assert site.boots(machine, "cd") == (0 if seen_by == "bmc" else 1)
        assert (site.status(machine).power, site.status(machine).media) == ("Off", None)
        assert went_to_its_end(site)


def test_a_certificate_that_changed_since_it_was_pinned_gets_no_login(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    with world(tmp_path, "127.132", tiny_image) as site:
        site.lab.set_fault("lab-1", "certificate-changed")
        before = len(site.status(site.machine).requests)
        code, text = site.provision()
        assert code == 1
        assert "certificate" in text
        assert "hint" in text
        assert len(site.status(site.machine).requests) == before


def test_a_system_that_never_answers_on_ssh_keeps_its_verified_disk_and_the_other_node_goes_on(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    options = Options(machines=TWO_MACHINES, edits=(QUICK_OS,), silent=("lab-1",))
    with world(tmp_path, "127.133", tiny_image, options) as site:
        for nodes in (("lab-1", "lab-2"), ("lab-1",)):
            code, text = site.provision(nodes=nodes)
            assert code == 1
            assert "does not answer on SSH" in text, text
            assert "hint: " in text
            assert site.boots(site.machine, "cd") == 1
            assert site.stamp(site.machine) is not None
            assert site.disk_writes(site.machine, site.machine.system_disk) == 1
        assert went_to_its_end(site)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, tiny_image: tuple[Path, str]) -> Iterator[World]:
    """Two machines and short waits; the tests bring lab-1 a phase further each, and leave its disk untouched."""
    options = Options(machines=TWO_MACHINES, edits=(QUICK, PATIENT_RAMDISK))
    with world(tmp_path_factory.mktemp("pair"), "127.134", tiny_image, options) as site:
        site.timeout_s = 420  # a BMC that ignores resets is asked twice, two minutes each
        yield site


@pytest.mark.long
@pytest.mark.timeout(500)
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("address-ignored", "does not answer at its allocated address"),
        ("bios-ignored", "BIOS attributes did not take effect"),
        ("media-refused", "InsertMedia"),
        ("reset-ignored", "PowerState"),
    ],
)
def test_a_bmc_that_accepts_and_does_nothing_is_found_out(pair: World, fault: str, said: str) -> None:
    first, second = pair.demo.machines
    pair.lab.set_fault("lab-1", fault)
    try:
        code, text = pair.provision("--retry", nodes=("lab-1", "lab-2"))
    finally:
        pair.lab.clear_faults("lab-1")
    assert code == 1
    assert said in text, text
    assert "hint" in text
    assert pair.is_untouched(first, first.system_disk)
    assert pair.boots(first, "cd") == 0
    assert pair.status(first).media is None
    assert pair.stamp(second) is not None
    assert pair.boots(second, "cd") == 1


@pytest.mark.long
def test_a_ramdisk_that_cannot_reach_the_boot_server_writes_nothing_and_powers_off(pair: World) -> None:
    pair.edit("inventory/site.yaml", "address_for_node: 127.0.0.1", "address_for_node: 127.0.0.2")
    try:
        code, text = pair.provision("--retry")
    finally:
        pair.edit("inventory/site.yaml", "address_for_node: 127.0.0.2", "address_for_node: 127.0.0.1")
    assert code == 1
    assert "without reporting to the boot server" in text, text
    assert pair.is_untouched(pair.machine, pair.machine.system_disk)
    assert (pair.status(pair.machine).power, pair.status(pair.machine).media) == ("Off", None)
    code, text = pair.provision("--retry")
    assert code == 0, text
    assert pair.stamp(pair.machine) is not None


def test_an_ignored_boot_override_starts_no_install_loop_and_writes_nothing(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    with world(tmp_path, "127.135", tiny_image, Options(edits=(QUICK_RAMDISK,))) as site:
        machine = site.machine
        before = site.fill(machine, machine.system_disk)
        site.lab.set_fault("lab-1", "override-ignored")
        code, text = site.provision("--overwrite", "lab-1")
        assert code == 1
        assert "report" in text, text
        assert site.sha256(machine, machine.system_disk) == before
        # once for the BIOS attributes, once instead of the medium
        assert (site.boots(machine, "cd"), site.boots(machine, "disk")) == (0, 2)
        assert site.status(machine).media is None
