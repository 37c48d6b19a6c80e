"""The state table: node state × observation → next action. Pure: no I/O, no clock, no environment.

The names below are loaded when they are first used: who asks one question needs no whole table.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_MODULES = {
    "cancelling": ("CANCELLED", "TOO_MANY_FAILED", "heed_cancel", "heed_limit", "over_limit"),
    "decisions": ("Act", "Decision", "Done", "Effect", "Failed", "History", "Wait"),
    "repetition": ("NOT_TRIED", "REPEATED", "refuse_repetition"),
    "table": ("decide",),
    "timing": ("Timing",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
