"""The same failing act is not repeated without end, whoever starts provision again: a person, cron, a supervisor."""

from __future__ import annotations

from metalwright.lifecycle.cancelling import CANCELLED, TOO_MANY_FAILED
from metalwright.lifecycle.decisions import Act, Effect, Failed

IDENTICAL_FAILURES = 2
REPEATED = "repeated-failure"
NOT_TRIED = frozenset({REPEATED, CANCELLED, TOO_MANY_FAILED, "customer", "drain"})
"""Codes of stops before anything was tried: another order of a person, not a repair, is the way on."""


def refuse_repetition(act: Act, node: str, identical_failures: int, last_failure: str | None) -> Failed | None:
    """The refusal of an act whose phase failed twice in the same way with the same recipe; reading is never refused.

    ``identical_failures`` counts over all runs since the phase last succeeded.
    """
    if act.effect is Effect.READ or identical_failures < IDENTICAL_FAILURES:
        return None
    return Failed(
        code=REPEATED,
        what=f"not acting again ({act.why}): the phase failed {identical_failures} times in the same way",
        expected="a repaired cause, or another recipe",
        found=last_failure,
        hint=f"repair the cause, then: metalwright provision {node} --retry",
    )
