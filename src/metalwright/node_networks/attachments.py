"""Which devices a node has for its networks, with their addresses and routes: the same for every renderer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import netaddr

from metalwright.errors import ImageError
from metalwright.model.blueprint import NetworkAttachment
from metalwright.model.network import Network
from metalwright.model.rack import Node
from metalwright.model.repository import SiteRepository

FIRST_NUMBER = 10
"""Files of the first attachment begin with it, those of the next with the next number."""


@dataclass(frozen=True)
class Addressing:
    """Addresses with their prefix lengths, default gateways, routes (``to``, ``via``), and name servers of a device."""

    addresses: tuple[str, ...]
    gateways: tuple[str, ...] = ()
    routes: tuple[tuple[str, str], ...] = ()
    dns: tuple[str, ...] = ()
    domain: str | None = None

    def values(self) -> dict[str, Any]:
        """For a template, as plain JSON."""
        return {
            "addresses": list(self.addresses),
            "gateways": list(self.gateways),
            "routes": [{"to": to, "via": via} for to, via in self.routes],
            "dns": list(self.dns),
            "domain": self.domain,
        }


@dataclass(frozen=True)
class VlanDevice:
    """A tagged network on an attachment: ``device`` ``vlan120`` for VLAN 120."""

    device: str
    vlan: int | None
    mtu: int | None
    addressing: Addressing


@dataclass(frozen=True)
class Attachment:
    """The untagged network of a port, or of the bond over several, and the VLANs on it.

    ``name`` is the port role, with the port's number where every port is a rail of its own. Without ``macs`` any
    Ethernet port is meant. ``bond`` is the name of its device, ``mode`` the bond's mode.
    """

    number: int
    name: str
    macs: tuple[str, ...]
    mtu: int | None
    addressing: Addressing
    bond: str | None = None
    mode: str | None = None
    vlans: tuple[VlanDevice, ...] = ()


def attachments(repository: SiteRepository, node_name: str) -> Iterator[Attachment]:
    """Of one node, in the order of its blueprint. The first network of the blueprint has the default route.

    Raises:
        ImageError: the node has no address on a network that it needs, or the site has no such network.
    """
    node = repository.node(node_name)
    for index, attachment in enumerate(repository.blueprint_of(node_name).network):
        macs = tuple(port.mac for port in node.ports if port.role == attachment.role)
        networks = [_network(repository, purpose, node) for purpose in attachment.networks]
        number = FIRST_NUMBER + index
        if attachment.rails:
            for rail, network in enumerate(networks):
                yield Attachment(
                    number, f"{attachment.role}-{rail}", macs[rail : rail + 1], attachment.mtu or network.mtu,
                    _addressing(repository, node, network, is_first=index == rail == 0),
                )  # fmt: skip
            continue
        native, *tagged = networks
        yield Attachment(
            number, attachment.role, macs, _port_mtu(attachment, native, tagged),
            _addressing(repository, node, native, is_first=index == 0),
            bond=f"bond-{attachment.role}" if attachment.bond else None,
            mode=attachment.bond,
            vlans=tuple(_vlan(repository, node, attachment, network) for network in tagged),
        )  # fmt: skip


def node_address(repository: SiteRepository, node_name: str, purpose: str) -> str:
    """The node's IPv4 address with prefix length on the network of that purpose.

    Raises:
        ImageError: no such network, or no address allocated.
    """
    network = repository.network_of_purpose(purpose)
    address = repository.addresses.of_node(node_name).get(network.name) if network else None
    if network is None or address is None:
        raise ImageError(
            f"no address on a {purpose} network",
            where=node_name,
            hint="run `metalwright addresses allocate` and commit inventory/addresses.lock",
        )
    return f"{address}/{netaddr.IPNetwork(network.prefix).prefixlen}"


def _port_mtu(attachment: NetworkAttachment, native: Network, tagged: list[Network]) -> int | None:
    """A port takes at least what its VLANs take."""
    largest = max((network.mtu for network in tagged if network.mtu is not None), default=None)
    return attachment.mtu or native.mtu or largest


def _vlan(repository: SiteRepository, node: Node, attachment: NetworkAttachment, network: Network) -> VlanDevice:
    addressing = _addressing(repository, node, network)
    return VlanDevice(f"vlan{network.vlan}", network.vlan, attachment.mtu or network.mtu, addressing)


def _addressing(repository: SiteRepository, node: Node, network: Network, *, is_first: bool = False) -> Addressing:
    addresses = [node_address(repository, node.name, network.purpose)]
    address_v6 = repository.addresses.of_node_v6(node.name).get(network.name)
    if network.prefix_v6 is not None and address_v6 is not None:
        addresses.append(f"{address_v6}/{netaddr.IPNetwork(network.prefix_v6).prefixlen}")
    routes = tuple((route.to, route.via) for route in network.routes)
    if not is_first:
        return Addressing(tuple(addresses), routes=routes)
    gateways = tuple(gateway for gateway in (network.gateway, network.gateway_v6) if gateway is not None)
    site = repository.site
    return Addressing(tuple(addresses), gateways, routes, tuple(site.dns), site.domain)


def _network(repository: SiteRepository, purpose: str, node: Node) -> Network:
    network = repository.network_of_purpose(purpose)
    if network is None:
        raise ImageError(
            f"the blueprint joins a {purpose} network and the site has none",
            where=node.name,
            hint="add it to inventory/networks.yaml",
        )
    return network
