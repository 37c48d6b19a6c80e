"""The state table: node state × observation → next action. Pure: no I/O, no clock, no environment."""

from metalwright.lifecycle.cancelling import CANCELLED, heed_cancel
from metalwright.lifecycle.decisions import Act, Decision, Done, Effect, Failed, History, Wait
from metalwright.lifecycle.repetition import NOT_TRIED, REPEATED, refuse_repetition
from metalwright.lifecycle.table import decide
from metalwright.lifecycle.timing import Timing

__all__ = [
    "CANCELLED",
    "NOT_TRIED",
    "REPEATED",
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
    "refuse_repetition",
]
