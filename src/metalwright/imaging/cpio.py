"""The kernel's initramfs archive format (cpio, "newc"): deterministic layers that are appended to a ramdisk."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import NamedTuple

_ALIGNMENT_BYTES = 4
_TRAILER = "TRAILER!!!"


class CpioFile(NamedTuple):
    """A regular file: path without a leading slash, permission bits, content."""

    path: str
    mode: int
    content: bytes


def pack_cpio(files: Iterable[CpioFile]) -> bytes:
    """Return an archive of ``files`` and the directories above them, owned by root, without times."""
    members: list[bytes] = []
    seen: set[str] = set()
    for file in sorted(files):
        for parent in reversed(PurePosixPath(file.path).parents[:-1]):
            if str(parent) not in seen:
                seen.add(str(parent))
                members.append(_member(str(parent), stat.S_IFDIR | 0o755, b"", len(members) + 1))
        members.append(_member(file.path, stat.S_IFREG | file.mode, file.content, len(members) + 1))
    members.append(_member(_TRAILER, 0, b"", 0))
    return b"".join(members)


def align_layer(layer: bytes) -> bytes:
    """Pad ``layer`` with zeros so that another archive may follow it."""
    return _pad(layer)


def _member(name: str, mode: int, content: bytes, inode: int) -> bytes:
    encoded = name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    fields = (inode, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
    header = b"070701" + b"".join(b"%08X" % value for value in fields)
    return _pad(header + encoded) + _pad(content)


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNMENT_BYTES)
