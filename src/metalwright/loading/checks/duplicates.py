"""Values that may occur once in a whole site, and both places when one occurs twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from metalwright.errors import LoadingError


def duplicates(noun: str, values: Iterable[tuple[str, str, str]], hint: str | None = None) -> Iterator[LoadingError]:
    """An error for each later use of a value.

    ``values`` are (key that is compared, text that is shown, ``path:line:column``).
    """
    first: dict[str, str] = {}
    for key, shown, where in values:
        if key in first:
            yield LoadingError(
                f"the {noun} {shown} is used twice", where=where, found=f"first used at {first[key]}", hint=hint
            )
        else:
            first[key] = where
