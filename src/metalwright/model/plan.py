"""The plan: every change, in order, with its cost; and the two digests that bind what was reviewed to what is done."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from metalwright.model.base import Frozen
from metalwright.model.phase import Phase


class Disruption(StrEnum):
    """What a workload notices."""

    REBOOT = "reboot"
    REIMAGE = "re-image"


class PlannedIdentity(Frozen):
    """The machine that the plan is about."""

    serial: str | None = None
    uuid: str | None = None
    bmc_mac: str | None = None


class Change(Frozen):
    """One difference that a phase will remove. ``disruptive``: the workload notices (reset, re-image)."""

    phase: Phase
    what: str
    from_: str | None = Field(default=None, alias="from")
    to: str | None = None
    disruptive: bool = False


class Interruption(StrEnum):
    """What a change asks of the workload, the least first. Reboot and rebuild drain before they begin."""

    NONE = "none"
    DRAIN = "drain"
    REBOOT = "reboot"
    REBUILD = "rebuild"


class PhaseEstimate(Frozen):
    """What the changes of one phase cost together.

    ``minutes`` is the median of the ``times`` that the phase had something to do on nodes of this class; ``None`` where
    the journal knows of none.
    """

    phase: Phase
    interruption: Interruption
    minutes: float | None = None
    times: int = 0


class Estimate(Frozen):
    """What it costs; ``None`` is unknown, so that one unknown phase makes the whole unknown. Outside the digests."""

    minutes: float | None = None
    reboots: int | None = None
    phases: tuple[PhaseEstimate, ...] = ()


NOTHING_ANSWERS = "nothing answers"
"""``from`` of the re-image of a node whose system does not answer on SSH."""


class NodePlan(Frozen):
    """The changes of one node.

    ``unknown`` names what could not be observed and will be read in its phase; ``refusals`` are the phases that
    would stop as things stand, with the reason.
    """

    node: str
    blueprint: str
    recipe: str
    identity: PlannedIdentity
    image_sha256: str
    disk_serial: str | None = None
    changes: tuple[Change, ...] = ()
    unknown: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    estimate: Estimate = Estimate()

    @property
    def is_destructive(self) -> bool:
        """Whether a disk is written."""
        return any(change.phase is Phase.IMAGE and change.disruptive for change in self.changes)

    @property
    def living_system(self) -> str | None:
        """What runs on the disk that will be written, where its system answers; None: nothing answers."""
        written = (change for change in self.changes if change.phase is Phase.IMAGE and change.disruptive)
        return next((item.from_ or "a system" for item in written if item.from_ != NOTHING_ANSWERS), None)


class Plan(Frozen):
    """``plan -o plan.json``. ``digest`` covers desired, observed and the changes, not estimates or times."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    digest: str
    desired: str
    observed: str
    wanted: dict[str, Any] = Field(
        default_factory=dict, description="the values behind ``desired``, so that a refusal can name what moved"
    )
    nodes: tuple[NodePlan, ...]

    @property
    def disruptions(self) -> tuple[Disruption, ...]:
        """The kinds of disruption in it, each of which must be allowed by name."""
        phases = {change.phase for item in self.nodes for change in item.changes if change.disruptive}
        reboot = (Disruption.REBOOT,) if phases - {Phase.IMAGE} else ()
        return (*reboot, Disruption.REIMAGE) if Phase.IMAGE in phases else reboot
