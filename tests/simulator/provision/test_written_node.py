"""A node that was written and runs: second runs change nothing, a lost journal wipes nothing, a rebuild is asked for.

The tests share two nodes and run in their order.
"""

from __future__ import annotations

import hashlib
import json
import os
import pty
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from tests.simulator.provision.world import TWO_MACHINES, Options, World, add_image, world

from metalwright.model.addresses import KnownGood
from metalwright.workspace import open_workspace

pytestmark = pytest.mark.timeout(900)

DEPLOYS = ("credentials", "firmware", "bios", "harden", "eject", "boot_disk", "power", "address")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, tiny_image: tuple[Path, str]) -> Iterator[World]:
    """Two nodes, provisioned up to the image phase; the data disk of the first carries somebody's work."""
    with world(tmp_path_factory.mktemp("written"), "127.125", tiny_image, Options(machines=TWO_MACHINES)) as site:
        site.fill(site.machine, site.machine.data_disk)
        code, text = site.provision(nodes=("lab-1", "lab-2"))
        assert code == 0, text
        yield site


class Witness:
    """What the disks and BMCs of all nodes say; equal before and after when nothing was changed."""

    def __init__(self, site: World) -> None:
        self.state = tuple(
            (
                site.sha256(machine, machine.system_disk),
                site.sha256(machine, machine.data_disk),
                *(site.disk(machine, disk).stat().st_mtime_ns for disk in (machine.system_disk, machine.data_disk)),
                site.boots(machine, "cd"),
                site.boots(machine, "disk"),
                len(site.writes(machine)),
            )
            for machine in site.demo.machines
        )


@pytest.mark.parametrize("deploy", DEPLOYS)
def test_a_second_run_of_every_deploy_reports_no_changes(written: World, deploy: str) -> None:
    before = Witness(written).state
    code, result, said = written.pyinfra(deploy)
    assert code == 0, said
    assert result is not None
    assert [item["name"] for item in result["results"]["operations"] if item["success"]] == []
    assert Witness(written).state == before


def test_a_second_provision_changes_nothing_and_its_plan_says_so(written: World) -> None:
    before = Witness(written).state
    code, text = written.provision()
    assert code == 0, text
    assert "WILL BE WRITTEN" not in text
    assert Witness(written).state == before
    code, text = written.run("plan", "lab-1", "--json")
    assert code == 0, text
    assert '"disruptive": true' not in text


def test_with_an_empty_journal_the_running_nodes_of_a_rack_are_left_alone(written: World) -> None:
    before, kept = Witness(written).state, {}
    for file in written.state.glob("journal.sqlite*"):
        kept[file] = file.read_bytes()
        file.unlink()
    try:
        for nodes, options in ((("lab-1",), ()), ((), ("--rack", "lab"))):
            code, text = written.provision(*options, nodes=nodes)
            assert code == 1, text
            for node in nodes or ("lab-1", "lab-2"):
                assert f"--overwrite {node}" in text, text
            assert Witness(written).state == before
    finally:
        for file in written.state.glob("journal.sqlite*"):
            file.unlink()
        for file, content in kept.items():
            file.write_bytes(content)


@pytest.mark.long
def test_with_an_empty_journal_a_silent_node_keeps_the_disk_that_another_journal_wrote(written: World) -> None:
    code, _, said = written.pyinfra("power", "--data", "power=Off")
    assert code == 0, said
    disk = written.sha256(written.machine, written.machine.system_disk)
    kept = {file: file.read_bytes() for file in written.state.glob("journal.sqlite*")}
    for file in kept:
        file.unlink()
    try:
        code, text = written.provision()
        assert code == 1, text
        assert "written by another journal's run" in text
        assert written.sha256(written.machine, written.machine.system_disk) == disk
    finally:
        for file in written.state.glob("journal.sqlite*"):
            file.unlink()
        for file, content in kept.items():
            file.write_bytes(content)
    code, text = written.provision()
    assert code == 0, text
    assert written.sha256(written.machine, written.machine.system_disk) == disk


