"""Which slots are empty, where the names of the others tell. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

Tokens = tuple[str, ...]


def missing_slots(slots: Sequence[str], wanted: int) -> list[str]:
    """The names of the empty slots, ``[]`` where the names of the populated ones leave a doubt.

    ``SXM1 … SXM7`` of 8 lacks ``SXM8``; ``P1-DIMMA1 … P2-DIMMG1`` of 16 lacks what the other socket has.
    """
    if not slots or len(set(slots)) != len(slots) or len(slots) >= wanted:
        return []
    return _in_a_row(slots, wanted) or _in_a_grid(slots, wanted)


def _in_a_row(slots: Sequence[str], wanted: int) -> list[str]:
    """Slots of one name with a number behind it, counted from 0 or 1 without a gap."""
    numbered = [re.fullmatch(r"(.*?)(\d+)", slot) for slot in slots]
    if any(item is None for item in numbered):
        return []
    prefixes = {item.group(1) for item in numbered if item is not None}
    numbers = {int(item.group(2)) for item in numbered if item is not None}
    first = 0 if 0 in numbers else 1
    expected = set(range(first, first + wanted))
    if len(prefixes) != 1 or not numbers <= expected:
        return []
    (prefix,) = prefixes
    return [f"{prefix}{number}" for number in sorted(expected - numbers)]


def _in_a_grid(slots: Sequence[str], wanted: int) -> list[str]:
    """Slots that repeat by socket or by board: every value of one place of the name with every rest of the name."""
    names = [tuple(re.findall(r"\d+|[A-Za-z]+|[^A-Za-z\d]+", slot)) for slot in slots]
    if len({len(name) for name in names}) != 1:
        return []
    for place in range(len(names[0])):
        values = sorted({name[place] for name in names})
        rests = sorted({_without(name, place) for name in names})
        if len(values) > 1 and len(values) * len(rests) == wanted:
            grid = {(*rest[:place], value, *rest[place:]) for value in values for rest in rests}
            return sorted("".join(name) for name in grid - set(names))
    return []


def _without(name: Tokens, place: int) -> Tokens:
    return (*name[:place], *name[place + 1 :])
