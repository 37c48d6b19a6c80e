"""``drift --accept``: what a replaced part changed becomes a change of the rack file that people see and commit.

``rebuild`` does so for a system disk alone, whose serial number a person confirms in the same command.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.simulator.discovery.sites import GIB, SiteOnDisk, machine, make_site, node_of, port_of

from metalwright.simulator.running import RunningService, service_in_thread
from metalwright.simulator.spec import DiskSpec

RACK = "inventory/racks/r1.yaml"
TEXT = """\
# Rack r1, row 3.
schema: 1
name: r1
site: lab
nodes:
  - name: lab-1                 # the left one
    serial: LAB0001X
    bmc_mac: "52:54:00:BC:00:01"
    uuid: 6d657461-6c77-4269-8000-000000000001
    blueprint: lab-vm@1.0.0
    bmc_address: 127.85.0.1
    system_disk: {serial: DISK1X}   # photo 17
    ports:
      - {mac: 52:54:00:1a:00:01, role: host}
  - {name: lab-8, serial: S8, uuid: 6d657461-6c77-4269-8000-0000000000a8, blueprint: lab-vm@1.0.0, state: spare}
"""


def racked(directory: Path, service: RunningService, *edits: tuple[str, str]) -> SiteOnDisk:
    site = make_site(directory, [node_of(machine(1))], port_of(service))
    text = TEXT
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    (site.root / RACK).write_text(text)
    assert site.run("addresses", "allocate").code == 0
    return site


def test_new_parts_are_written_shown_and_left_for_a_commit(first: RunningService, tmp_path: Path) -> None:
    old = (("DISK1X", "DISK0X"), ("00:1a:00:01", "00:1a:00:99"), ("000000000001", "0000000000ff"))
    site = racked(tmp_path, first, *old)
    seen = site.run("drift", "lab-1")
    assert seen.code == 2
    assert "replaced? system disk: DISK0X → DISK1X; `metalwright drift lab-1 --accept`" in seen.out

    run = site.run("drift", "lab-1", "--accept")
    assert run.code == 2, run.err
    assert (site.root / RACK).read_text() == TEXT
    shown = [line for line in run.out.splitlines() if line.startswith(("-", "+"))]
    assert shown == [
        f"--- a/{RACK}",
        f"+++ b/{RACK}",
        "-    uuid: 6d657461-6c77-4269-8000-0000000000ff",
        "+    uuid: 6d657461-6c77-4269-8000-000000000001",
        "-    system_disk: {serial: DISK0X}   # photo 17",
        "+    system_disk: {serial: DISK1X}   # photo 17",
        "-      - {mac: 52:54:00:1a:00:99, role: host}",
        "+      - {mac: 52:54:00:1a:00:01, role: host}",
    ]
    assert f"add {RACK}" in run.err
    assert "commit --message 'Replaced parts of lab-1'" in run.err
    again = site.run("drift", "lab-1", "--accept")
    assert "nothing was written" in again.err
    assert (site.root / RACK).read_text() == TEXT


@pytest.mark.parametrize(
    ("edits", "why"),
    [
        (
            (("LAB0001X", "OLD"), ("BC:00:01", "BC:00:77"), ("000000000001", "0000000000ff")),
            "no declared identity key agrees: this is another machine",
        ),
        ((("S8", "LAB0001X"), ("    serial: LAB0001X", "    serial: OLD")), "is that of node lab-8"),
    ],
    ids=["another machine", "swapped"],
)
def test_what_may_be_another_machine_is_never_accepted(
    first: RunningService, tmp_path: Path, edits: tuple[tuple[str, str], ...], why: str
) -> None:
    site = racked(tmp_path, first, *edits)
    before = (site.root / RACK).read_bytes()
    run = site.run("drift", "lab-1", "--accept")
    assert run.code == 2, run.err
    assert f"not for --accept: {why}" in run.out or why in run.out
    assert "nothing was written" in run.err
    assert (site.root / RACK).read_bytes() == before


def test_a_whole_rack_is_never_accepted_at_once(tmp_path: Path) -> None:
    run = make_site(tmp_path, []).run("drift", "--rack", "r1", "--accept")
    assert run.code == 64
    assert "each replaced part is one decision" in run.err


def test_a_value_over_several_lines_is_left_to_a_person(tmp_path: Path) -> None:
    spec = machine(1, disks=(DiskSpec(serial="NEW", size_bytes=2 * GIB),))
    with service_in_thread(spec, "127.85.0.1") as service:
        site = racked(tmp_path, service, ("{serial: DISK1X}", '{serial:\n      "DISK\\\n      1X"}'))
        before = (site.root / RACK).read_bytes()
        run = site.run("drift", "lab-1", "--accept")
    assert run.code == 1
    assert "hint: edit the file by hand" in run.err
    assert (site.root / RACK).read_bytes() == before


def test_a_new_system_disk_is_named_by_rebuild_and_not_taken_before_a_person_confirms_it(
    first: RunningService, tmp_path: Path
) -> None:
    site = racked(tmp_path, first, ("DISK1X", "DISK0X"))
    before = (site.root / RACK).read_bytes()
    run = site.run("rebuild", "lab-1", "--yes")
    assert run.code == 1
    assert "NEW DISK: lab-1: DISK0X is gone; DISK1X (" in run.err
    assert "the same command with --new-disk DISK1X" in run.err
    run = site.run("rebuild", "lab-1", "--new-disk", "DISK2X")
    assert (run.code, "no new system disk has this serial number" in run.err) == (1, True)
    assert (site.root / RACK).read_bytes() == before


@pytest.mark.parametrize("answer", ["DISK1X", "lab-1"])
def test_the_confirmed_serial_number_is_in_the_rack_file_before_the_rebuild_goes_on(
    first: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    site = racked(tmp_path, first, ("DISK1X", "DISK0X"))
    before = (site.root / RACK).read_text()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: answer)
    run = site.run("rebuild", "lab-1")
    assert run.code == 1
    is_confirmed = answer == "DISK1X"
    assert (site.root / RACK).read_text() == (TEXT if is_confirmed else before)
    assert ("+    system_disk: {serial: DISK1X}   # photo 17" in run.err) == is_confirmed
    assert ("not confirmed; nothing was written" in run.err) != is_confirmed
    assert ("new system disk confirmed" in site.run("journal", "lab-1").out) == is_confirmed


def test_a_rebuild_takes_no_new_disk_where_more_than_the_disk_is_another(first: RunningService, tmp_path: Path) -> None:
    site = racked(tmp_path, first, ("DISK1X", "DISK0X"), ("000000000001", "0000000000ff"))
    before = (site.root / RACK).read_bytes()
    run = site.run("rebuild", "lab-1", "--new-disk", "DISK1X")
    assert (run.code, "no new system disk has this serial number" in run.err) == (1, True)
    assert (site.root / RACK).read_bytes() == before
