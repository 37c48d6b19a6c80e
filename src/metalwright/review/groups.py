"""Nodes to which the same happens are one line, however many they are. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metalwright.model.review import NodeImpact

_FEW = 3


@dataclass(frozen=True)
class Group:
    """``first`` stands for all: they differ in name, place and the digits of addresses only."""

    first: NodeImpact
    nodes: tuple[NodeImpact, ...]

    @property
    def title(self) -> str:
        """``38 nodes of a01, a02``, or the names of a few."""
        names = [item.node for item in self.nodes]
        if len(names) <= _FEW:
            return ", ".join(f"`{name}`" for name in names)
        racks = list(dict.fromkeys(item.rack for item in self.nodes))
        of = f"rack {racks[0]}" if len(racks) == 1 else f"{len(racks)} racks ({racks[0]} … {racks[-1]})"
        return f"{len(names)} nodes of {of}: `{names[0]}` … `{names[-1]}`"


def group_nodes(nodes: Iterable[NodeImpact]) -> tuple[Group, ...]:
    """Groups in the order of their first node."""
    groups: dict[object, list[NodeImpact]] = {}
    for node in nodes:
        groups.setdefault(_key(node), []).append(node)
    return tuple(Group(members[0], tuple(members)) for members in groups.values())


def _key(node: NodeImpact) -> object:
    """What has to be equal. Addresses count by network and by whether they come, go or change."""
    addresses = tuple((move.network, move.from_ is None, move.to is None) for move in node.addresses)
    what = tuple(word for word in node.what if not word.startswith(("identity:", "moves from")))
    own = tuple(word for word in node.what if word.startswith(("identity:", "moves from")))
    return (
        node.base, node.blueprint, what, own, node.phases, node.reboots, node.reimage, node.drain, node.gpus_out,
        node.leaves, addresses, node.files, node.minutes, node.state,
    )  # fmt: skip
