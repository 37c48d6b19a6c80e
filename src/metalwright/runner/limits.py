"""How many nodes of a run may fail before the others are stopped, whatever the phase in which they failed."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field

from metalwright.errors import UsageError
from metalwright.lifecycle import CANCELLED, TOO_MANY_FAILED

_TEXT = re.compile(r"(\d{1,6})(\s*%)?")
NOT_COUNTED = frozenset({CANCELLED, TOO_MANY_FAILED})
"""Codes of stops that say nothing about the node."""


@dataclass(frozen=True)
class MaxFail:
    """As it was typed: so many nodes, or so many of a hundred, may fail."""

    number: int
    is_share: bool

    @classmethod
    def of_text(cls, text: str) -> MaxFail:
        """From ``3`` or ``20%``.

        Raises:
            UsageError: it is neither.
        """
        found = _TEXT.fullmatch(text.strip())
        if found is None or (found[2] and int(found[1]) > 100):
            raise UsageError("no number of nodes", where="--max-fail", expected="such as 2 or 20%", found=text)
        return cls(int(found[1]), found[2] is not None)

    def is_exceeded(self, failed: int, nodes: int) -> bool:
        """Whether more than so many of ``nodes`` failed."""
        return failed * 100 > self.number * nodes if self.is_share else failed > self.number

    def __str__(self) -> str:
        return f"{self.number}%" if self.is_share else str(self.number)


@dataclass
class FailureLimit:
    """Counts the failures of a run of ``nodes`` nodes, asked by the threads of all of them; ``allowed`` None is all."""

    nodes: int
    allowed: MaxFail | None = None
    _failed: set[str] = field(default_factory=set, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def count(self, node: str, code: str) -> None:
        """A node failed; one that was stopped because of others, or by a person, does not count."""
        with self._lock:
            self._failed |= {node} if code not in NOT_COUNTED else set()

    def exceeded(self) -> str | None:
        """How many failed and how many may, in words; None while others may go on."""
        with self._lock:
            failed = len(self._failed)
        if self.allowed is None or not self.allowed.is_exceeded(failed, self.nodes):
            return None
        return f"{failed} of {self.nodes} nodes failed, --max-fail allows {self.allowed}"
