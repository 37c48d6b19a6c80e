"""Allocations: the recorded grant of one address to one node on one network (``inventory/addresses.lock``)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cached_property

from metalwright.model.base import Address, Frozen, Slug


class Allocation(Frozen):
    """One line of the lock. ``freed`` turns it into a tombstone: not given to another node for a while."""

    address: Address
    network: Slug
    node: Slug
    freed: date | None = None

    @property
    def version(self) -> int:
        """4 or 6."""
        return 6 if ":" in self.address else 4


class AddressLock(Frozen):
    """All allocations, sorted by address, one a line, so that two branches that give one address away conflict."""

    allocations: tuple[Allocation, ...] = ()

    def of_node(self, node: str) -> dict[str, str]:
        """Network name → IPv4 address of the node's live allocations."""
        return {item.network: item.address for item in self._live(node) if item.version == 4}

    def of_node_v6(self, node: str) -> dict[str, str]:
        """Network name → IPv6 address of the node's live allocations."""
        return {item.network: item.address for item in self._live(node) if item.version == 6}

    def _live(self, node: str) -> Sequence[Allocation]:
        return self._live_by_node.get(node, ())

    @cached_property
    def _live_by_node(self) -> dict[str, list[Allocation]]:
        found: dict[str, list[Allocation]] = {}
        for item in self.allocations:
            if item.freed is None:
                found.setdefault(item.node, []).append(item)
        return found


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
