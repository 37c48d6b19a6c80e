"""A YAML document as a tree that still knows where each value was written and how.

Named tuples, since a fleet has hundreds of thousands of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Position(NamedTuple):
    """Line and column, both counted from 1."""

    line: int
    column: int


class Scalar(NamedTuple):
    """A single value as source text. ``is_plain``: written without quotes, so that its type is open."""

    text: str
    is_plain: bool
    position: Position


class Entry(NamedTuple):
    """One key of a mapping with its value."""

    key: str
    key_position: Position
    value: Tree


class Mapping(NamedTuple):
    """Keys and values in the order written; keys are distinct."""

    entries: tuple[Entry, ...]
    position: Position

    def entry(self, key: str) -> Entry | None:
        """The entry of that key."""
        return next((entry for entry in self.entries if entry.key == key), None)


class Sequence(NamedTuple):
    """Items in order."""

    items: tuple[Tree, ...]
    position: Position


Tree = Scalar | Mapping | Sequence


class Quoted(str):
    """Text that was written in quotes, so that it is text whatever it looks like."""

    __slots__ = ()


Raw = str | list[Any] | dict[str, Any]
"""A document without places: plain scalars as ``str``, quoted ones as ``Quoted``; both are source text."""


def raw_of(tree: Tree) -> Raw:
    """The tree without its places."""
    if isinstance(tree, Scalar):
        return tree.text if tree.is_plain else Quoted(tree.text)
    if isinstance(tree, Sequence):
        return [raw_of(item) for item in tree.items]
    return {entry.key: raw_of(entry.value) for entry in tree.entries}


def locate(tree: Tree, loc: Iterable[str | int], *, key: bool = False) -> Position:
    """Where the value at ``loc`` (keys and indexes from the root) was written.

    Parts of ``loc`` that the document does not have are skipped, so the nearest enclosing value answers.
    ``key=True`` gives the position of the last key itself instead of its value.
    """
    position = tree.position
    for part in loc:
        step = _step(tree, part)
        if step is None:
            continue
        tree, key_position = step
        position = key_position if key else tree.position
    return position


def _step(tree: Tree, part: str | int) -> tuple[Tree, Position] | None:
    if isinstance(tree, Mapping):
        entry = tree.entry(str(part))
        return (entry.value, entry.key_position) if entry else None
    if isinstance(tree, Sequence) and isinstance(part, int) and part < len(tree.items):
        return tree.items[part], tree.items[part].position
    return None
