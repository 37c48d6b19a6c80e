"""What a look at the network tells of addresses."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Probe:
    """What was seen: the addresses that answered, and those that cannot be reached from here."""

    answering: frozenset[str] = frozenset()
    unreachable: frozenset[str] = frozenset()


Look = Callable[[Collection[str]], Probe]
"""Asks some addresses whether somebody uses them."""
