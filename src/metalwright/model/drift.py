"""Drift: where a node is not as git wants it, by layer, and what metalwright itself did there last."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from metalwright.model.base import Frozen

DIFFERENCES_VARIABLE = "METALWRIGHT_DIFFERENCES"
"""Names a file; each pyinfra operation that would change something appends ``{"operation", "lines"}`` as JSON."""

Layer = Literal["identity", "hardware", "network", "firmware", "bios", "accounts", "image", "software"]


class Difference(Frozen):
    """One value that differs. ``found`` is what the machine says, ``wanted`` what git says.

    ``group`` is the pyinfra operation that would mend it, in layers that pyinfra reads.
    """

    layer: Layer
    group: str | None = None
    what: str
    found: str | None = None
    wanted: str | None = None


class LastTouch(Frozen):
    """The last time that a run of ours finished the phase of a layer: ISO 8601 time, run, and who began it."""

    layer: Layer
    at: str
    run: str
    by: str


class Replacement(Frozen):
    """A value of the node in its rack file that a replaced part made wrong; ``path`` leads to it from the node."""

    path: tuple[str | int, ...]
    what: str
    was: str
    becomes: str


class NodeDrift(Frozen):
    """One node. ``unknown`` names layers that could not be read, with the reason: they are no proof of anything.

    ``replaced`` is what ``--accept`` would write to the rack file; ``not_accepted`` what it would not, with the reason.
    """

    node: str
    blueprint: str
    is_git_newer: bool = Field(default=False, description="git changed since this node was accepted")
    differences: tuple[Difference, ...] = ()
    unknown: tuple[str, ...] = ()
    touched: tuple[LastTouch, ...] = ()
    replaced: tuple[Replacement, ...] = ()
    not_accepted: tuple[str, ...] = ()
