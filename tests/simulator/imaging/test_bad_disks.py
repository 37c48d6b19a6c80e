"""Disks that fail, and disks full of somebody's old volumes: ready or failed with the reason, never half-done."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.simulator.imaging.test_agent_flow import content, read_root

from metalwright.imaging.agent import __main__ as agent
from metalwright.imaging.agent.signatures import probe_content
from metalwright.imaging.agent.stamp import PARTIAL_MAGIC, decode_stamp, read_stamp_area
from metalwright.model.agent_protocol import FailureCode
from metalwright.model.deployment import Deployment

MIB = 1 << 20


async def boot_here(bench: Any, *disks: dict[str, Any], **options: Any) -> tuple[int, Deployment]:
    """As ``bench.deploy``, with the agent inside this process, where the disk's answers can be made bad."""
    prepared = bench.prepare(**options)
    media, hardware, memory = (bench.directory / name for name in ("media.json", "hardware.json", "memory"))
    media.write_text(json.dumps(bench.config(prepared).to_json()))
    memory.mkdir(exist_ok=True)
    identity = {"serial": "SN-1001", "uuid": "4c4c4544-0042-3310-8052-b4c04f4e3432", "macs": []}
    hardware.write_text(json.dumps({"identity": identity, "work_dir": str(memory), "disks": disks}))
    code = await asyncio.to_thread(
        agent.main, ["--media", str(media), "--hardware", str(hardware), "--give-up-s", "20"]
    )
    return code, bench.deployment(prepared)


def is_open_as(fd: int, path: str) -> bool:
    return str(Path(f"/proc/self/fd/{fd}").readlink()) == path


def bad_from(call: Callable[..., int], path: str, start: int) -> Callable[..., int]:
    """``os.pwrite`` or ``os.preadv`` on a disk that cannot be written or read from byte ``start`` on."""

    def faulty(fd: int, data: Any, offset: int) -> int:
        if offset >= start and is_open_as(fd, path):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return call(fd, data, offset)

    return faulty


