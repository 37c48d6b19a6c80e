"""Groups of parts matched as a whole: every assignment of parts to groups is considered, not the first that fits.

With drives of 3.2 and 3.84 TB and groups *3 to 4 TB* and *3.8 to 4 TB*, a greedy choice can give the larger drive
to the first group and leave the second empty; here it cannot. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import TypeVar

Part = TypeVar("Part")
Group = TypeVar("Group")


class Fit(IntEnum):
    """Whether a part belongs to a group; ``MAYBE`` when a property that decides is unknown."""

    NO = 0
    MAYBE = 1
    YES = 2


Fits = Sequence[Sequence[Fit]]
"""``fits[part][group]``."""


def fits_of(parts: Sequence[Part], groups: Sequence[Group], fit: Callable[[Part, Group], Fit]) -> list[list[Fit]]:
    """The table of fits."""
    return [[fit(part, group) for group in groups] for part in parts]


def assign(fits: Fits, counts: Sequence[int], least: Fit, fixed: dict[int, int] | None = None) -> dict[int, int]:
    """A largest assignment part → group in which no group exceeds its count and every fit is at least ``least``.

    ``fixed`` parts stay in their group. Augmenting paths; the tables are small (a few dozen parts).
    """
    owner: dict[int, int] = dict(fixed or {})
    for part in range(len(fits)):
        if part not in owner:
            _place(part, fits, counts, least, owner, set(fixed or ()), set())
    return owner


def shortfalls(assignment: dict[int, int], counts: Sequence[int]) -> list[int]:
    """How many parts each group lacks."""
    given = list(assignment.values())
    return [count - given.count(group) for group, count in enumerate(counts)]


def _place(
    part: int,
    fits: Fits,
    counts: Sequence[int],
    least: Fit,
    owner: dict[int, int],
    fixed: set[int],
    tried: set[int],
) -> bool:
    for group, count in enumerate(counts):
        if fits[part][group] < least or group in tried:
            continue
        tried.add(group)
        holders = [other for other, held in owner.items() if held == group]
        if len(holders) < count:
            owner[part] = group
            return True
        for other in holders:
            if other in fixed:
                continue
            if _place(other, fits, counts, least, owner, fixed, tried):
                owner[part] = group
                return True
    return False
