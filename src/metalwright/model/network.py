"""Networks: purpose, VLAN, prefixes, and what is kept out of the allocator's hands."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import netaddr
from pydantic import Field, model_validator

from metalwright.model.base import Address, Frozen, Prefix, Slug, Text, Vlan
from metalwright.model.purpose import NetworkPurpose

ALLOCATOR_KEYS = ("dhcp_pool", "reserved", "per_rack", "pool")
"""Keys of a network that say which addresses may be given: a node notices the address alone."""


class RackSlice(Frozen):
    """The part of a prefix that one rack's nodes get addresses from."""

    rack: Slug
    prefix: Prefix


class Route(Frozen):
    """Where nodes send packets to ``to``: to the router ``via``, an address inside the network."""

    to: Prefix
    via: Address


class Network(Frozen):
    """One VLAN with its prefixes. ``reserved`` are addresses or ``first-last`` ranges inside the prefix.

    ``dhcp_pool`` is a range ``first-last`` that a DHCP server gives to machines that no node declares yet.
    ``pool``: routed addresses rather than a subnet, so that the first and the last address may be given, too.
    """

    name: Slug
    purpose: NetworkPurpose
    vlan: Vlan | None = None
    prefix: Prefix
    prefix_v6: Prefix | None = None
    gateway: Address | None = None
    gateway_v6: Address | None = None
    reserved: tuple[Text, ...] = ()
    dhcp_pool: Text | None = None
    per_rack: tuple[RackSlice, ...] = ()
    pool: bool = False
    mtu: int | None = Field(default=None, ge=1280, le=9216)
    routes: tuple[Route, ...] = ()

    @cached_property
    def seen_by_nodes(self) -> dict[str, Any]:
        """The network without what only the allocator or a DHCP server goes by: no node notices that."""
        return {key: value for key, value in self.to_json().items() if key not in ALLOCATOR_KEYS}

    @model_validator(mode="after")
    def _inside_the_prefix(self) -> Network:
        network = netaddr.IPNetwork(self.prefix)
        if self.gateway is not None and netaddr.IPAddress(self.gateway) not in network:
            raise ValueError(f"gateway {self.gateway} is outside {self.prefix}")
        if network.version != 4:
            raise ValueError(f"prefix is IPv4; write {self.prefix} as prefix_v6")
        self._check_v6()
        for item in self.reserved:
            if any(address not in network for address in self._bounds(item)):
                raise ValueError(f"reserved {item} is outside {self.prefix}")
        self._check_dhcp_pool(network)
        self._check_routes()
        for part in self.per_rack:
            if netaddr.IPNetwork(part.prefix) not in network:
                raise ValueError(f"per_rack {part.rack}: {part.prefix} is outside {self.prefix}")
        return self

    def _check_v6(self) -> None:
        if self.prefix_v6 is None:
            if self.gateway_v6 is not None:
                raise ValueError("gateway_v6 needs prefix_v6")
            return
        network = netaddr.IPNetwork(self.prefix_v6)
        if network.version != 6:
            raise ValueError(f"prefix_v6 {self.prefix_v6} is not IPv6")
        if self.gateway_v6 is not None and netaddr.IPAddress(self.gateway_v6) not in network:
            raise ValueError(f"gateway_v6 {self.gateway_v6} is outside {self.prefix_v6}")

    def _check_routes(self) -> None:
        own = [netaddr.IPNetwork(prefix) for prefix in (self.prefix, self.prefix_v6) if prefix]
        for route in self.routes:
            via = netaddr.IPAddress(route.via)
            if not any(via in prefix for prefix in own):
                raise ValueError(f"route to {route.to}: the router {route.via} is outside {self.prefix}")
            if via.version != netaddr.IPNetwork(route.to).version:
                raise ValueError(f"route to {route.to}: the router {route.via} is of the other IP version")

    def _check_dhcp_pool(self, network: netaddr.IPNetwork) -> None:
        if self.dhcp_pool is None:
            return
        low, high = self._bounds(self.dhcp_pool)
        if low not in network or high not in network:
            raise ValueError(f"dhcp_pool {self.dhcp_pool} is outside {self.prefix}")
        if self.gateway is not None and low <= netaddr.IPAddress(self.gateway) <= high:
            raise ValueError(f"dhcp_pool {self.dhcp_pool} holds the gateway {self.gateway}")

    @staticmethod
    def _bounds(item: str) -> tuple[netaddr.IPAddress, netaddr.IPAddress]:
        first, _, last = item.partition("-")
        try:
            low, high = netaddr.IPAddress(first.strip()), netaddr.IPAddress((last or first).strip())
        except (netaddr.AddrFormatError, ValueError) as error:
            raise ValueError(f"{item!r} is not an address or a range first-last") from error
        if low > high:
            raise ValueError(f"{item!r} runs backwards")
        return low, high

    def reserved_ranges(self) -> tuple[tuple[netaddr.IPAddress, netaddr.IPAddress], ...]:
        """The reserved ranges as pairs of first and last address."""
        return tuple(self._bounds(item) for item in self.reserved)

    def dhcp_bounds(self) -> tuple[str, str] | None:
        """First and last address of ``dhcp_pool``."""
        if self.dhcp_pool is None:
            return None
        low, high = self._bounds(self.dhcp_pool)
        return str(low), str(high)


class Networks(Frozen):
    """``inventory/networks.yaml``."""

    schema_version: Literal[1] = Field(alias="schema")
    networks: tuple[Network, ...] = Field(min_length=1)
