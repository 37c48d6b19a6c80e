"""What a DHCP server of the BMC network must know: fixed addresses for declared BMCs, a pool for unknown ones. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import netaddr

from metalwright.addressing.needs import BMC_PURPOSE
from metalwright.errors import AddressError
from metalwright.model.network import Network
from metalwright.model.rack import Node
from metalwright.model.repository import SiteRepository

LEASE_S = 3600
"""An hour: a BMC that was given another address stops using the old one soon."""


@dataclass(frozen=True)
class Reservation:
    """The BMC with this MAC gets this address, and no other."""

    node: str
    mac: str
    address: str
    hostname: str


@dataclass(frozen=True)
class DhcpNetwork:
    """One IPv4 network as a DHCP server serves it. ``pool`` is first and last address for BMCs of no node.

    ``notes`` say what is missing.
    """

    name: str
    prefix: str
    pool: tuple[str, str] | None
    gateway: str | None
    dns: tuple[str, ...]
    ntp: tuple[str, ...]
    domain: str
    reservations: tuple[Reservation, ...]
    notes: tuple[str, ...] = ()
    lease_s: int = LEASE_S

    @property
    def network(self) -> str:
        """The lowest address of the prefix."""
        return str(netaddr.IPNetwork(self.prefix).network)

    @property
    def netmask(self) -> str:
        """The mask of the prefix: ``255.255.252.0``."""
        return str(netaddr.IPNetwork(self.prefix).netmask)


def dhcp_network(repository: SiteRepository) -> DhcpNetwork:
    """The network of the BMCs for a DHCP server.

    A BMC that the inventory declares gets the address that ``addresses.lock`` gives to its node, so that a machine
    never has two of them. Options carry addresses only: names of time servers are left out.

    Raises:
        AddressError: the site has no oob-management network.
    """
    network = repository.network_of_purpose(BMC_PURPOSE)
    if network is None:
        raise AddressError(
            f"no network has the purpose {BMC_PURPOSE}",
            where="inventory/networks.yaml",
            hint="add the network that the BMCs are on",
        )
    wanted = (node for node in repository.nodes() if node.state != "retired")
    nodes = sorted(wanted, key=lambda node: node.name)  # the order of racks and of their lines says nothing
    held = {node.name: repository.addresses.of_node(node.name).get(network.name) for node in nodes}
    site = repository.site
    return DhcpNetwork(
        name=network.name,
        prefix=network.prefix,
        pool=network.dhcp_bounds(),
        gateway=network.gateway,
        dns=tuple(filter(is_v4, site.dns)),
        ntp=tuple(filter(is_v4, site.ntp)),
        domain=site.domain,
        reservations=tuple(
            Reservation(node.name, node.bmc_mac, address, f"{node.name}-bmc")
            for node in nodes
            if node.bmc_mac is not None and (address := held[node.name]) is not None
        ),
        notes=tuple(_notes(network, nodes, held)),
    )


def _notes(network: Network, nodes: list[Node], held: dict[str, str | None]) -> list[str]:
    notes = []
    if network.dhcp_pool is None:
        notes.append(f"{network.name} has no dhcp_pool: a BMC that no node declares gets no address")
    no_mac = [node.name for node in nodes if node.bmc_mac is None]
    if no_mac:
        notes.append(f"without bmc_mac, so without a fixed address: {', '.join(no_mac)}")
    no_address = [node.name for node in nodes if held[node.name] is None]
    if no_address:
        notes.append(f"not allocated yet (metalwright addresses allocate): {', '.join(no_address)}")
    return notes


def is_v4(text: str) -> bool:
    """Whether ``text`` is an IPv4 address: DHCP options carry addresses, not names."""
    return bool(netaddr.valid_ipv4(text, flags=netaddr.INET_PTON))
