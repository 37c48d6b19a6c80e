"""Directories in which an image is put together: it appears whole or not at all, and what a kill left is found.

The process that works in one holds a kernel lock on it; a dead one holds none.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from metalwright.errors import ImageError

ADDING, BUILDING, DELETING = ".adding-", ".building-", ".deleting-"
_YOUNG_S: Final = 60.0


@contextmanager
def scratch_directory(parent: Path, prefix: str, where: str) -> Iterator[Path]:
    """A directory below ``parent``, gone afterwards; a full disk becomes an :class:`ImageError`."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=parent, prefix=prefix) as name:
            descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                yield Path(name)
            finally:
                os.close(descriptor)
    except OSError as error:
        raise ImageError(
            "the image cannot be kept; nothing of it was", where=where, found=error.strerror or str(error),
            hint="`metalwright image gc` lists what can go" if error.errno == errno.ENOSPC else None,
        ) from error  # fmt: skip


def find_leftovers(root: Path) -> tuple[Path, ...]:
    """Directories that a killed process left in the catalogue ``root``; without those in use, or just made."""
    patterns = (f"{prefix}*" for prefix in (ADDING, BUILDING, DELETING))
    found = [path for pattern in patterns for path in (*root.glob(pattern), *root.glob(f"*/{pattern}"))]
    return tuple(sorted(path for path in found if path.is_dir() and _is_left(path)))


def remove_tree(path: Path) -> None:
    """Remove a directory that nothing refers to. Raises :class:`ImageError`."""
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise ImageError("the directory cannot be removed", where=str(path), found=error.strerror) from error


def sync(path: Path) -> None:
    """Make a file or directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_left(path: Path) -> bool:
    try:
        if not path.name.startswith(DELETING) and time.time() - path.stat().st_mtime < _YOUNG_S:
            return False
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
