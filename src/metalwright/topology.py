"""Where a node stands and what it is, as labels and as nodes of a scheduler. Pure.

Labels that metalwright makes carry the site's own domain as prefix, so that they meet nobody else's; those of the
blueprint (``policy.labels``) are taken as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from metalwright.model.blueprint import Blueprint
from metalwright.model.rack import Node, Rack
from metalwright.model.repository import SiteRepository

SERVING_STATES = frozenset({"ready", "held"})
"""Nodes in other wanted states are not offered to a scheduler."""

MEMORY_SHARE = 0.95
"""Of the installed memory; firmware and kernel keep the rest."""

_NOT_IN_VALUE = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class SchedulerNode:
    """A node as Slurm knows it. ``gpu_type`` is short and lower case; ``memory_mib`` what jobs may ask for."""

    name: str
    address: str
    sockets: int
    cores_per_socket: int | None
    memory_mib: int
    gpus: int
    gpu_type: str | None
    gpu_vendor: str | None
    features: tuple[str, ...]
    leaf: str


def node_labels(repository: SiteRepository, node: Node) -> dict[str, str]:
    """Label → value, valid for Kubernetes: rack, position, class, cabling, and the blueprint's own labels."""
    rack, blueprint = repository.rack_of(node.name), repository.blueprint_of(node.name)
    prefix = repository.site.domain
    own = {
        "site": repository.site.name,
        "rack": rack.name,
        "rack-unit": str(node.unit) if node.unit is not None else "",
        "blueprint": blueprint.name,
        "blueprint-version": blueprint.version,
        "role": blueprint.server_class.role,
        "leaf": leaf_group(rack, blueprint),
        **{f"port-{cable.port}": cable.to for cable in blueprint.cabling},
        **{f"rail-{rail}": "true" for rail in rails_of(blueprint)},
    }
    labels = {f"{prefix}/{_value(key)}": _value(value) for key, value in own.items() if value}
    return {**labels, **{key: _value(value) for key, value in blueprint.policy.labels.items()}}


def leaves_of(rack: Rack, blueprint: Blueprint) -> tuple[str, ...]:
    """The leaf switches that a node hangs on: those of its cabling, else the rack's own."""
    cabled = tuple(dict.fromkeys(cable.to for cable in blueprint.cabling))
    return cabled or tuple(switch.name for switch in rack.switches if switch.role == "leaf")


def leaf_group(rack: Rack, blueprint: Blueprint) -> str:
    """One name for the leaf switches of a node: the switch, or ``FIRST-to-LAST`` where a node hangs on several.

    Nodes of one group are one hop apart on every rail. Empty where nothing is known.
    """
    leaves = leaves_of(rack, blueprint)
    return leaves[0] if len(leaves) == 1 else f"{leaves[0]}-to-{leaves[-1]}" if leaves else ""


def rails_of(blueprint: Blueprint) -> tuple[str, ...]:
    """The numbers of the fabric rails that the blueprint attaches to, in their order."""
    purposes = {purpose for attachment in blueprint.network for purpose in attachment.networks}
    numbers = sorted(int(name.rpartition("-")[2]) for name in purposes if name.startswith("fabric-rail-"))
    return tuple(str(number) for number in numbers)


def host_address(repository: SiteRepository, node: Node) -> str | None:
    """The node's own address on the network that it is managed by; None while it has none."""
    network = repository.network_of_purpose("host-management")
    return repository.addresses.of_node(node.name).get(network.name) if network is not None else None


def scheduler_nodes(repository: SiteRepository) -> tuple[SchedulerNode, ...]:
    """The nodes that a scheduler may use, by name; those without an address are left out."""
    found = []
    for node in sorted(repository.nodes(), key=lambda node: node.name):
        address = host_address(repository, node)
        if node.state in SERVING_STATES and address is not None:
            found.append(_scheduler_node(repository, node, address))
    return tuple(found)


def leaf_groups(nodes: tuple[SchedulerNode, ...]) -> Mapping[str, tuple[str, ...]]:
    """Leaf group → its nodes, both in order; nodes of which nothing is known hang on ``unknown``."""
    groups: dict[str, list[str]] = {}
    for node in nodes:
        groups.setdefault(node.leaf or "unknown", []).append(node.name)
    return {leaf: tuple(names) for leaf, names in sorted(groups.items())}


def _scheduler_node(repository: SiteRepository, node: Node, address: str) -> SchedulerNode:
    rack, blueprint = repository.rack_of(node.name), repository.blueprint_of(node.name)
    hardware = blueprint.hardware
    gpus = hardware.gpus
    labels = tuple(f"{_value(key)}-{_value(value)}" for key, value in sorted(blueprint.policy.labels.items()))
    return SchedulerNode(
        name=node.name,
        address=address,
        sockets=hardware.cpus.count,
        cores_per_socket=hardware.cpus.cores,
        memory_mib=int(hardware.memory.total_gib * 1024 * MEMORY_SHARE),
        gpus=gpus.count if gpus else 0,
        gpu_type=_gpu_type(gpus.model) if gpus else None,
        gpu_vendor=gpus.vendor if gpus else None,
        features=(f"rack-{rack.name}", f"role-{blueprint.server_class.role}", *labels),
        leaf=leaf_group(rack, blueprint),
    )


def _gpu_type(model: str) -> str:
    """The word of a model that tells GPUs apart: the first with a digit (``h100``, ``mi300x``)."""
    words = model.split()
    return _value(next((word for word in words if any(map(str.isdigit, word))), words[0] if words else "gpu")).lower()


def _value(text: str) -> str:
    """A text as a value of a label may be: at most 63 letters, digits and ``-_.``, a letter or digit at both ends."""
    return _NOT_IN_VALUE.sub("-", text)[:63].strip("-_.")
