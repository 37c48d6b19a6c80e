"""What a row of the state table can answer: done, act, wait, or failed with the reason.

Handlers return one of these and never sleep. ``History`` tells a row what the present invocation has already
tried; it prevents repeating an act and never authorises one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any


class Effect(StrEnum):
    """What an act does to the machine, worst first."""

    DESTROY = "destroy"
    RESET = "reset"
    WRITE = "write"
    READ = "read"


@dataclass(frozen=True)
class Done:
    """The phase is true now. ``deferred`` names facts that a later witness must settle before *ready*."""

    evidence: Mapping[str, Any] = field(default_factory=dict)
    deferred: tuple[str, ...] = ()


@dataclass(frozen=True)
class Act:
    """Do one thing, then observe again. ``name`` is a deploy (``deploys/<name>.py``) or a built-in act.

    ``cleanup`` names what leaves the machine in a safe state when the act itself fails.
    """

    name: str
    why: str
    effect: Effect
    cleanup: str | None = None


@dataclass(frozen=True)
class Wait:
    """Nothing to do yet: look again after ``seconds``; ``limit_s`` counts from the last act or phase start."""

    seconds: float
    why: str
    limit_s: float
    when_over: Failed


@dataclass(frozen=True)
class Failed:
    """The phase cannot become true. ``cleanup`` names an act that leaves the machine in a safe state.

    In ``hint`` the words ``NODE`` and ``COMMAND`` stand for the node and for what somebody typed.
    """

    code: str
    what: str
    expected: str | None = None
    found: str | None = None
    hint: str | None = None
    cleanup: str | None = None

    def addressed(self, node: str, command: str) -> Failed:
        """Return it with the node's name and the command in its hint, ready to be pasted."""
        words = {"NODE": node, "COMMAND": command}
        hint = re.sub(r"\b(NODE|COMMAND)\b", lambda found: words[found[1]], self.hint) if self.hint else self.hint
        return replace(self, hint=hint)


Decision = Done | Act | Wait | Failed


@dataclass(frozen=True)
class History:
    """What this invocation did in this phase: acts by name with their count, and seconds since the last one."""

    acts: Mapping[str, int] = field(default_factory=dict)
    since_last_s: float = 0.0

    def count(self, name: str) -> int:
        """How often the act was tried in this invocation."""
        return self.acts.get(name, 0)
