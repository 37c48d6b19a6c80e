"""One lease, and what a whole file says once its later entries have replaced the earlier ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import netaddr

from metalwright.model.base import normal_mac

INFINITE_S = 0xFFFFFFFF
"""The lifetime that DHCP writes for *for ever*."""


@dataclass(frozen=True, slots=True)
class Lease:
    """An address that a DHCP server gave away. ``expires`` None: never. ``is_held`` false: given back or declined."""

    address: str
    mac: str | None = None
    hostname: str | None = None
    expires: datetime | None = None
    is_held: bool = True

    def is_valid_at(self, when: datetime) -> bool:
        """Whether the address still belongs to whoever got it."""
        return self.is_held and (self.expires is None or self.expires > when)


@dataclass(frozen=True)
class LeaseFile:
    """``entries`` in the order of the file; ``bad`` are lines that cannot be read, as ``line 7: why``."""

    kind: str
    entries: tuple[Lease, ...]
    bad: tuple[str, ...] = ()

    @property
    def leases(self) -> tuple[Lease, ...]:
        """The last entry of each address: lease files are journals, a later entry replaces an earlier one."""
        last: dict[str, Lease] = {}
        for entry in self.entries:
            last.pop(entry.address, None)
            last[entry.address] = entry
        return tuple(last.values())

    def valid_at(self, when: datetime) -> tuple[Lease, ...]:
        """The leases that hold at that moment."""
        return tuple(lease for lease in self.leases if lease.is_valid_at(when))

    def summary(self, when: datetime) -> str:
        """What was found, in words: ``Kea lease file: 5 leases, 3 to look at, 2 expired or given back``."""
        leases, valid = self.leases, self.valid_at(when)
        parts = [f"{self.kind}: {_count(len(leases), 'lease')}, {len(valid)} to look at"]
        gone, replaced = len(leases) - len(valid), len(self.entries) - len(leases)
        parts += [f"{gone} expired or given back"] if gone else []
        parts += [f"{_count(replaced, 'entry', 'entries')} replaced by later ones"] if replaced else []
        return ", ".join(parts)


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def address_of(text: str) -> str:
    """The address in normal form; ``ValueError`` for anything else."""
    try:
        return str(netaddr.IPAddress(text.strip(), flags=netaddr.INET_PTON))
    except (netaddr.AddrFormatError, ValueError) as error:
        raise ValueError(f"{text!r} is not an IP address") from error


def mac_of(text: str) -> str | None:
    """The MAC in normal form, ``None`` for what is none (InfiniBand, empty)."""
    try:
        return normal_mac(text)
    except ValueError:
        return None


def moment_of(seconds: int) -> datetime:
    """A time in seconds since 1970; ``ValueError`` when it is no date."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError) as error:
        raise ValueError(f"{seconds} is not a time in seconds since 1970") from error


def numbered(lines: Iterable[str]) -> list[tuple[int, str]]:
    """The lines that say something, with their numbers from 1; comments do not count."""
    found = [(number, line.strip()) for number, line in enumerate(lines, 1)]
    return [(number, line) for number, line in found if line and not line.startswith("#")]
