"""What a DHCP server of the network that nodes boot from must know. Pure.

Only nodes that may boot now are in it: every other machine gets no answer, and so starts from its disk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import netaddr

from metalwright.addressing.dhcp import Reservation, is_v4
from metalwright.errors import AddressError
from metalwright.model.network import Network
from metalwright.model.rack import Node
from metalwright.model.repository import SiteRepository

LEASE_S = 600
"""Ten minutes: firmware and ramdisk need the address for no longer, and the written system has its own."""


@dataclass(frozen=True)
class BootNetwork:
    """The network that nodes boot from. ``pxe``: names of programs are given, not addresses alone.

    ``boot_server`` is the boot server's plain HTTP side as nodes reach it, ``tftp_server`` its address.
    """

    name: str
    prefix: str
    gateway: str | None
    dns: tuple[str, ...]
    domain: str
    reservations: tuple[Reservation, ...]
    pxe: bool
    boot_server: str
    tftp_server: str
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


def boot_network(repository: SiteRepository, nodes: Collection[str]) -> BootNetwork:
    """The network that ``nodes`` boot from, with an address for the first port of each that its ramdisk uses.

    Raises:
        AddressError: the site has no network of that purpose, or a name is no node.
    """
    settings = repository.site.network_boot
    network = repository.network_of_purpose(settings.purpose)
    if network is None:
        raise AddressError(
            f"no network has the purpose {settings.purpose}",
            where="inventory/networks.yaml",
            hint="site.yaml network_boot.purpose names the network that nodes boot from",
        )
    found = [(node, _reservation(repository, node, network)) for node in _named(repository, nodes)]
    server = repository.site.boot_server
    return BootNetwork(
        name=network.name,
        prefix=network.prefix,
        gateway=network.gateway,
        dns=tuple(filter(is_v4, repository.site.dns)),
        domain=repository.site.domain,
        reservations=tuple(item for _, item in found if isinstance(item, Reservation)),
        pxe=settings.pxe,
        boot_server=f"http://{server.address_for_node}:{server.http_port}",
        tftp_server=server.address_for_node,
        notes=tuple(f"{node.name}: {item}" for node, item in found if isinstance(item, str)),
    )


def _named(repository: SiteRepository, nodes: Collection[str]) -> Iterator[Node]:
    yield from (repository.node(name) for name in sorted(nodes))


def _reservation(repository: SiteRepository, node: Node, network: Network) -> Reservation | str:
    """Return the reservation of a node, or why there is none."""
    attachments = repository.blueprint_of(node.name).network
    first = attachments[0] if attachments else None
    if first is None or first.networks[0] != network.purpose:
        return f"its first network is not {network.purpose}"
    mac = next((port.mac for port in node.ports if port.role == first.role), None)
    if mac is None:
        return f"no port of role {first.role} has a MAC in the rack file"
    address = repository.addresses.of_node(node.name).get(network.name)
    if address is None:
        return "not allocated yet (metalwright addresses allocate)"
    return Reservation(node.name, mac, address, node.name)
