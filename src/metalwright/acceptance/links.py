"""Which address belongs on which port of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import netaddr

from metalwright.model.base import Frozen
from metalwright.model.blueprint import Blueprint
from metalwright.model.network import Network, Route
from metalwright.model.rack import Node

NONE: Mapping[str, str] = MappingProxyType({})


class Link(Frozen):
    """One network on one role: ``address`` with its prefix length, ``macs`` of the ports that may carry it.

    ``vlan`` is set when the network is tagged on those ports, ``address_v6`` when the network has IPv6 addresses.
    ``routes`` are those that the network brings.
    """

    network: str
    role: str
    address: str
    macs: tuple[str, ...] = ()
    vlan: int | None = None
    mtu: int | None = None
    address_v6: str | None = None
    routes: tuple[Route, ...] = ()


def links(
    blueprint: Blueprint,
    node: Node,
    networks: Sequence[Network],
    allocations: Mapping[str, str],
    allocations_v6: Mapping[str, str] = NONE,
) -> tuple[Link, ...]:
    """The addresses that the node's operating system must have, from the allocations (network name → address)."""
    found = []
    for attachment in blueprint.network:
        macs = tuple(port.mac for port in node.ports if port.role == attachment.role)
        for position, purpose in enumerate(attachment.networks):
            for network in networks:
                if network.purpose == purpose and network.name in allocations:
                    port = macs[position : position + 1] if attachment.rails else macs
                    length = netaddr.IPNetwork(network.prefix).prefixlen
                    found.append(
                        Link(
                            network=network.name,
                            role=attachment.role,
                            address=f"{allocations[network.name]}/{length}",
                            macs=port,
                            vlan=network.vlan if position and not attachment.rails else None,
                            mtu=attachment.mtu or network.mtu,
                            address_v6=_address_v6(network, allocations_v6),
                            routes=network.routes,
                        )
                    )
    return tuple(found)


def _address_v6(network: Network, allocations: Mapping[str, str]) -> str | None:
    if network.prefix_v6 is None or network.name not in allocations:
        return None
    return f"{allocations[network.name]}/{netaddr.IPNetwork(network.prefix_v6).prefixlen}"
