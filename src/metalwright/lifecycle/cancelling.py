"""When a run may stop that somebody asked to cancel, or in which too many nodes failed.

Before an act or in a wait, never while a disk is written.
"""

from __future__ import annotations

from metalwright.lifecycle.decisions import Act, Decision, Effect, Failed, Wait
from metalwright.model.phase import Phase

CANCELLED = "cancelled"
TOO_MANY_FAILED = "too-many-failed"
"""The node did nothing wrong: others failed, more than the run allows."""

_AGAIN = "`metalwright provision` (or `rebuild`) of the node begins again where the machine now stands"


def heed_cancel(decision: Decision, phase: Phase, asked: str | None, *, has_acted: bool) -> Decision:
    """The decision, or the stop that was ``asked`` for (who and why)."""
    stop = Failed(code=CANCELLED, what=f"cancelled by {asked}", hint=_AGAIN) if asked is not None else None
    return _heed(decision, phase, stop, has_acted=has_acted)


def heed_limit(decision: Decision, phase: Phase, exceeded: str | None, *, has_acted: bool) -> Decision:
    """The decision, or the stop because of others; ``exceeded`` says how many failed and how many may."""
    return _heed(decision, phase, over_limit(exceeded) if exceeded is not None else None, has_acted=has_acted)


def over_limit(exceeded: str, *, has_begun: bool = True) -> Failed:
    """The stop of a node that did nothing wrong itself."""
    return Failed(
        code=TOO_MANY_FAILED,
        what=f"{'stopped before its next step' if has_begun else 'not begun'}: {exceeded}",
        hint=f"look at the nodes that failed first; {_AGAIN}",
    )


def _heed(decision: Decision, phase: Phase, stop: Failed | None, *, has_acted: bool) -> Decision:
    """The decision, or ``stop`` where that is safe.

    In the image phase only an act is given up: whoever waits there waits for a ramdisk that may be writing. What the
    phase has begun (``has_acted``) is cleaned up as after a failed act.
    """
    is_safe = (isinstance(decision, Act) and decision.effect is not Effect.READ) or (
        isinstance(decision, Wait) and phase is not Phase.IMAGE
    )
    if stop is None or not is_safe:
        return decision
    cleanup = decision.cleanup if isinstance(decision, Act) and has_acted else None
    return Failed(code=stop.code, what=stop.what, hint=stop.hint, cleanup=cleanup)
