"""The *bios* row of the state table: write, restart, wait until it is in force, and again while there are stages."""

from __future__ import annotations

from metalwright.lifecycle.decisions import Act, Decision, Done, Effect, Failed, History, Wait
from metalwright.lifecycle.observations import BiosObservation
from metalwright.lifecycle.timing import Timing

MAX_RESTARTS = 8
"""No order of attributes takes more; a machine that asks for more does not come to rest."""


def decide_bios(seen: BiosObservation, history: History, timing: Timing) -> Decision:
    """What to do about the BIOS attributes as they are now."""
    stop = _stop(seen)
    if stop is not None:
        return stop
    if not seen.to_write and not seen.pending:
        return Done({"registry": seen.registry, **seen.evidence})
    not_taken = _not_taken(seen)
    is_settling = history.count("bios") > 0 and history.since_last_s < timing.bmc_settle_s
    if seen.awaited and is_settling:
        return Wait(2.0, f"BIOS applies {', '.join(seen.awaited)}", timing.bmc_settle_s, not_taken)
    if seen.fruitless >= timing.attempts or history.count("bios") >= MAX_RESTARTS:
        return not_taken
    if seen.blocked is not None:
        return Wait(10.0, seen.blocked, timing.bmc_settle_s, _blocked(seen.blocked))
    names = ", ".join(item.name for item in (*seen.to_write, *seen.pending))
    return Act("bios", f"restart, because {seen.goes_first}" if seen.goes_first else f"write {names}", Effect.RESET)


def _stop(seen: BiosObservation) -> Failed | None:
    if seen.refusals:
        return Failed(
            code="bios",
            what=f"{len(seen.refusals)} BIOS attribute(s) are refused by {seen.registry}",
            found="; ".join(seen.refusals),
            hint="correct the blueprint: `metalwright check` tells the same without hardware",
        )
    if seen.drift:
        return Failed(
            code="bios-drift",
            what="the restart changed BIOS attributes that nobody declared",
            found="; ".join(seen.drift),
            hint="declare them in the blueprint with the value that the class needs, then provision again",
        )
    if seen.stranger is not None and seen.changes():
        return Failed(
            code="os-answers",
            what="BIOS attributes differ, and the reset would stop an operating system that is not ours",
            expected="a silent node, or one with a host key that we know",
            found=seen.stranger,
            hint="if it really must go: `COMMAND --overwrite NODE`",
        )
    return None


def _not_taken(seen: BiosObservation) -> Failed:
    left = (*seen.to_write, *seen.pending)
    said = f" (the BMC says: {'; '.join(seen.messages)})" if seen.messages else ""
    return Failed(
        code="bios-read-back",
        what="BIOS attributes did not take effect after a reset",
        expected="; ".join(f"{item.name}={item.desired}" for item in left),
        found="; ".join(f"{item.name}={item.current}" for item in left) + said,
        hint="look for a foreign pending job on the BMC or a locked BIOS; nothing else was changed",
    )


def _blocked(why: str) -> Failed:
    return Failed(
        code="bios-blocked",
        what=f"BIOS attributes cannot be written: {why}",
        hint="wait for it; one that is stuck is removed with "
        "`pyinfra inventory/bmcs.py deploys/bios.py --limit NODE --data clear_jobs=ID`, and nothing removes it unasked",
    )
