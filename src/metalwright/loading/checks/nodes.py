"""Nodes against each other and against the blueprints that they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from metalwright.errors import LoadingError
from metalwright.loading.checks.duplicates import Value, duplicates
from metalwright.loading.messages import nearest
from metalwright.loading.models import Loaded
from metalwright.loading.site_files import SiteFiles
from metalwright.model.base import uuid_forms
from metalwright.model.rack import Node, Rack, Racked

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


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of a rack file that has a BMC, and where it stands."""

    rack: Loaded[Rack]
    section: str
    index: int
    item: Racked

    def where(self, *keys: str | int) -> Callable[[], str]:
        """The place of one of its keys, found when it is asked for."""
        return partial(self.rack.where, self.section, self.index, *keys)


def _entries(files: SiteFiles) -> Iterator[_Entry]:
    for rack in files.racks:
        for section, items in (("nodes", rack.model.nodes), ("equipment", rack.model.equipment)):
            yield from (_Entry(rack, section, index, item) for index, item in enumerate(items))


def _unique(files: SiteFiles) -> Iterator[LoadingError]:
    entries = list(_entries(files))
    yield from duplicates("node name", ((entry.item.name, entry.item.name, entry.where("name")) for entry in entries))
    yield from duplicates(
        "serial",
        (
            (_bare(entry.item.serial), f"{entry.item.serial} ({entry.item.name})", entry.where("serial"))
            for entry in entries
            if entry.item.serial is not None
        ),
        _TWIN_HINT,
    )
    yield from duplicates(
        "UUID",
        (
            (min(uuid_forms(entry.item.uuid)), f"{entry.item.uuid} ({entry.item.name})", entry.where("uuid"))
            for entry in entries
            if entry.item.uuid is not None
        ),
        _TWIN_HINT,
    )
    yield from duplicates("MAC address", _macs(entries), _TWIN_HINT)
    yield from duplicates("BMC address", _bmc_addresses(entries))


def _macs(entries: list[_Entry]) -> Iterator[Value]:
    for entry in entries:
        item = entry.item
        if item.bmc_mac is not None:
            yield item.bmc_mac, f"{item.bmc_mac} ({item.name})", entry.where("bmc_mac")
        for number, port in enumerate(item.ports if isinstance(item, Node) else ()):
            yield port.mac, f"{port.mac} ({item.name})", entry.where("ports", number, "mac")


def _bmc_addresses(entries: list[_Entry]) -> Iterator[Value]:
    for entry in entries:
        item = entry.item
        if item.bmc_address is not None:
            shown = f"{item.bmc_address}:{item.bmc_port}" if item.bmc_port else item.bmc_address
            yield shown, f"{shown} ({item.name})", entry.where("bmc_address")


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
                hint="count the ports of that role on the machine; hardware.nics of the blueprint says how many",
            )
