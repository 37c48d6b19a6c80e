"""What an example of the state table is."""

from __future__ import annotations

from dataclasses import dataclass, field

from metalwright.lifecycle import History
from metalwright.lifecycle.observations import Observation


@dataclass(frozen=True)
class Example:
    """An observation with its description, and what was done before."""

    text: str
    seen: Observation
    history: History = field(default_factory=History)


def after(name: str, count: int = 1, since_last_s: float = 0.0) -> History:
    """History of one act."""
    return History({name: count}, since_last_s)
