"""Erasing the disks that a grant names, and proving it: marks that were readable before are not readable any more.

Before a disk is erased, marks are written all over it and read back. After it, none of them may be readable, and where
the method leaves zeros every byte that is looked at must be zero: all of a disk up to 64 GiB, else windows at both ends
and all over it. What cannot be proven has failed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from metalwright.imaging.agent.console import say
from metalwright.imaging.agent.direct import aligned_buffer, open_direct
from metalwright.imaging.agent.erase import OVERWRITING, Beat, EraseMethod
from metalwright.imaging.agent.failures import AgentError, told_by_disk
from metalwright.imaging.agent.fetch import Report
from metalwright.imaging.agent.records import Disk, Json

_BLOCK: Final = 4096
_STEP: Final = 4 << 20
_MARKS: Final = 64
_WINDOW: Final = 64 << 20
_WHOLE_UP_TO: Final = 64 << 30
_BEAT_S: Final = 15.0
Methods = Callable[[Disk], Sequence[EraseMethod]]


class Wiped(NamedTuple):
    """One erased disk. ``looked_at_bytes`` were read afterwards; ``proof`` says what was seen there."""

    serial: str
    model: str | None
    size_bytes: int
    method: str
    proof: str
    looked_at_bytes: int
    seconds: float

    def to_json(self) -> Json:
        """Return the protocol's ``WipedDisk``."""
        return self._asdict()


def disks_to_wipe(disks: Sequence[Disk], serials: Sequence[str]) -> tuple[Disk, ...]:
    """Return the disks that ``serials`` name, which must be all fixed disks of the machine, each once.

    Raises :class:`AgentError`: a disk that nobody named would keep its data, and a named one that is not there may
    carry data out of the machine.
    """
    fixed = [disk for disk in disks if not disk.removable and disk.size_bytes]
    if sorted(disk.serial or "" for disk in fixed) == sorted(serials) and not any(d.read_only for d in fixed):
        return tuple(fixed)
    raise AgentError(
        "wipe",
        "the disks of this machine are not those that are to be erased",
        expected=f"exactly the disks {', '.join(sorted(serials))}, none of them read-only",
        found="\n".join(disk.describe() for disk in fixed) or "no disk",
    )