def test_a_destroyed_disk_is_rebuilt_on_demand_only_and_alone(written: World) -> None:
    machine = written.machine
    data = written.sha256(machine, machine.data_disk)
    code, _, said = written.pyinfra("power", "--data", "power=Off")
    assert code == 0, said
    destroyed = written.fill(machine, machine.system_disk, b"noise of a dying disk\n" * 64)
    cds = written.boots(machine, "cd")

    code, text = written.run("rebuild", "lab-1", "--until", "image", "--yes")
    assert code == 1, text
    assert "carries data that metalwright did not write" in text
    typed = f"metalwright --site {written.demo.root} rebuild lab-1 --until image --yes"
    assert f"if its content may be destroyed: `{typed} --overwrite lab-1`" in text
    assert written.sha256(machine, machine.system_disk) == destroyed

    killed_at = "finish_phase.before:8"
    written.run("rebuild", "lab-1", "--until", "image", "--yes", "--overwrite", "lab-1", METALWRIGHT_KILL_AT=killed_at)
    code, text = written.run("resume", "--until", "image", "--yes")
    assert code == 0, text
    assert written.stamp(machine) is not None
    assert written.boots(machine, "cd") == cds + 2
    assert written.sha256(machine, machine.data_disk) == data
    assert written.run("resume")[1].strip() == "nothing to resume: every run has finished"


@pytest.mark.long
def test_one_command_brings_back_a_node_whose_disk_was_replaced_and_is_not_blank(written: World) -> None:
    machine, rack = written.machine, written.demo.root / "inventory/racks/lab.yaml"
    data, cds = written.sha256(machine, machine.data_disk), written.boots(machine, "cd")
    code, _, said = written.pyinfra("power", "--data", "power=Off")
    assert code == 0, said
    written.fill(machine, machine.system_disk, b"of another machine\n" * 64)
    named = rack.read_text()
    written.edit("inventory/racks/lab.yaml", "    ports:", "    system_disk: {serial: GONE0001}\n    ports:")

    asked = (
        (f"type: {machine.system_disk}: ", machine.system_disk),
        ("To write these disks, type: lab-1: ", "lab-1"),
        ("type: overwrite lab-1 (anything else stops): ", "overwrite lab-1"),
    )
    code, said = on_a_terminal(written, ["rebuild", "lab-1", "--until", "image"], asked)
    assert code == 0, said
    assert f"GONE0001 is gone; {machine.system_disk} (" in said
    assert "data without a known signature" in said
    assert written.stamp(machine) is not None
    assert written.boots(machine, "cd") == cds + 2
    assert written.sha256(machine, machine.data_disk) == data
    assert f"system_disk: {{serial: {machine.system_disk}}}" in rack.read_text()
    rack.write_text(named)