async def test_a_disk_that_refuses_a_write_in_the_middle_fails_and_is_written_by_one_more_attempt(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = bench.add_disk("system")
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", bad_from(os.pwrite, disk["path"], 8 * MIB))
        code, deployment = await boot_here(bench, disk)
    assert code == 1
    assert deployment.failure is not None
    assert (deployment.failure.code, deployment.failure.wrote) == (FailureCode.WRITE, True)
    assert deployment.failure.found == "Input/output error"
    assert not any(content(disk)[: MIB // 2]), "no partition table: it does not boot"
    assert decode_stamp(read_stamp_area(disk["path"])) is None
    assert decode_stamp(read_stamp_area(disk["path"]), PARTIAL_MAGIC) is not None

    code, deployment = await boot_here(bench, disk)
    assert code == 0
    assert deployment.done is not None
    assert read_root(disk, "/etc/hostname") == "lab-1\n"


async def test_a_disk_that_cannot_be_read_back_is_no_success(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = bench.add_disk("system")
    with monkeypatch.context() as patched:
        patched.setattr(os, "preadv", bad_from(os.preadv, disk["path"], 4 * MIB))
        code, deployment = await boot_here(bench, disk)
    assert code == 1
    assert deployment.failure is not None
    assert (deployment.failure.code, deployment.failure.wrote) == (FailureCode.READ_BACK, True)
    assert decode_stamp(read_stamp_area(disk["path"])) is None
    assert (await boot_here(bench, disk))[0] == 0


async def test_a_disk_that_loses_what_was_written_is_found_out(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = bench.add_disk("system")
    write = os.pwrite

    def losing(fd: int, data: Any, offset: int) -> int:
        is_lost = 8 * MIB <= offset < 9 * MIB and is_open_as(fd, disk["path"])
        return len(data) if is_lost else write(fd, data, offset)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", losing)
        code, deployment = await boot_here(bench, disk)
    if deployment.done is not None:  # the image has nothing but zeros there
        assert not any(bench.image_path.read_bytes()[8 * MIB : 9 * MIB])
        return
    assert code == 1
    assert deployment.failure is not None
    assert deployment.failure.code is FailureCode.READ_BACK


async def test_an_erasure_on_a_disk_that_refuses_writes_is_no_success(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disks = [bench.add_disk("system"), bench.add_disk("data", 8 * MIB, b"secret " * 1000)]
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", bad_from(os.pwrite, disks[1]["path"], 4 * MIB))
        code, deployment = await boot_here(bench, *disks, wipe=("S-system", "S-data"))
    assert code == 1
    assert deployment.failure is not None
    assert (deployment.failure.code, deployment.failure.wrote) == (FailureCode.WIPE, True)
    assert "S-data): Input/output error" in str(deployment.failure.found)
    assert decode_stamp(read_stamp_area(disks[0]["path"])) is None


def old_partitions(path: str) -> None:
    """A GPT with an EFI system partition, swap, a Linux RAID member and an LVM volume, and data in them."""
    table = "label: gpt\nsize=4096, type=U\nsize=8192, type=S\nsize=8192, type=R\nsize=8192, type=V\n"
    subprocess.run(["sfdisk", "-q", path], input=table.encode(), check=True)
    put(path, 2048 * 512 + 3, b"MSDOS5.0")
    subprocess.run(["mkswap", "-q", "-o", str(6144 * 512), path], check=False, capture_output=True)
    put(path, 22528 * 512 + 512, lvm_label(1))


def lvm_on_the_whole_disk(path: str) -> None:
    """A physical volume of LVM without a partition table."""
    put(path, 512, lvm_label(1))


def raid_at_the_end(path: str) -> None:
    """A member of a Linux RAID with its superblock (0.90) in the last 128 KiB, where a new table would not reach."""
    size = Path(path).stat().st_size
    block = bytearray(4096)
    struct.pack_into("<IIII", block, 0, 0xA92B4EFC, 0, 90, 0)
    struct.pack_into("<IIII", block, 20, 1, 0, 1, 2)
    checksum = sum(struct.unpack_from("<1024I", block))
    struct.pack_into("<I", block, 38 * 4, 0)
    struct.pack_into("<I", block, 38 * 4, (checksum & 0xFFFFFFFF) + (checksum >> 32))
    put(path, (size & ~0xFFFF) - 0x10000, bytes(block))


def lvm_label(sector: int) -> bytes:
    """The label of an LVM2 physical volume, with its checksum."""
    body = struct.pack("<I", 32) + b"LVM2 001" + b"0123456789abcdefghijklmnopqrstuv" + struct.pack("<QQ", 24 * MIB, MIB)
    body = body.ljust(512 - 20, b"\0")
    crc = 0xF597A6CF
    table = (
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
        0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
    )  # fmt: skip
    for byte in body:
        crc ^= byte
        crc = (crc >> 4) ^ table[crc & 15]
        crc = (crc >> 4) ^ table[crc & 15]
    return b"LABELONE" + struct.pack("<QI", sector, crc) + body


def put(path: str, offset: int, data: bytes) -> None:
    with Path(path).open("r+b") as file:
        file.seek(offset)
        file.write(data)


@pytest.mark.parametrize(
    ("fill", "named"),
    [
        (old_partitions, "gpt: 4 partitions"),
        (lvm_on_the_whole_disk, "member of LVM volume group on the whole disk"),
        (raid_at_the_end, ""),
    ],
    ids=["partitions", "lvm", "raid"],
)
async def test_a_disk_full_of_old_volumes_is_shown_and_left_alone_or_loses_all_of_them(
    bench: Any, fill: Callable[[str], None], named: str
) -> None:
    disk = bench.add_disk("system")
    fill(disk["path"])
    before = content(disk)
    run, deployment = await bench.deploy(disk)
    assert run.exit_code == 1
    assert deployment.failure is not None
    assert deployment.failure.code is FailureCode.FOREIGN_DISK
    assert named in str(deployment.failure.found)
    assert content(disk) == before

    run, deployment = await bench.deploy(disk, overwrite=True)
    assert run.exit_code == 0, run.console
    found = signatures(disk["path"])
    assert found == ["gpt"], found
    summary = probe_content(disk["path"], 24 * MIB).summary
    assert summary[0] == "gpt: 2 partitions"
    assert not any("LVM" in line or "raid" in line or "swap" in line for line in summary)


def signatures(path: str) -> Sequence[str]:
    """Every signature of the whole disk that ``wipefs`` knows, each kind once."""
    told = subprocess.run(["wipefs", "--json", path], capture_output=True, text=True, check=True).stdout
    found = json.loads(told)["signatures"] if told.strip() else []
    return sorted({item["type"] for item in found} - {"PMBR"})
