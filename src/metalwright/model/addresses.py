"""Allocations: the recorded grant of one address to one node on one network (``inventory/addresses.lock``)."""

from __future__ import annotations

from datetime import date

from metalwright.model.base import Address, Frozen, Slug


class Allocation(Frozen):
    """One line of the lock. ``freed`` turns it into a tombstone: not given to another node for a while."""

    address: Address
    network: Slug
    node: Slug
    freed: date | None = None


class AddressLock(Frozen):
    """All allocations, sorted by address, one a line, so that two branches that give one address away conflict."""

    allocations: tuple[Allocation, ...] = ()

    def of_node(self, node: str) -> dict[str, str]:
        """Network name → address of the node's live allocations."""
        return {item.network: item.address for item in self.allocations if item.node == node and item.freed is None}


class KnownGood(Frozen):
    """The last tuple that was accepted on a node (``inventory/known-good.lock``), enough to find it with no journal."""

    node: Slug
    blueprint: str
    recipe: str
    image: str
    image_sha256: str
    firmware: dict[str, str]
    certificate: str
    ssh_host_key: str


class KnownGoodLock(Frozen):
    """All known-good tuples, sorted by node."""

    nodes: tuple[KnownGood, ...] = ()

    def of_node(self, node: str) -> KnownGood | None:
        """The tuple of one node."""
        return next((item for item in self.nodes if item.node == node), None)