class Wiping:
    """Erases disks side by side. ``report`` hears of it as bytes done of bytes to do."""

    def __init__(self, methods: Methods, report: Report) -> None:
        self._methods = methods
        self._report = report
        self._lock = threading.Lock()
        self._done_bytes = 0
        self._total_bytes = 1

    def run(self, disks: Sequence[Disk]) -> tuple[Wiped, ...]:
        """Erase all of them and return what was proven.

        Raises :class:`AgentError`, which names every disk that failed.
        """
        self._total_bytes = 2 * sum(disk.size_bytes for disk in disks)
        with ThreadPoolExecutor(max_workers=max(1, len(disks))) as pool:
            found = list(pool.map(self._attempt, disks))
        failed = [item for item in found if isinstance(item, AgentError)]
        if failed:
            raise AgentError(
                "wipe",
                f"{len(failed)} of {len(disks)} disks could not be erased, or not be proven erased",
                expected="; ".join(dict.fromkeys(error.expected for error in failed if error.expected)) or None,
                found="\n".join(f"{error.what}: {error.found}" for error in failed),
                wrote=True,
            )
        return tuple(item for item in found if isinstance(item, Wiped))

    def _attempt(self, disk: Disk) -> Wiped | AgentError:
        started = time.monotonic()
        try:
            method, looked_at, proof = self._wipe(disk)
        except AgentError as error:
            return error
        except OSError as error:
            return AgentError("wipe", f"{disk.path} (serial {disk.serial})", found=told_by_disk(error), wrote=True)
        seconds = round(time.monotonic() - started, 1)
        say(f"erased: {disk.path} serial {disk.serial}: {method}; {proof}")
        return Wiped(disk.serial or "", disk.model, disk.size_bytes, method, proof, looked_at, seconds)

    def _wipe(self, disk: Disk) -> tuple[str, int, str]:
        mark = secrets.token_bytes(32) * (_BLOCK // 32)
        places = _places(disk.size_bytes)
        _write_marks(disk, mark, places)
        method = self._erase(disk)
        looked_at = self._prove(disk, method, mark, places)
        whole = "the whole disk" if looked_at >= disk.size_bytes else f"{looked_at >> 20} MiB all over the disk"
        seen = f"{whole} reads as zeros" if method.leaves_zeros else f"no mark is readable in {whole}"
        return method.name, looked_at, f"{len(places)} marks were readable before; {seen}"

    def _erase(self, disk: Disk) -> EraseMethod:
        """Erase by the best method that works; one that the drive refuses is said and the next one is tried."""
        for method in self._methods(disk):
            say(f"erasing {disk.path} serial {disk.serial}: {method.name}")
            if method.run is None:
                self._overwrite(disk)
                return method
            try:
                with self._beating() as beat:
                    method.run(beat)
            except AgentError as error:
                say(f"{disk.path}: {error.what}: {error.found}")
                continue
            self._advance(disk.size_bytes)
            return method
        self._overwrite(disk)
        return OVERWRITING

    def _overwrite(self, disk: Disk) -> None:
        zeros = aligned_buffer(_STEP)
        fd = open_direct(disk.path, os.O_WRONLY | os.O_EXCL)
        try:
            position = 0
            while position < disk.size_bytes:
                count = os.pwrite(fd, zeros[: min(_STEP, disk.size_bytes - position)], position)
                position += count
                self._advance(count)
            os.fsync(fd)
        finally:
            os.close(fd)

    def _prove(self, disk: Disk, method: EraseMethod, mark: bytes, places: Sequence[int]) -> int:
        """Read back and return how many bytes were looked at."""
        buffer, looked_at = aligned_buffer(_STEP), 0
        fd = open_direct(disk.path, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            for start, end in _windows(disk.size_bytes, places):
                while start < end:
                    view = buffer[: min(_STEP, end - start)]
                    count = os.preadv(fd, [view], start)
                    if count == 0:
                        raise _unproven(disk, method, f"the disk ends at byte {start}")
                    _look(disk, method, bytes(view[:count]), start, mark)
                    start, looked_at = start + count, looked_at + count
                    self._advance(count)
        finally:
            os.close(fd)
        return looked_at

    @contextlib.contextmanager
    def _beating(self) -> Iterator[Beat]:
        """Say that it goes on while a drive works by itself: the number moves by one byte a beat."""
        is_over = threading.Event()

        def beats() -> None:
            while not is_over.wait(_BEAT_S):
                self._advance(1)

        keeper = threading.Thread(target=beats, daemon=True)
        keeper.start()
        try:
            yield lambda: self._advance(1)
        finally:
            is_over.set()
            keeper.join()

    def _advance(self, count: int) -> None:
        with self._lock:
            self._done_bytes += count
            self._report(min(self._done_bytes, self._total_bytes), self._total_bytes)


def _places(size_bytes: int) -> list[int]:
    """Where marks go: both ends and all over the disk, each on its own block."""
    blocks = size_bytes // _BLOCK
    return sorted({number * (blocks - 1) // (_MARKS - 1) * _BLOCK for number in range(_MARKS)}) if blocks > 1 else [0]


def _write_marks(disk: Disk, mark: bytes, places: Sequence[int]) -> None:
    buffer = aligned_buffer(_BLOCK)
    buffer[:] = mark
    fd = open_direct(disk.path, os.O_RDWR | os.O_EXCL)
    try:
        for place in places:
            os.pwrite(fd, buffer, place)
        os.fsync(fd)
        for place in places:
            os.preadv(fd, [buffer], place)
            if bytes(buffer) != mark:
                what = f"{disk.path} (serial {disk.serial}) does not give back what was written"
                raise AgentError("wipe", what, found=f"another content at byte {place}", wrote=True)
    finally:
        os.close(fd)


def _windows(size_bytes: int, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """What is read back: the whole of a disk that is not too large, else both ends and a window at each mark."""
    if size_bytes <= _WHOLE_UP_TO:
        yield 0, size_bytes
        return
    for place in places:
        start = min(place, size_bytes - _WINDOW)
        yield start - start % _BLOCK, min(size_bytes, start + _WINDOW)


def _look(disk: Disk, method: EraseMethod, data: bytes, position: int, mark: bytes) -> None:
    if method.leaves_zeros and any(data):
        raise _unproven(disk, method, f"something else than zeros after byte {position}")
    if mark[:32] in data:
        raise _unproven(disk, method, f"a mark is still readable after byte {position}")


def _unproven(disk: Disk, method: EraseMethod, found: str) -> AgentError:
    what = f"{disk.path} (serial {disk.serial}) is not erased by {method.name}"
    expected = "a disk on which nothing of before can be read"
    return AgentError("wipe", what, expected=expected, found=found, wrote=True)
