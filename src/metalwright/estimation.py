"""What the changes of a plan cost: how the workload is interrupted, and for how long by the journal's history. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from metalwright.model.phase import PHASES, Phase
from metalwright.model.plan import Change, Estimate, Interruption, PhaseEstimate

History = Mapping[Phase, Sequence[float]]
"""Phase → seconds of each earlier time that it was done, with something to do, on nodes of the same class."""

_ORDER = tuple(Interruption)


def interruption_of(change: Change) -> Interruption:
    """What one change asks of the workload.

    A written disk is a rebuild, any other disruptive change a reboot; both drain first. Acceptance tests load the
    machine: a drain.
    """
    if change.disruptive:
        return Interruption.REBUILD if change.phase is Phase.IMAGE else Interruption.REBOOT
    return Interruption.DRAIN if change.phase is Phase.ACCEPT else Interruption.NONE


def estimate(changes: Iterable[Change], reboots: int, history: History) -> Estimate:
    """The cost of a node's changes. ``minutes`` of the whole is known only where that of every phase in it is."""
    by_phase: dict[Phase, list[Change]] = {}
    for change in changes:
        by_phase.setdefault(change.phase, []).append(change)
    phases = tuple(_phase(phase, by_phase[phase], history.get(phase, ())) for phase in PHASES if phase in by_phase)
    known = [item.minutes for item in phases if item.minutes is not None]
    is_known = len(known) == len(phases)
    return Estimate(reboots=reboots, minutes=round(sum(known), 1) if is_known else None, phases=phases)


def _phase(phase: Phase, changes: Sequence[Change], seconds: Sequence[float]) -> PhaseEstimate:
    return PhaseEstimate(
        phase=phase,
        interruption=max(map(interruption_of, changes), key=_ORDER.index),
        minutes=round(median(seconds) / 60, 1) if seconds else None,
        times=len(seconds),
    )
