"""``addresses.lock`` brought up to date on disk, by one process at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from metalwright.addressing import allocate
from metalwright.allocations.probe import Look, Probe
from metalwright.errors import AddressError
from metalwright.loading import SitePaths, load_site, render_addresses, write_addresses
from metalwright.loading.file_lock import exclusive
from metalwright.model.addresses import AddressLock, Allocation
from metalwright.model.repository import SiteRepository

MAX_LOOKS = 16
"""Each look finds at least one more address in use; a range full of strangers is for a person to sort out."""

MAX_SHOWN = 10


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


def reallocate(repository: SiteRepository, today: date, look: Look | None = None) -> Reallocation:
    """What allocating would do. With ``look``, addresses that answer are left out; without it, this is pure.

    Raises:
        AddressError: no room, a pin that cannot be given, a recorded address that cannot be kept, or too many
            addresses that answer.
    """
    before = repository.addresses
    answering: frozenset[str] = frozenset()
    asked: set[str] = set()
    notes: list[str] = []
    for _ in range(MAX_LOOKS):
        allocated = allocate(
            repository.networks, repository.racks, repository.blueprints, before, today, answering=answering
        )
        fresh = _fresh(before, allocated.lock) - asked
        probe = look(fresh) if look is not None and fresh else Probe()
        asked |= fresh
        if probe.unreachable:
            notes.append(f"not asked, since there is no way there from this machine: {_listed(probe.unreachable)}")
        if not probe.answering:
            return Reallocation(before, allocated.lock, (*notes, *allocated.notes))
        answering |= probe.answering
    raise AddressError(
        f"{len(answering)} addresses in a row answer although no node has them",
        where="inventory/networks.yaml",
        found=_listed(answering),
        hint="find out who uses them, and put their range into reserved",
    )


def _fresh(before: AddressLock, after: AddressLock) -> set[str]:
    """The addresses that would be given away now."""
    old = {(item.address, item.node) for item in before.allocations if item.freed is None}
    new = {(item.address, item.node) for item in after.allocations if item.freed is None}
    return {address for address, _ in new - old}


def _listed(addresses: Collection[str]) -> str:
    shown = sorted(addresses)[:MAX_SHOWN]
    return ", ".join(shown) + (f" and {len(addresses) - MAX_SHOWN} more" if len(addresses) > MAX_SHOWN else "")


def allocate_addresses(
    root: Path, today: date, on_wait: Callable[[], None] | None = None, look: Look | None = None
) -> Reallocation:
    """Bring ``inventory/addresses.lock`` of a site repository up to date; writes only when something differs.

    The site is read again under the file lock, so two processes at once give the same result as one after the other.
    ``on_wait`` is called once when another process holds the lock.

    Raises:
        LoadingError, InvalidFilesError: the site is not valid, or the file cannot be written.
        AddressError: as ``reallocate``.
    """
    paths = SitePaths(root)
    with exclusive(paths.state / "locks" / "addresses", on_wait):
        result = reallocate(load_site(root), today, look)
        if result.has_changed or not paths.addresses.exists():
            write_addresses(paths.addresses, result.after)
    return result
