"""Values that may occur once in a whole site, and both places when one occurs twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from metalwright.errors import LoadingError

Value = tuple[str, str, Callable[[], str]]
"""Key that is compared, text that is shown, and how to find its ``path:line:column`` when it is needed."""


def duplicates(noun: str, values: Iterable[Value], hint: str | None = None) -> Iterator[LoadingError]:
    """An error for each later use of a value."""
    first: dict[str, Callable[[], str]] = {}
    for key, shown, where in values:
        if key in first:
            yield LoadingError(
                f"the {noun} {shown} is used twice", where=where(), found=f"first used at {first[key]()}", hint=hint
            )
        else:
            first[key] = where
