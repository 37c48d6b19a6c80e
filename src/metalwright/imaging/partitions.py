"""The partition table of a raw image and what each partition holds, told from the first bytes of each. Pure."""

from __future__ import annotations

import struct
import uuid
from typing import Final, NamedTuple

SECTOR_BYTES: Final = 512
TABLE_BYTES: Final = 1 << 20
"""The beginning of a disk that holds the header and every entry."""
PROBE_BYTES: Final = 72 << 10
"""The beginning of a partition that tells what is on it."""

ESP_TYPE: Final = uuid.UUID("c12a7328-f81f-11d2-ba4b-00a0c93ec93b")
GPT_MAGIC: Final = b"EFI PART"
_HEADER: Final = struct.Struct("<QII")
_HEADER_OFFSET: Final = SECTOR_BYTES + 72
_SMALLEST_ENTRY: Final = 128
_MOST_ENTRIES: Final = 1024
_MARKS: Final = (
    (0x438, b"\x53\xef", "ext4"),
    (0, b"XFSB", "xfs"),
    (0x10040, b"_BHRfS_M", "btrfs"),
    (0, b"LUKS\xba\xbe", "LUKS"),
    (0x1000, b"\xfc\x4e\x2b\xa9", "a member of a RAID array"),
    (0x200, b"LABELONE", "an LVM physical volume"),
    (0x218, b"LVM2 001", "an LVM physical volume"),
    (0x52, b"FAT32", "FAT"),
    (0x36, b"FAT1", "FAT"),
)


class Partition(NamedTuple):
    """``number`` counts as the table does; ``content`` is None for what is not known."""

    number: int
    type: uuid.UUID
    start_bytes: int
    size_bytes: int
    content: str | None = None


def has_gpt(head: bytes) -> bool:
    """Whether the disk that begins with ``head`` has a GPT for sectors of 512 bytes."""
    return head[SECTOR_BYTES : SECTOR_BYTES + len(GPT_MAGIC)] == GPT_MAGIC


def read_partitions(head: bytes) -> tuple[Partition, ...]:
    """The partitions of a disk by number; empty without a GPT, or with a damaged one."""
    if not has_gpt(head) or len(head) < _HEADER_OFFSET + _HEADER.size:
        return ()
    first_sector, count, size_bytes = _HEADER.unpack_from(head, _HEADER_OFFSET)
    if size_bytes < _SMALLEST_ENTRY or count > _MOST_ENTRIES:
        return ()
    found = []
    for index in range(count):
        offset = first_sector * SECTOR_BYTES + index * size_bytes
        if offset + size_bytes > len(head):
            break
        kind = uuid.UUID(bytes_le=head[offset : offset + 16])
        first, last = struct.unpack_from("<QQ", head, offset + 32)
        if kind.int and last >= first:
            found.append(Partition(index + 1, kind, first * SECTOR_BYTES, (last - first + 1) * SECTOR_BYTES))
    return tuple(found)


def name_content(beginning: bytes) -> str | None:
    """What a partition with this beginning holds (ext2 and ext3 count as ext4); None for what is not known."""
    for offset, mark, name in _MARKS:
        if beginning[offset : offset + len(mark)] == mark:
            return name
    return None
