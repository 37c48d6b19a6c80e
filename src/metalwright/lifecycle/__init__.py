"""The state table: node state × observation → next action. Pure: no I/O, no clock, no environment."""

from metalwright.lifecycle.decisions import Act, Decision, Done, Effect, Failed, History, Wait
from metalwright.lifecycle.repetition import REPEATED, refuse_repetition
from metalwright.lifecycle.table import decide
from metalwright.lifecycle.timing import Timing

__all__ = [
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
    "refuse_repetition",
]
