"""Nodes against each other and against the blueprints that they name."""

from __future__ import annotations

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


Key = tuple[str, str, tuple[str | int, ...]]
"""What is compared, what a person wrote, and where in the entry it stands."""


@dataclass(frozen=True)
class _Kind:
    """A value that occurs once in a site. ``tells_owner``: messages say whose it is; a name says that itself."""

    noun: str
    keys: Callable[[Racked], tuple[Key, ...]]
    tells_owner: bool = False
    hint: str | None = None


def check_nodes(files: SiteFiles) -> Iterator[LoadingError]:
    """Names and identities are unique; blueprints and port roles exist."""
    yield from _unique(files)
    for rack, index, node in each_node(files):
        if node.blueprint in files.blueprints:
            if node.ports:
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
    """Over all that has a BMC: nodes and other equipment."""
    items = [item for rack in files.racks for item in (*rack.model.nodes, *rack.model.equipment)]
    for kind in _KINDS:
        keys = [key for item in items for key, _, _ in kind.keys(item)]
        if len(set(keys)) < len(keys):  # a fleet has none: no place is worked out for nothing
            yield from duplicates(kind.noun, _values(files, kind), kind.hint)


def _values(files: SiteFiles, kind: _Kind) -> Iterator[Value]:
    for rack in files.racks:
        sections: tuple[tuple[str, tuple[Racked, ...]], ...] = (
            ("nodes", rack.model.nodes),
            ("equipment", rack.model.equipment),
        )
        for section, items in sections:
            for index, item in enumerate(items):
                for key, written, place in kind.keys(item):
                    shown = f"{written} ({item.name})" if kind.tells_owner else written
                    yield key, shown, partial(rack.where, section, index, *place)


def _name(item: Racked) -> tuple[Key, ...]:
    return ((item.name, item.name, ("name",)),)


def _serial(item: Racked) -> tuple[Key, ...]:
    return () if item.serial is None else (("".join(item.serial.split()).lower(), item.serial, ("serial",)),)


def _uuid(item: Racked) -> tuple[Key, ...]:
    return () if item.uuid is None else ((min(uuid_forms(item.uuid)), item.uuid, ("uuid",)),)


def _macs(item: Racked) -> tuple[Key, ...]:
    ports = tuple(
        (port.mac, port.mac, ("ports", number, "mac"))
        for number, port in enumerate(item.ports if isinstance(item, Node) else ())
    )
    return ports if item.bmc_mac is None else ((item.bmc_mac, item.bmc_mac, ("bmc_mac",)), *ports)


def _bmc_address(item: Racked) -> tuple[Key, ...]:
    if item.bmc_address is None:
        return ()
    shown = f"{item.bmc_address}:{item.bmc_port}" if item.bmc_port else item.bmc_address
    return ((shown, shown, ("bmc_address",)),)


_KINDS = (
    _Kind("node name", _name),
    _Kind("serial", _serial, tells_owner=True, hint=_TWIN_HINT),
    _Kind("UUID", _uuid, tells_owner=True, hint=_TWIN_HINT),
    _Kind("MAC address", _macs, tells_owner=True, hint=_TWIN_HINT),
    _Kind("BMC address", _bmc_address, tells_owner=True),
)


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
