"""``addresses.lock`` brought up to date on disk, by one process at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from metalwright.addressing import allocate
from metalwright.errors import LoadingError
from metalwright.loading import SitePaths, load_site, render_addresses, write_addresses
from metalwright.model.addresses import AddressLock, Allocation
from metalwright.model.repository import SiteRepository


@dataclass(frozen=True)
class Reallocation:
    """The lock before and after, and the notes of the allocator."""

    before: AddressLock
    after: AddressLock
    notes: tuple[str, ...]

    @property
    def has_changed(self) -> bool:
        """Whether the file needs another text."""
        return render_addresses(self.before) != render_addresses(self.after)

    @property
    def lines(self) -> tuple[str, ...]:
        """The changes as ``+ record`` and ``- record``."""
        old, new = set(self.before.allocations), set(self.after.allocations)
        gone = [("-", item) for item in self.before.allocations if item not in new]
        come = [("+", item) for item in self.after.allocations if item not in old]
        return tuple(f"{sign} {_record(item)}" for sign, item in (*gone, *come))


def _record(item: Allocation) -> str:
    freed = f" freed={item.freed}" if item.freed is not None else ""
    return f"{item.address} {item.network} {item.node}{freed}"


def reallocate(repository: SiteRepository, today: date) -> Reallocation:
    """What allocating would do; pure.

    Raises:
        AddressError: no room, a pin that cannot be given, a recorded address that cannot be kept.
    """
    allocated = allocate(repository.networks, repository.racks, repository.blueprints, repository.addresses, today)
    return Reallocation(repository.addresses, allocated.lock, allocated.notes)


def allocate_addresses(root: Path, today: date, on_wait: Callable[[], None] | None = None) -> Reallocation:
    """Bring ``inventory/addresses.lock`` of a site repository up to date; writes only when something differs.

    The site is read again under the file lock, so two processes at once give the same result as one after the other.
    ``on_wait`` is called once when another process holds the lock.

    Raises:
        LoadingError, InvalidFilesError: the site is not valid, or the file cannot be written.
        AddressError: as ``reallocate``.
    """
    paths = SitePaths(root)
    with _exclusive(paths.state / "locks" / "addresses", on_wait):
        result = reallocate(load_site(root), today)
        if result.has_changed or not paths.addresses.exists():
            write_addresses(paths.addresses, result.after)
    return result


@contextmanager
def _exclusive(path: Path, on_wait: Callable[[], None] | None) -> Iterator[None]:
    """Held by an open file, so a process that dies lets go of it."""
    try:
        path.parent.parent.mkdir(exist_ok=True, mode=0o700)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise LoadingError("cannot make the lock", where=str(path), found=error.strerror) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if on_wait is not None:
                on_wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
