"""Which nodes a command is about."""

from __future__ import annotations

from collections.abc import Sequence

from metalwright.errors import UsageError
from metalwright.model.repository import SiteRepository


def select_nodes(repository: SiteRepository, names: Sequence[str], rack: str | None) -> tuple[str, ...]:
    """The named nodes, and those of the rack, each once.

    Raises:
        UsageError: unknown node or rack, or nothing was named.
    """
    chosen = [repository.node(name).name for name in names]
    if rack is not None:
        chosen += _of_rack(repository, rack)
    if not chosen:
        raise UsageError("no node was named", expected="node names, or --rack RACK")
    return tuple(dict.fromkeys(chosen))


def overwritten(overwrite: Sequence[str] | None, names: Sequence[str]) -> frozenset[str]:
    """The nodes whose content may be destroyed.

    Raises:
        UsageError: one of them is not among ``names``: a slip of the pen must not pass for caution.
    """
    strangers = sorted(set(overwrite or ()) - set(names))
    if strangers:
        raise UsageError(
            "--overwrite names a node that this command is not about",
            where=", ".join(strangers),
            expected=f"one of {', '.join(names)}",
        )
    return frozenset(overwrite or ())


def _of_rack(repository: SiteRepository, rack: str) -> list[str]:
    for candidate in repository.racks:
        if candidate.name == rack:
            if not candidate.nodes:
                raise UsageError("the rack has no nodes", where=rack)
            return [node.name for node in candidate.nodes]
    known = ", ".join(item.name for item in repository.racks)
    raise UsageError("no such rack in the inventory", where=rack, hint=f"known racks: {known or 'none'}")