def on_a_terminal(site: World, arguments: Sequence[str], asked: Sequence[tuple[str, str]]) -> tuple[int, str]:
    """Run ``metalwright`` on a terminal and give each answer when its question is there; exit code and screen."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, **site.environment, "COLUMNS": "200", "TERM": "dumb"}
    command = [sys.executable, "-m", "metalwright.cli", "--site", str(site.demo.root), *arguments]
    with subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said, waiting = "", list(asked)
        while True:
            try:
                said += os.read(ours, 65536).decode(errors="replace").replace("\r\n", "\n")
            except OSError:  # the other end is closed: it has ended
                break
            if waiting and waiting[0][0] in said:
                os.write(ours, f"{waiting.pop(0)[1]}\n".encode())
        os.close(ours)
    return process.returncode, said


@pytest.mark.long
def test_a_rebuild_to_another_image_writes_just_that_and_keeps_what_the_old_system_could_tell(
    written: World, tmp_path: Path
) -> None:
    good = next((written.demo.root / "images/tiny/1").glob("image.raw")).read_bytes()
    other = tmp_path / "other.raw"
    other.write_bytes(bytes([good[0] ^ 1]) + good[1:])
    sha256 = hashlib.sha256(other.read_bytes()).hexdigest()
    add_image(written.demo.root, other, "2", sha256)

    code, text = written.run("rebuild", "lab-1", "--image", "tiny@2", "--until", "image", "--yes")
    assert code == 0, text
    assert "lab-vm@1.0.0, image tiny@2 (as asked for)" in text
    stamp = written.stamp(written.machine)
    assert stamp is not None
    assert stamp["image"] == f"sha256:{sha256}"

    folder = written.state / "evidence" / stamp["run"]
    (evidence,) = folder.glob("lab-1-system-*.json")
    assert set(json.loads(evidence.read_text())["outputs"]) >= {"kernel log", "GPUs", "AMD GPUs"}
    first = json.loads(min(folder.glob("lab-1-2*.json")).read_text())
    assert first["before"] == "the rebuild"
    assert first["log"]
    assert first["console"]["lines"]
    history = written.cli("journal", "--run", stamp["run"]).stdout
    assert evidence.name in history
    assert "lines of the console)" in history

    before = Witness(written).state
    code, text = written.provision()
    assert (code, "metalwright rebuild lab-1 --image tiny@1" in text) == (1, True), text
    assert Witness(written).state == before


HOOKS = """\
hooks:
  - drain: {command: [sh, -c, 'echo "$METALWRIGHT_NODE $METALWRIGHT_REASON" >>drains; cat told; exit $(cat code)']}
"""


@pytest.mark.long
def test_a_failing_drain_stops_a_rebuild_and_a_rollback_of_the_run_drains_first_and_brings_the_image_back(
    written: World,
) -> None:
    root = written.demo.root
    rebuilt = str((written.stamp(written.machine) or {})["run"])
    with (root / "inventory/site.yaml").open("a") as file:
        file.write(HOOKS)
    (root / "told").write_text("2 jobs do not end\n")
    (root / "code").write_text("3")
    accepted_before(written, rebuilt)
    before = Witness(written).state

    code, text = written.run("rollback", rebuilt, "--until", "image", "--yes")
    assert code == 1, text
    assert f"lab-1: back to lab-vm@1.0.0, image tiny@1 (what it had before run {rebuilt})" in text
    assert "the drain hook ended with exit status 3" in text
    assert "2 jobs do not end" in text
    assert Witness(written).state == before

    (root / "code").write_text("0")
    code, text = written.run("rollback", rebuilt, "--until", "image", "--yes")
    assert code == 0, text
    for told in ("held by this command", "by sh before anything else", "tiny@1 is there and verified", "serial"):
        assert told in text
    assert (written.stamp(written.machine) or {})["image"] == f"sha256:{written.image.file_sha256}"
    assert len((root / "drains").read_text().splitlines()) == 2
    assert written.sha256(written.machine, written.machine.data_disk) == before[0][1]

    code, text = written.run("rollback", rebuilt)
    assert (code, "changed it since" in text) == (0, True), text


def accepted_before(site: World, run: str) -> None:
    """As if the node had been accepted with its first image, before ``run`` wrote another one."""
    with open_workspace(site.demo.root) as workspace:
        blueprint = workspace.blueprint("lab-1")
        known = KnownGood(
            node="lab-1",
            blueprint=blueprint.ref,
            recipe=workspace.recipe("lab-1"),
            image="tiny@1",
            image_sha256=site.image.file_sha256,
            firmware={},
            certificate="sha256:c",
            ssh_host_key="ssh-ed25519 AAAA",
        )
        workspace.journal.nodes.set_known_good(known)
    with closing(sqlite3.connect(site.state / "journal.sqlite")) as connection, connection:
        connection.execute("update events set at = '2026-01-01 00:00:00' where what = 'known good'")
