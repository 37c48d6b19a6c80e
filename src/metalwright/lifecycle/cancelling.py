"""When a run may stop that somebody asked to cancel: before an act or in a wait, never while a disk is written."""

from __future__ import annotations

from metalwright.lifecycle.decisions import Act, Decision, Effect, Failed, Wait
from metalwright.model.phase import Phase

CANCELLED = "cancelled"


def heed_cancel(decision: Decision, phase: Phase, asked: str | None, *, has_acted: bool) -> Decision:
    """The decision, or the stop that was ``asked`` for (who and why).

    In the image phase only an act is given up: whoever waits there waits for a ramdisk that may be writing. What the
    phase has begun (``has_acted``) is cleaned up as after a failed act.
    """
    is_safe = (isinstance(decision, Act) and decision.effect is not Effect.READ) or (
        isinstance(decision, Wait) and phase is not Phase.IMAGE
    )
    if asked is None or not is_safe:
        return decision
    cleanup = decision.cleanup if isinstance(decision, Act) and has_acted else None
    return Failed(
        code=CANCELLED,
        what=f"cancelled by {asked}",
        hint="`metalwright provision` (or `rebuild`) of the node begins again where the machine now stands",
        cleanup=cleanup,
    )
