"""Racks: names and units."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from metalwright.errors import LoadingError
from metalwright.loading.checks.duplicates import duplicates
from metalwright.loading.messages import nearest
from metalwright.loading.models import Loaded
from metalwright.loading.site_files import SiteFiles
from metalwright.model.blueprint import Blueprint
from metalwright.model.rack import Rack


def check_racks(files: SiteFiles) -> Iterator[LoadingError]:
    """Racks are named as their files, belong to the site, and no two servers share a unit."""
    yield from duplicates(
        "rack name", ((rack.model.name, rack.model.name, partial(rack.where, "name")) for rack in files.racks)
    )
    if not any(rack.model.nodes for rack in files.racks) and not _any_unreadable(files):
        yield LoadingError(
            "the inventory has no node",
            where=str(files.paths.racks),
            expected="at least one rack file with nodes",
            found=f"{len(files.racks)} rack files, 0 nodes",
            hint="an inventory that a template emptied is never taken as 'retire everything'",
        )
    for rack in files.racks:
        yield from _names(files, rack)
        yield from _units(files, rack)


def _any_unreadable(files: SiteFiles) -> bool:
    return any(path.is_relative_to(files.paths.racks) for path in files.unreadable)


def _names(files: SiteFiles, rack: Loaded[Rack]) -> Iterator[LoadingError]:
    if rack.path.stem != rack.model.name:
        yield LoadingError(
            "a rack file is named as its rack",
            where=rack.where("name"),
            expected=rack.path.stem,
            found=rack.model.name,
            hint="rename the file (git mv), or write the name of the file here",
        )
    if files.site is not None and rack.model.site != files.site.model.name:
        yield LoadingError(
            f"rack {rack.model.name} belongs to another site",
            where=rack.where("site"),
            expected=files.site.model.name,
            found=rack.model.site,
            hint=nearest(rack.model.site, [files.site.model.name]),
        )


def _units(files: SiteFiles, rack: Loaded[Rack]) -> Iterator[LoadingError]:
    """A server of height h in unit u fills u … u+h-1; units count from the bottom."""
    taken: dict[int, tuple[str, int]] = {}
    for index, node in enumerate(rack.model.nodes):
        if node.unit is None or node.state == "retired":
            continue
        top = node.unit + _height_u(files.blueprints.get(node.blueprint)) - 1
        if top > rack.model.height_u:
            yield LoadingError(
                f"node {node.name} does not fit into rack {rack.model.name}",
                where=rack.where("nodes", index, "unit"),
                expected=f"units up to {rack.model.height_u}",
                found=f"units {node.unit} to {top}",
                hint="a lower unit, another rack, or another height_u of the rack, or of hardware.chassis",
            )
        clash = next((taken[unit] for unit in range(node.unit, top + 1) if unit in taken), None)
        if clash is not None:
            yield LoadingError(
                f"node {node.name} overlaps node {clash[0]}",
                where=rack.where("nodes", index, "unit"),
                expected="free units",
                found=f"units {node.unit} to {top} meet {clash[0]}, see {rack.where('nodes', clash[1], 'unit')}",
                hint="look at the rack: a unit is the lowest that a server fills, counted from the bottom",
            )
        for unit in range(node.unit, top + 1):
            taken.setdefault(unit, (node.name, index))


def _height_u(blueprint: Loaded[Blueprint] | None) -> int:
    chassis = blueprint.model.hardware.chassis if blueprint is not None else None
    return chassis.height_u if chassis is not None else 1
