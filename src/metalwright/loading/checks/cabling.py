"""Cables of blueprints: what they are plugged into is a switch of the site."""

from __future__ import annotations

from collections.abc import Iterator

from metalwright.errors import LoadingError
from metalwright.loading.messages import nearest
from metalwright.loading.site_files import SiteFiles


def check_cabling(files: SiteFiles) -> Iterator[LoadingError]:
    """Blueprints that nodes stand on; names are compared as LLDP's are: without domain, in any case of letters."""
    switches = {switch.name for rack in files.racks for switch in rack.model.switches}
    if not switches or any(path.is_relative_to(files.paths.racks) for path in files.unreadable):
        return
    known = {_bare(name) for name in switches}
    in_use = {node.blueprint for rack in files.racks for node in rack.model.nodes if node.state != "retired"}
    for ref, blueprint in files.blueprints.items():
        for index, cable in enumerate(blueprint.model.cabling if ref in in_use else ()):
            name = cable.to.partition(":")[0]
            if _bare(name) not in known:
                yield LoadingError(
                    f"the port {cable.port} is plugged into a switch that no rack of the site has",
                    where=blueprint.where("cabling", index, "to"),
                    expected="a name under switches of a rack file",
                    found=name,
                    hint=nearest(name, switches),
                )


def note_unnamed_switches(files: SiteFiles) -> Iterator[LoadingError]:
    """Where no rack names a switch, nothing of any cabling can be compared."""
    if any(rack.model.switches for rack in files.racks):
        return
    in_use = {node.blueprint for rack in files.racks for node in rack.model.nodes if node.state != "retired"}
    for ref, blueprint in files.blueprints.items():
        if blueprint.model.cabling and ref in in_use:
            yield LoadingError(
                f"the cabling of {ref} not judged: no rack of the site names its switches",
                where=blueprint.where("cabling"),
                hint="name them under switches in the rack files; acceptance compares cables with what LLDP tells",
            )


def _bare(name: str) -> str:
    return name.partition(".")[0].lower()
