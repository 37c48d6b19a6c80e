"""Nodes against each other and against the blueprints that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from metalwright.errors import LoadingError
from metalwright.loading.checks.duplicates import Value, duplicates
from metalwright.loading.messages import nearest
from metalwright.loading.models import Loaded
from metalwright.loading.site_files import SiteFiles
from metalwright.model.base import uuid_forms
from metalwright.model.rack import Node, Rack

_TWIN_HINT = "one of the two was copied from the other; read the value from the machine's own sticker or BMC"


def check_nodes(files: SiteFiles) -> Iterator[LoadingError]:
    """Names and identities are unique; blueprints and port roles exist."""
    yield from _unique(files)
    for rack, index, node in each_node(files):
        if node.blueprint in files.blueprints:
            yield from _port_roles(files, rack, index, node)
        elif files.paths.blueprint(node.blueprint) not in files.unreadable:
            yield LoadingError(
                f"no blueprint {node.blueprint}",
                where=rack.where("nodes", index, "blueprint"),
                expected=f"the file {files.paths.blueprint(node.blueprint)}",
                hint=nearest(node.blueprint, files.blueprints),
            )


def each_node(files: SiteFiles) -> Iterator[tuple[Loaded[Rack], int, Node]]:
    """Every node with its rack's file and its index in there."""
    for rack in files.racks:
        for index, node in enumerate(rack.model.nodes):
            yield rack, index, node


def _unique(files: SiteFiles) -> Iterator[LoadingError]:
    nodes = list(each_node(files))
    yield from duplicates(
        "node name",
        ((node.name, node.name, partial(rack.where, "nodes", index, "name")) for rack, index, node in nodes),
    )
    yield from duplicates(
        "serial",
        (
            (_bare(node.serial), f"{node.serial} ({node.name})", partial(rack.where, "nodes", index, "serial"))
            for rack, index, node in nodes
            if node.serial is not None
        ),
        _TWIN_HINT,
    )
    yield from duplicates(
        "UUID",
        (
            (min(uuid_forms(node.uuid)), f"{node.uuid} ({node.name})", partial(rack.where, "nodes", index, "uuid"))
            for rack, index, node in nodes
            if node.uuid is not None
        ),
        _TWIN_HINT,
    )
    yield from duplicates("MAC address", _macs(nodes), _TWIN_HINT)
    yield from duplicates("BMC address", _bmc_addresses(nodes))


def _macs(nodes: list[tuple[Loaded[Rack], int, Node]]) -> Iterator[Value]:
    for rack, index, node in nodes:
        if node.bmc_mac is not None:
            yield node.bmc_mac, f"{node.bmc_mac} ({node.name})", partial(rack.where, "nodes", index, "bmc_mac")
        for number, port in enumerate(node.ports):
            yield port.mac, f"{port.mac} ({node.name})", partial(rack.where, "nodes", index, "ports", number, "mac")


def _bmc_addresses(nodes: list[tuple[Loaded[Rack], int, Node]]) -> Iterator[Value]:
    for rack, index, node in nodes:
        if node.bmc_address is not None:
            shown = f"{node.bmc_address}:{node.bmc_port}" if node.bmc_port else node.bmc_address
            yield shown, f"{shown} ({node.name})", partial(rack.where, "nodes", index, "bmc_address")


def _bare(serial: str) -> str:
    return re.sub(r"\s", "", serial).lower()


def _port_roles(files: SiteFiles, rack: Loaded[Rack], index: int, node: Node) -> Iterator[LoadingError]:
    roles = {nics.role: nics.count for nics in files.blueprints[node.blueprint].model.hardware.nics}
    used: dict[str, int] = {}
    for number, port in enumerate(node.ports):
        used[port.role] = used.get(port.role, 0) + 1
        if port.role not in roles:
            yield LoadingError(
                f"node {node.name}: {node.blueprint} has no port role {port.role!r}",
                where=rack.where("nodes", index, "ports", number, "role"),
                hint=nearest(port.role, roles),
            )
        elif used[port.role] == roles[port.role] + 1:
            yield LoadingError(
                f"node {node.name} has more ports of role {port.role!r} than {node.blueprint}",
                where=rack.where("nodes", index, "ports", number, "role"),
                expected=f"at most {roles[port.role]}",
                found=str(sum(1 for item in node.ports if item.role == port.role)),
            )
