"""The state table: node state × observation → next action. Pure: no I/O, no clock, no environment.

The names below are loaded when they are first used: who asks one question needs no whole table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalwright.first_use import on_first_use

if TYPE_CHECKING:
    from metalwright.lifecycle.cancelling import CANCELLED, TOO_MANY_FAILED, heed_cancel, heed_limit, over_limit
    from metalwright.lifecycle.decisions import Act, Decision, Done, Effect, Failed, History, Wait
    from metalwright.lifecycle.repetition import NOT_TRIED, REPEATED, refuse_repetition
    from metalwright.lifecycle.table import decide
    from metalwright.lifecycle.timing import Timing

__all__ = [
    "CANCELLED",
    "NOT_TRIED",
    "REPEATED",
    "TOO_MANY_FAILED",
    "Act",
    "Decision",
    "Done",
    "Effect",
    "Failed",
    "History",
    "Timing",
    "Wait",
    "decide",
    "heed_cancel",
    "heed_limit",
    "over_limit",
    "refuse_repetition",
]

__getattr__ = on_first_use(
    __name__,
    {
        "cancelling": ("CANCELLED", "TOO_MANY_FAILED", "heed_cancel", "heed_limit", "over_limit"),
        "decisions": ("Act", "Decision", "Done", "Effect", "Failed", "History", "Wait"),
        "repetition": ("NOT_TRIED", "REPEATED", "refuse_repetition"),
        "table": ("decide",),
        "timing": ("Timing",),
    },
)
