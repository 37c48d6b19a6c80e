"""The addresses of a network that may be given away, and to whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import netaddr

from metalwright.model.network import Network


@dataclass(frozen=True)
class Range:
    """Integers ``first`` to ``last``, both included."""

    first: int
    last: int

    def __contains__(self, value: int) -> bool:
        return self.first <= value <= self.last


@dataclass(frozen=True)
class Pool:
    """Where an address may come from: ``within`` minus ``without``. ``name`` is for messages."""

    name: str
    version: Literal[4, 6]
    within: Range
    without: tuple[Range, ...]

    def candidates(self, start: int | None = None) -> Iterator[int]:
        """All addresses of the pool in order, from ``start`` on."""
        value = self.within.first if start is None else max(start, self.within.first)
        skips = sorted(self.without, key=lambda item: item.first)
        for skip in skips:
            yield from range(value, min(skip.first, self.within.last + 1))
            value = max(value, skip.last + 1)
        yield from range(value, self.within.last + 1)


def address_text(value: int, version: Literal[4, 6]) -> str:
    """The address of an integer."""
    return str(netaddr.IPAddress(value, version))


@lru_cache(maxsize=256)
def usable(network: Network, version: int) -> Range:
    """First to last host address of the prefix; all of them where the network is a pool.

    IPv4: without network and broadcast address, except in a /31 or /32, which have none. IPv6: without the lowest
    address, the routers' anycast; IPv6 has no broadcast.
    """
    prefix = netaddr.IPNetwork(prefix_of(network, version))
    first, last = int(prefix.first), int(prefix.last)
    if network.pool:
        return Range(first, last)
    if version == 6:
        return Range(first + 1 if last > first else first, last)
    return Range(first, last) if prefix.prefixlen >= 31 else Range(first + 1, last - 1)


def prefix_of(network: Network, version: int) -> str:
    """The prefix of that IP version; the caller knows that there is one."""
    return network.prefix if version == 4 else network.prefix_v6 or ""


@lru_cache(maxsize=256)
def withheld(network: Network, version: int) -> tuple[Range, ...]:
    """What is never given to a node: the gateway, the reserved ranges, and what DHCP gives to unknown machines."""
    gateway = network.gateway if version == 4 else network.gateway_v6
    ranges = [] if gateway is None else [_single(gateway)]
    if version == 4:
        ranges += [Range(int(low), int(high)) for low, high in network.reserved_ranges()]
        ranges += dhcp_range(network)
    return tuple(ranges)


def dhcp_range(network: Network) -> list[Range]:
    """The range of ``dhcp_pool``, if there is one."""
    bounds = network.dhcp_bounds()
    return [] if bounds is None else [Range(*(int(netaddr.IPAddress(address)) for address in bounds))]


def pool_of(network: Network, rack: str, version: int) -> Pool:
    """The pool of a rack: its slice of the prefix, or what no rack's slice takes.

    First and last address of a slice are left out as in a prefix, so that a slice can become a network of its own.
    """
    hosts = usable(network, version)
    if version == 6:
        return Pool(f"{network.name} ({network.prefix_v6})", 6, hosts, withheld(network, 6))
    slices = {part.rack: _prefix_range(part.prefix) for part in network.per_rack}
    own = slices.get(rack)
    if own is not None:
        text = next(part.prefix for part in network.per_rack if part.rack == rack)
        margin = 1 if own.last - own.first > 1 else 0
        within = Range(max(own.first + margin, hosts.first), min(own.last - margin, hosts.last))
        return Pool(f"{network.name}, slice {text} of rack {rack}", 4, within, withheld(network, 4))
    return Pool(f"{network.name} ({network.prefix})", 4, hosts, (*withheld(network, 4), *slices.values()))


def _single(address: str) -> Range:
    value = int(netaddr.IPAddress(address))
    return Range(value, value)


def _prefix_range(prefix: str) -> Range:
    network = netaddr.IPNetwork(prefix)
    return Range(int(network.first), int(network.last))
