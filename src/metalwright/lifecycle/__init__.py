"""The state table: node state × observation → next action. Pure: no I/O, no clock, no environment."""

from metalwright.lifecycle.decisions import Act, Decision, Done, Effect, Failed, History, Wait
from metalwright.lifecycle.table import decide
from metalwright.lifecycle.timing import Timing

__all__ = ["Act", "Decision", "Done", "Effect", "Failed", "History", "Timing", "Wait", "decide"]
