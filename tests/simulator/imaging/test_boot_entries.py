"""Boot entries of the firmware after a write: those of the destroyed system go, all others stay as they are."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.load_options import ELSEWHERE, FORMER, load_option, put_variable

from metalwright.imaging.agent.boot_entries import EfiVariables, parse_entry, partition_guids, remove_stale_entries

MIB = 1 << 20


def partitioned(path: str, *guids: str) -> None:
    lines = "".join(f"size=1MiB, uuid={guid}\n" for guid in guids)
    subprocess.run(["sfdisk", "-q", path], input=f"label: gpt\n{lines}".encode(), check=True)


def numbers(order: Path) -> tuple[int, ...]:
    return tuple(item[0] for item in struct.iter_unpack("<H", order.read_bytes()[4:]))


async def test_im_12_entries_of_the_system_that_was_overwritten_are_removed_and_no_others(
    bench: Any, tmp_path: Path
) -> None:
    """Removes entries that point to partitions which the write destroyed; tells others of the same name, no more."""
    disk, data = bench.add_disk("system"), bench.add_disk("data")
    partitioned(disk["path"], FORMER)
    partitioned(data["path"], ELSEWHERE)
    variables = tmp_path / "efivars"
    kept = [
        put_variable(variables, "Boot0001", load_option("ubuntu", ELSEWHERE)),
        put_variable(variables, "Boot0002", load_option("PXE", None)),
        put_variable(variables, "Boot0003", load_option("unplugged", "77777777-2222-4333-8444-555555555555")),
        put_variable(variables, "Boot0009", b"\x01"),
    ]
    before = [path.read_bytes() for path in kept]
    former = put_variable(variables, "Boot000A", load_option("ubuntu", FORMER))
    order = put_variable(variables, "BootOrder", struct.pack("<5H", 10, 1, 3, 2, 9))
    bench.efi_variables = variables

    run, deployment = await bench.deploy(disk, data)
    assert run.exit_code == 1, "the disk is somebody's: nothing is written, nothing removed"
    assert former.exists()

    run, deployment = await bench.deploy(disk, data, overwrite=True)
    assert run.exit_code == 0, run.console
    assert deployment.done is not None
    assert deployment.done.removed_boot_entries == ("Boot000A (ubuntu)",)
    assert "boot entry removed, its partition is gone: Boot000A (ubuntu)" in run.console
    assert not former.exists()
    assert numbers(order) == (1, 3, 2, 9)
    assert [path.read_bytes() for path in kept] == before


async def test_im_12_the_entry_of_an_image_that_is_written_again_stays(bench: Any, tmp_path: Path) -> None:
    """Removes entries that point to partitions which the write destroyed; tells others of the same name, no more."""
    disk = bench.add_disk("system")
    assert (await bench.deploy(disk))[0].exit_code == 0
    (guid, *_) = sorted(partition_guids([disk["path"]]))
    entry = put_variable(tmp_path / "efivars", "Boot0001", load_option("debian", guid))
    bench.efi_variables = tmp_path / "efivars"
    run, deployment = await bench.deploy(disk, run="run-2")
    assert run.exit_code == 0, run.console
    assert deployment.done is not None
    assert deployment.done.removed_boot_entries == ()
    assert entry.exists()


def test_the_last_entry_of_the_order_leaves_no_order(tmp_path: Path) -> None:
    entry = put_variable(tmp_path / "efivars", "Boot0001", load_option("x", FORMER))
    order = put_variable(tmp_path / "efivars", "BootOrder", struct.pack("<H", 1))
    assert remove_stale_entries(EfiVariables(tmp_path / "efivars"), frozenset([FORMER])) == ("Boot0001 (x)",)
    assert not entry.exists()
    assert not order.exists()


@given(st.binary(max_size=200), st.integers(0, 130))
def test_no_bytes_of_a_broken_entry_stop_the_agent(data: bytes, cut: int) -> None:
    parse_entry(1, data)
    whole = load_option("name", FORMER)
    entry = parse_entry(1, whole[:cut])
    assert entry is None or entry.partition in (None, FORMER)
    assert parse_entry(1, whole) == (1, "name", FORMER)
