"""Direct access to block devices: past the page cache, so that a read-back really comes from the disk."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path
from typing import Final

ALIGNMENT_BYTES: Final = 4096


def is_block_device(path: str) -> bool:
    """Whether ``path`` is a block device (a file-backed disk is not)."""
    return stat.S_ISBLK(Path(path).stat().st_mode)


def open_direct(path: str, flags: int) -> int:
    """Open a disk; a block device without the page cache. Then offsets, lengths and buffers must be aligned."""
    return os.open(path, flags | (os.O_DIRECT if is_block_device(path) else 0))


def aligned_buffer(size_bytes: int) -> memoryview:
    """Return a zeroed, page-aligned buffer."""
    return memoryview(mmap.mmap(-1, size_bytes))


def align_up(size_bytes: int) -> int:
    """Return ``size_bytes`` rounded up to what direct access takes."""
    return -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
