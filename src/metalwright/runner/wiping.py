"""Which disks a wipe of a node erases: all that its BMC lists, each by the serial that a grant then names."""

from __future__ import annotations

from collections.abc import Iterable

from metalwright.errors import PlanError
from metalwright.runner.observe_bmc import BmcObserver
from metalwright.workspace import Workspace


def disks_by_node(workspace: Workspace, nodes: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Serials of the disks of each node.

    Raises:
        PlanError: the BMC does not list its drives, or one has no serial: it could not be named.
        RedfishError: a BMC cannot be read.
    """
    return {node: _disks_of(workspace, node) for node in nodes}


def _disks_of(workspace: Workspace, node: str) -> tuple[str, ...]:
    drives = BmcObserver(workspace, node).report().drives
    serials = [drive.serial for drive in drives or ()]
    known = sorted({serial for serial in serials if serial})
    if not drives or len(known) != len(serials):
        raise PlanError(
            "the disks to be erased cannot be named",
            where=node,
            expected="a BMC that lists every drive with a serial of its own",
            found="it lists no drives" if not drives else f"{len(serials)} drives, {len(known)} serials",
            hint="what cannot be named in a grant is not erased; see `metalwright inspect`, and erase by hand",
        )
    return tuple(known)
