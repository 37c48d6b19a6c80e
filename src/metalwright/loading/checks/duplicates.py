"""Values that may occur once in a whole site, and both places when one occurs twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from metalwright.errors import LoadingError

Value = tuple[str, str, Callable[[], str]]
"""Key that is compared, text that is shown, and how to find its ``path:line:column`` when it is needed."""


def duplicates(noun: str, values: Iterable[Value], hint: str | None = None) -> Iterator[LoadingError]:
    """An error for each later use of a value."""
    first: dict[str, tuple[Callable[[], str], str]] = {}
    for key, shown, where in values:
        if key in first:
            place, other = first[key]
            found = f"first used at {place()}" + ("" if other == shown else f", for {other}")
            yield LoadingError(f"the {noun} {shown} is used twice", where=where(), found=found, hint=hint)
        else:
            first[key] = where, shown
