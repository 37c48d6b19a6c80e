"""A whole site repository as values: everything that people wrote, cross-referenced."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cached_property

from pydantic import Field

from metalwright.errors import UsageError
from metalwright.model.addresses import AddressLock, KnownGoodLock
from metalwright.model.base import Frozen
from metalwright.model.blueprint import Blueprint
from metalwright.model.firmware import FirmwareRelease
from metalwright.model.network import Network
from metalwright.model.policies import Policies
from metalwright.model.rack import Equipment, Node, Rack, Racked
from metalwright.model.site import Site


class SiteRepository(Frozen):
    """Desired state of one site. ``blueprints`` is keyed by ``name@version``."""

    site: Site
    networks: tuple[Network, ...]
    racks: tuple[Rack, ...]
    blueprints: dict[str, Blueprint]
    firmware: tuple[FirmwareRelease, ...] = ()
    addresses: AddressLock = AddressLock()
    known_good: KnownGoodLock = KnownGoodLock()
    policies: Policies | None = None
    tree_digest: str = Field(description="digest of deploys, templates and group_data")
    brought_to: dict[str, Blueprint] = Field(default_factory=dict)
    """Nodes that this run brings to something else than their rack files pin."""

    def nodes(self) -> tuple[Node, ...]:
        """All nodes of all racks, in rack and file order."""
        return tuple(node for rack in self.racks for node in rack.nodes)

    def equipment(self) -> tuple[Equipment, ...]:
        """Every BMC without a host, in rack and file order."""
        return tuple(item for rack in self.racks for item in rack.equipment)

    def racked(self) -> tuple[Racked, ...]:
        """Everything that has a BMC: all nodes, then all equipment."""
        return (*self.nodes(), *self.equipment())

    def racked_as(self, name: str) -> Racked:
        """The node or the equipment of that name.

        Raises:
            UsageError: neither.
        """
        found = next((item for item in self.equipment() if item.name == name), None)
        return found if found is not None and name not in self._nodes_by_name else self.node(name)

    @cached_property
    def _nodes_by_name(self) -> dict[str, tuple[Rack, Node]]:
        """Name → rack and node; a fleet is asked ten thousand times."""
        return {node.name: (rack, node) for rack in self.racks for node in rack.nodes}

    def node(self, name: str) -> Node:
        """The node of that name.

        Raises:
            UsageError: no such node; the hint names the nearest ones.
        """
        if name in self._nodes_by_name:
            return self._nodes_by_name[name][1]
        equipment = next((item for item in self.equipment() if item.name == name), None)
        if equipment is not None:
            raise UsageError(
                "this is equipment and no node: its BMC has no host",
                where=name,
                found=equipment.kind,
                hint=f"pyinfra inventory/bmcs.py deploys/credentials.py --limit {name} sets its login",
            )
        names = [node.name for node in self.nodes()]
        near = get_close_matches(name, names, n=3)
        raise UsageError(
            "no such node in the inventory",
            where=name.rpartition("@")[2],  # a URL may hold a login
            hint=f"did you mean {', '.join(near)}?" if near else f"known nodes: {', '.join(names) or 'none'}",
        )

    def rack_of(self, name: str) -> Rack:
        """The rack that holds the node."""
        self.node(name)
        return self._nodes_by_name[name][0]

    def blueprint_of(self, name: str) -> Blueprint:
        """The blueprint that the node is pinned to, or the one that this run brings it to."""
        pinned = self.node(name).blueprint
        return self.brought_to.get(name) or self.blueprints[pinned]

    def with_blueprint(self, name: str, blueprint: Blueprint) -> SiteRepository:
        """The same site, with one node brought to a blueprint that its rack file does not pin."""
        return self.model_copy(update={"brought_to": {**self.brought_to, name: blueprint}})

    def network_of_purpose(self, purpose: str) -> Network | None:
        """The network of that purpose, if the site has one."""
        return next((network for network in self.networks if network.purpose == purpose), None)
