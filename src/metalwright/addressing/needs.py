"""Which node needs an address on which network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from metalwright.errors import AddressError
from metalwright.model.blueprint import Blueprint
from metalwright.model.network import Network
from metalwright.model.rack import Node, Rack

BMC_PURPOSE = "oob-management"
HOST_PURPOSE = "host-management"


@dataclass(frozen=True)
class Need:
    """One address that a node needs: on ``network``, of IP ``version``, possibly pinned by the rack file."""

    node: str
    rack: str
    network: Network
    version: int
    pin: str | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        """Node, network and version: one address each."""
        return self.node, self.network.name, self.version


def purposes_of(node: Node, blueprint: Blueprint) -> tuple[str, ...]:
    """The purposes of the networks that a node joins: its BMC's, its host's, and those of its blueprint."""
    attached = (purpose for attachment in blueprint.network for purpose in attachment.networks)
    return tuple(dict.fromkeys((BMC_PURPOSE, HOST_PURPOSE, *attached, *node.addresses)))


def needs_of(
    networks: Iterable[Network], racks: Iterable[Rack], blueprints: Mapping[str, Blueprint]
) -> tuple[Need, ...]:
    """All needs, sorted by rack and node name so that the order of the files does not count.

    A retired node needs none.

    Raises:
        AddressError: a node needs a purpose that no network has.
    """
    by_purpose = {network.purpose: network for network in networks}
    found: list[Need] = []
    for rack in sorted(racks, key=lambda item: item.name):
        for node in sorted(rack.nodes, key=lambda item: item.name):
            if node.state != "retired":
                found.extend(_of_node(node, rack, by_purpose, blueprints[node.blueprint]))
    return tuple(found)


def _of_node(node: Node, rack: Rack, by_purpose: Mapping[str, Network], blueprint: Blueprint) -> Iterator[Need]:
    for purpose in purposes_of(node, blueprint):
        network = by_purpose.get(purpose)
        if network is None:
            raise AddressError(
                f"no network has the purpose {purpose}",
                where=node.name,
                expected=f"one of {', '.join(sorted(by_purpose))}",
                hint="add the network to inventory/networks.yaml",
            )
        pin = node.addresses.get(purpose)
        pinned_version = 6 if pin is not None and ":" in pin else 4
        yield Need(node.name, rack.name, network, 4, pin if pinned_version == 4 else None)
        if network.prefix_v6 is not None:
            yield Need(node.name, rack.name, network, 6, pin if pinned_version == 6 else None)
        elif pinned_version == 6 and pin is not None:
            raise AddressError(
                f"{node.name} pins {pin}, but network {network.name} has no IPv6 prefix", where=node.name
            )
