"""What is never written: somebody's data, the wrong machine, the wrong disk, a wrong image. Judged by the disks."""

from __future__ import annotations

import base64
import json
import sqlite3
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.simulator.provision.world import Options, World, world

from metalwright.demo.site import BMC_PORT, FACTORY_USER
from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_sqlite
from metalwright.model.addresses import KnownGood
from metalwright.runner.provisioning import Request, check_images
from metalwright.workspace import open_workspace

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def racked(tmp_path_factory: pytest.TempPathFactory, tiny_image: tuple[Path, str]) -> Iterator[World]:
    """A machine as it was racked; the tests leave it so, but for the last one, which writes it."""
    with world(tmp_path_factory.mktemp("racked"), "127.121", tiny_image) as site:
        yield site


def test_foreign_data_and_wrong_images_stop_before_the_first_write(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    with world(tmp_path, "127.120", tiny_image) as site:
        machine = site.machine
        before = site.fill(machine, machine.system_disk)

        code, text = site.provision()
        assert code == 1
        assert "carries data that metalwright did not write" in text
        assert "data without a known signature" in text
        assert "hint" in text
        assert site.sha256(machine, machine.system_disk) == before
        assert site.status(machine).power == "Off"
        assert site.status(machine).media is None

        code, text = site.provision("--overwrite", "lab-2")
        assert code == 64
        assert "lab-2" in text

        image = site.demo.root / "images/tiny/1" / site.image.file
        good = image.read_bytes()
        image.chmod(0o644)
        image.write_bytes(bytes([good[0] ^ 1]) + good[1:])
        code, text = site.provision("--overwrite", "lab-1")
        assert code == 1
        assert "sha256" in text.lower() or "digest" in text.lower()
        assert site.sha256(machine, machine.system_disk) == before

        image.write_bytes(good[: len(good) // 2])
        code, text = site.provision("--overwrite", "lab-1")
        assert code == 1
        assert site.sha256(machine, machine.system_disk) == before

        image.write_bytes(good)
        code, text = site.provision("--overwrite", "lab-1", "--retry")
        assert code == 0, text
        assert site.stamp(machine) is not None
        assert site.is_untouched(machine, machine.data_disk)


@pytest.mark.parametrize(
    ("declared", "other"),
    [
        ("serial: MWLAB0001", "serial: MWLAB0009"),
        ("-000000000001", "-000000000009"),
        ("52:54:00:bc:00:01", "52:54:00:bc:00:09"),
    ],
    ids=["serial", "uuid", "bmc-mac"],
)
def test_another_machine_than_the_declared_one_is_not_even_asked_to_change(
    racked: World, declared: str, other: str
) -> None:
    before = len(racked.writes(racked.machine))
    racked.edit("inventory/racks/lab.yaml", declared, other)
    try:
        code, text = racked.provision()
        assert code == 1
        assert "not the declared machine" in text or "another machine" in text
        assert "hint" in text
        assert len(racked.writes(racked.machine)) == before
        assert racked.is_untouched(racked.machine, racked.machine.system_disk)
    finally:
        racked.edit("inventory/racks/lab.yaml", other, declared)


def test_plain_pyinfra_without_a_grant_is_refused_and_told_the_command(racked: World) -> None:
    before = len(racked.writes(racked.machine))
    code, result, said = racked.pyinfra("image")
    assert code != 0
    assert "metalwright plan lab-1 --grant" in said + str(result)
    assert len(racked.writes(racked.machine)) == before
    assert racked.is_untouched(racked.machine, racked.machine.system_disk)


def test_without_a_confirmation_nothing_is_written(racked: World) -> None:
    before = len(racked.writes(racked.machine))
    code, text = racked.run("provision", "lab-1")
    assert code == 1
    assert "WILL BE WRITTEN: lab-1" in text
    assert f"lab-1: writes disk {racked.machine.system_disk} of the machine with serial MWLAB0001, UUID " in text
    assert "127.121.0.101" in text, "the plan names the address at which the BMC answers now"
    assert "confirmation" in text
    assert len(racked.writes(racked.machine)) == before


def test_a_run_that_stops_before_the_disk_asks_for_no_disk_and_makes_no_grant(racked: World) -> None:
    grants = racked.count("grants")
    code, text = racked.run("provision", "lab-1", "--until", "identify")
    assert code == 0, text
    assert "WILL BE WRITTEN" not in text
    assert racked.count("grants") == grants


def test_an_expired_grant_allows_nothing(racked: World) -> None:
    code, text = racked.run("plan", "lab-1", "--grant", "--yes")
    assert code == 0, text
    with closing(sqlite3.connect(racked.state / "journal.sqlite")) as connection, connection:
        assert connection.execute("update grants set expires = issued").rowcount == 1
    before = len(racked.writes(racked.machine))
    assert racked.pyinfra("image")[0] != 0
    code, text = racked.run("provision", "lab-1")
    assert (code, "confirmation" in text) == (1, True)
    assert len(racked.writes(racked.machine)) == before


def test_rv_01_a_plan_that_was_edited_or_no_longer_holds_is_refused_before_the_first_write(
    racked: World, tmp_path: Path
) -> None:
    """Does exactly the plan that was reviewed, or nothing: the refusal names each value that moved."""
    plan = tmp_path / "plan.json"
    assert racked.run("plan", "lab-1", "-o", str(plan))[0] == 0
    before, good = len(racked.writes(racked.machine)), plan.read_text()

    plan.write_text(good.replace("SYS0001", "DAT0001"))
    code, text = racked.run("provision", "--plan", str(plan))
    assert (code, "was changed after it was made" in text) == (1, True), text

    plan.write_text(good[:-40])
    code, text = racked.run("provision", "--plan", str(plan))
    assert (code, "this is no plan" in text) == (1, True), text

    plan.write_text(good)
    racked.edit("inventory/site.yaml", "ntp: [10.1.0.2]", "ntp: [10.1.0.3]")
    try:
        code, text = racked.run("provision", "--plan", str(plan))
    finally:
        racked.edit("inventory/site.yaml", "ntp: [10.1.0.3]", "ntp: [10.1.0.2]")
    assert (code, "no longer holds" in text) == (1, True), text
    assert "shared.site.ntp[0]: 10.1.0.2 → 10.1.0.3" in text

    code, text = racked.run("provision", "--plan", str(plan), "--allow", "reboot")
    assert (code, "--allow re-image" in text) == (1, True), text
    assert len(racked.writes(racked.machine)) == before


def by_hand(racked: World, method: str, path: str, body: object) -> None:
    """What somebody at the BMC's own page does meanwhile, with the login of the factory."""
    login = base64.b64encode(f"{FACTORY_USER}:Factory-pass-1".encode()).decode()
    request = urllib.request.Request(
        f"https://{racked.demo.racked_bmc(racked.machine)}:{BMC_PORT}/redfish/v1/Systems/1{path}",
        json.dumps(body).encode(),
        {"Authorization": f"Basic {login}", "Content-Type": "application/json"},
        method=method,
    )
    unchecked = ssl.create_default_context()
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
    with urllib.request.urlopen(request, context=unchecked, timeout=30) as answer:
        assert answer.status < 300


def set_profile(racked: World, value: str) -> None:
    """Set the BIOS attribute SysProfile and let it take effect; the machine is off again afterwards."""
    by_hand(racked, "PATCH", "/Bios/Settings", {"Attributes": {"SysProfile": value}})
    for kind in ("On", "ForceOff"):
        by_hand(racked, "POST", "/Actions/ComputerSystem.Reset", {"ResetType": kind})
        time.sleep(1)


def test_rv_01_a_value_that_moved_on_the_machine_is_named_and_nothing_is_written(racked: World, tmp_path: Path) -> None:
    """Reads the machine again: a BIOS value that somebody set after the review stops the plan, by its name."""
    plan = tmp_path / "plan.json"
    assert racked.run("plan", "lab-1", "-o", str(plan))[0] == 0
    set_profile(racked, "Custom")
    before = len(racked.writes(racked.machine))
    try:
        allowed = ("--allow", "reboot", "--allow", "re-image")
        code, text = racked.run("provision", "--plan", str(plan), *allowed)
        assert (code, "no longer holds" in text) == (1, True), text
        assert "BIOS SysProfile" in text
        assert "Balanced" in text
        assert "Custom" in text
        assert len(racked.writes(racked.machine)) == before
    finally:
        set_profile(racked, "Balanced")


def test_rv_08_a_plan_holds_across_a_merge_that_changes_no_content(racked: World, tmp_path: Path) -> None:
    """Binds a plan to values alone: merges, squashes, comments, key order and times do not count."""
    root, plan = racked.demo.root, tmp_path / "plan.json"
    git(root, "init", "-qb", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "as racked")
    git(root, "switch", "-qc", "review")
    site = root / "inventory/site.yaml"
    text = site.read_text()
    lines = [line for line in text.splitlines() if line]
    assert lines[-1][0] not in " -#", "the last key has to stand on one line"
    site.write_text("\n".join(["# reviewed", lines[-1], *lines[:-1]]) + "\n")
    git(root, "commit", "-qam", "other order, a comment")
    assert racked.run("plan", "lab-1", "-o", str(plan))[0] == 0
    try:
        git(root, "switch", "-q", "main")
        git(root, "merge", "-q", "--no-ff", "-m", "Merge what was reviewed", "review")
        merged = git(root, "rev-parse", "HEAD")
        again = tmp_path / "again.json"
        assert racked.run("plan", "lab-1", "-o", str(again))[0] == 0
        assert again.read_bytes() == plan.read_bytes()
        git(root, "reset", "-q", "--hard", "HEAD~1")
        git(root, "merge", "-q", "--squash", "review")
        git(root, "commit", "-qm", "Squashed")
        assert git(root, "rev-parse", "HEAD") != merged
        assert git(root, "rev-parse", "HEAD^{tree}") == git(root, "rev-parse", "review^{tree}")
        allowed = ("--allow", "reboot", "--allow", "re-image")
        code, said = racked.run("provision", "--plan", str(plan), *allowed, "--until", "match")
        assert (code, "no longer holds" in said) == (0, False), said
    finally:
        site.write_text(text)


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.net"]
    done = subprocess.run(["git", "-C", str(root), *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_node_that_is_to_be_left_alone_is_refused_by_name_and_skipped_in_its_rack(racked: World) -> None:
    racked.edit("inventory/racks/lab.yaml", "    unit: 1\n", "    unit: 1\n    state: quarantined\n")
    try:
        before = len(racked.status(racked.machine).requests)
        code, text = racked.provision()
        assert (code, "left alone" in text) == (1, True), text
        code, text = racked.provision("--rack", "lab", nodes=())
        assert (code, "skipped: lab-1" in text) == (0, True), text
        assert len(racked.status(racked.machine).requests) == before
    finally:
        racked.edit("inventory/racks/lab.yaml", "    state: quarantined\n", "")


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0 torn"], ids=["empty", "torn"])
def test_st_01_a_damaged_journal_is_refused_without_a_word_to_the_bmc(racked: World, content: bytes) -> None:
    journal = racked.state / "journal.sqlite"
    good = journal.read_bytes()
    before = len(racked.status(racked.machine).requests)
    journal.write_bytes(content)
    try:
        code, text = racked.provision()
        assert (code, "journal" in text) == (1, True), text
        assert "hint" in text
    finally:
        journal.write_bytes(good)
    assert len(racked.status(racked.machine).requests) == before


def test_im_16_no_bmc_is_asked_to_change_before_every_image_is_there_and_vouched_for(racked: World) -> None:
    """Every image of a run is looked for, compared with its pin and its signature before the first node is touched."""
    directory, kept = racked.demo.root / "images/tiny/1", racked.demo.root / "elsewhere"
    before = len(racked.writes(racked.machine))
    file, signature = directory / racked.image.file, directory / "image.json.minisig"

    def refused(words: str) -> None:
        code, text = racked.provision()
        assert (code, words in text, "hint" in text) == (1, True, True), text
        assert len(racked.writes(racked.machine)) == before

    for path, words in ((directory, "is not in the catalogue"), (file, "file is gone"), (signature, "no signature")):
        path.rename(kept)
        refused(words)
        kept.rename(path)
    entry = directory / "image.json"
    good = entry.read_text()
    try:
        entry.write_text(good.replace('"uefi"', '"uefi" '))
        refused("the signature is not of this file")
        assert "WOULD STOP" in racked.run("plan", "lab-1")[1]
    finally:
        entry.write_text(good)


def test_im_13_a_node_keeps_its_way_back_unless_somebody_gives_it_up(racked: World) -> None:
    """Before a new image is written, the one that the node was last good with must be there with its digest."""
    before = len(racked.writes(racked.machine))
    with Journal(open_sqlite(racked.state / "journal.sqlite")) as journal:
        good = KnownGood(
            node="lab-1", blueprint="lab-vm@1.0.0", recipe="sha256:1", image="tiny@0", image_sha256="a" * 64,
            firmware={}, certificate="sha256:2", ssh_host_key="ssh-ed25519 AAAA",
        )  # fmt: skip
        journal.nodes.set_known_good(good)
    for image, words in (("tiny@0", "not in the catalogue"), ("tiny@1", f"the node had {'a' * 64}")):
        with Journal(open_sqlite(racked.state / "journal.sqlite")) as journal:
            digest = "b" * 64 if image == "tiny@0" else "a" * 64
            journal.nodes.set_known_good(good.model_copy(update={"image": image, "image_sha256": digest}))
        code, text = racked.provision()
        assert (code, words in text, "--no-way-back" in text) == (1, True, True), text
        assert len(racked.writes(racked.machine)) == before
    with open_workspace(racked.demo.root) as workspace:
        check_images(workspace, Request(("lab-1",), no_way_back="that image was bad"))
        assert any("that image was bad" in str(event.why) for event in workspace.journal.events.of(node="lab-1"))
    with closing(sqlite3.connect(racked.state / "journal.sqlite")) as connection, connection:
        assert connection.execute("delete from known_good").rowcount == 1


def test_the_ramdisk_refuses_another_machine_and_a_missing_disk_and_leaves_the_other_disks(racked: World) -> None:
    machine = racked.machine
    data = racked.fill(machine, machine.data_disk)
    seen = Path(racked.status(machine).directory, "machine.json")
    good = seen.read_text()

    seen.write_text(good.replace(machine.serial, "MWLAB0009"))
    code, text = racked.provision()
    assert (code, "MWLAB0009" in text) == (1, True), text
    assert racked.is_untouched(machine, machine.system_disk)

    seen.write_text(good.replace(f'"serial": "{machine.system_disk}"', '"serial": "SYS0009"'))
    code, text = racked.provision()
    assert (code, "no disk satisfies the rule" in text) == (1, True), text
    assert racked.is_untouched(machine, machine.system_disk)

    seen.write_text(good)
    code, text = racked.provision()
    assert code == 0, text
    assert racked.stamp(machine) is not None
    assert racked.sha256(machine, machine.data_disk) == data


def test_two_disks_that_fit_the_rule_are_told_apart_by_a_person_only(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    serials = ("SYS0001", "SYS0002")
    disks = [{"serial": serial, "size_bytes": 4 << 30} for serial in serials]
    with world(tmp_path, "127.122", tiny_image, Options(changes={"disks": disks})) as site:
        code, text = site.provision()
        assert code == 1
        assert "Bay 2" in text
        assert "hint" in text
        assert all(site.is_untouched(site.machine, serial) for serial in serials)
