"""Growing the last partition and its file system to the end of the disk: ext4 here, XFS once it is mounted."""

from __future__ import annotations

import fcntl
import json
import os
from typing import Final, NamedTuple

from metalwright.imaging.agent.direct import is_block_device
from metalwright.imaging.agent.disks import partition_path
from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.tools import run_tool

EXT4: Final = "ext4"
XFS: Final = "xfs"
_XFS_MAGIC: Final = b"XFSB"
_BLKRRPART: Final = 0x125F
_FSCK_FIXED: Final = 1


class RootPartition(NamedTuple):
    """The partition with the root file system of that ``kind``; ``target`` is what e2fsprogs accept as its name."""

    number: int
    start_bytes: int
    size_bytes: int
    target: str
    kind: str


def grow_root(disk_path: str) -> RootPartition:
    """Grow the last partition and its ext4 file system to the end of the disk; return where it is.

    XFS grows only while it is mounted: see :func:`metalwright.imaging.agent.root_file_system.mounted_root`.
    """
    number = find_root(disk_path).number
    _grow_partition(disk_path, number)
    _tell_kernel(disk_path)
    root = find_root(disk_path)
    if root.kind == XFS:
        return root
    run_tool(["e2fsck", "-fp", root.target], code="seed", accepted=(0, _FSCK_FIXED))
    size_bytes = _file_size(disk_path)
    run_tool(["resize2fs", root.target, f"{root.size_bytes // 1024}K"], code="seed")
    if size_bytes is not None:
        os.truncate(disk_path, size_bytes)  # resize2fs cuts a file after the file system, the backup GPT with it
        _grow_partition(disk_path, number)
    return root


def _grow_partition(disk_path: str, number: int) -> None:
    grow = ["sfdisk", "--quiet", "--no-reread", "--no-tell-kernel", "-N", str(number), disk_path]
    run_tool(grow, code="seed", stdin=", +\n")


def _file_size(disk_path: str) -> int | None:
    """The size of a disk file; ``None`` for a real disk, whose size nothing can change."""
    return None if is_block_device(disk_path) else os.stat(disk_path).st_size  # noqa: PTH116 - paths are text here


def find_root(disk_path: str) -> RootPartition:
    """Return the partition that starts last, which is where our images keep their root."""
    table = json.loads(run_tool(["sfdisk", "--json", disk_path], code="seed"))["partitiontable"]
    if not table.get("partitions"):
        raise AgentError("seed", f"{disk_path} has no partition", expected="a root partition", wrote=True)
    sector = int(table.get("sectorsize", 512))
    number, part = max(enumerate(table["partitions"], start=1), key=lambda item: int(item[1]["start"]))
    start_bytes = part["start"] * sector
    target = _target(disk_path, number, start_bytes)
    return RootPartition(number, start_bytes, part["size"] * sector, target, _kind(disk_path, start_bytes))


def _kind(disk_path: str, start_bytes: int) -> str:
    fd = os.open(disk_path, os.O_RDONLY)
    try:
        return XFS if os.pread(fd, len(_XFS_MAGIC), start_bytes) == _XFS_MAGIC else EXT4
    finally:
        os.close(fd)


def _target(disk_path: str, number: int, start_bytes: int) -> str:
    return partition_path(disk_path, number) if is_block_device(disk_path) else f"{disk_path}?offset={start_bytes}"


def _tell_kernel(disk_path: str) -> None:
    if not is_block_device(disk_path):
        return
    fd = os.open(disk_path, os.O_RDWR)
    try:
        fcntl.ioctl(fd, _BLKRRPART)
    except OSError as error:
        raise AgentError(
            "seed", f"the kernel does not read the new partitions of {disk_path}", found=error.strerror, wrote=True
        ) from error
    finally:
        os.close(fd)
