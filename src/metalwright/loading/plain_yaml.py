"""YAML that uses nothing unusual → tree, read by libyaml: thirty times faster than the parser that explains errors.

libyaml reads YAML 1.1. For text without tags, anchors, directives, tabs, block scalars and Unicode line ends its events
are those of YAML 1.2; any other text, and any text in which something is wrong, is left to ``document``, which decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from metalwright.loading.tree import Entry, Mapping, Position, Scalar, Sequence, Tree

try:
    from yaml import YAMLError
    from yaml._yaml import CParser
    from yaml.events import (
        DocumentStartEvent,
        MappingEndEvent,
        MappingStartEvent,
        ScalarEvent,
        SequenceEndEvent,
        SequenceStartEvent,
        StreamEndEvent,
    )
except ImportError:  # built without libyaml: everything is left to the other parser
    CParser = None

_UNUSUAL = re.compile("[&*!\t\x85\u2028\u2029\ufeff]|^%|^---|^\\.\\.\\.|\\?(\\s|$)|<<", re.MULTILINE)
_NULL_KEYS = ("", "~", "null")
_BLOCK_STYLES = ("|", ">")


class TooManyValuesError(Exception):
    """More than ``max_values``, at ``position``; the other parser would find the same, later."""

    def __init__(self, position: Position) -> None:
        super().__init__(position)
        self.position = position


class _UnusualError(Exception):
    """The other parser has to look at this."""


def parse_plain(text: str, max_depth: int, max_values: int) -> Tree | None:
    """The tree of one ordinary document; ``None`` when the text is unusual, wrong or nested too deeply.

    Raises:
        TooManyValuesError: as it says.
    """
    if CParser is None or _UNUSUAL.search(text):
        return None
    try:
        return _Reader(CParser(text).get_event, max_depth, max_values).document()
    except (_UnusualError, YAMLError, RecursionError, ValueError):
        return None


class _Reader:
    def __init__(self, next_event: Callable[[], Any], max_depth: int, max_values: int) -> None:
        self.next_event = next_event
        self.max_depth = max_depth
        self.left = max_values

    def document(self) -> Tree:
        self.next_event()  # start of the stream
        if self.next_event().__class__ is not DocumentStartEvent:
            raise _UnusualError
        tree = self.value(self.next_event(), 0)
        self.next_event()  # end of the document
        if self.next_event().__class__ is not StreamEndEvent:
            raise _UnusualError
        return tree

    def value(self, event: Any, depth: int) -> Tree:
        kind, mark = event.__class__, event.start_mark
        position = Position(mark.line + 1, mark.column + 1)
        self.left -= 1
        if self.left < 0:
            raise TooManyValuesError(position)
        if depth > self.max_depth:
            raise _UnusualError
        if kind is ScalarEvent:
            if event.style in _BLOCK_STYLES:
                raise _UnusualError
            return Scalar(event.value, not event.style, position)
        if kind is MappingStartEvent:
            return Mapping(self.entries(depth + 1), position)
        if kind is SequenceStartEvent:
            return Sequence(self.items(depth + 1), position)
        raise _UnusualError

    def items(self, depth: int) -> tuple[Tree, ...]:
        found: list[Tree] = []
        while (event := self.next_event()).__class__ is not SequenceEndEvent:
            found.append(self.value(event, depth))
        return tuple(found)

    def entries(self, depth: int) -> tuple[Entry, ...]:
        found: dict[str, Entry] = {}
        while (event := self.next_event()).__class__ is not MappingEndEvent:
            key = self.value(event, depth)
            if key.__class__ is not Scalar or key.text in found or (key.is_plain and key.text in _NULL_KEYS):
                raise _UnusualError
            found[key.text] = Entry(key.text, key.position, self.value(self.next_event(), depth))
        return tuple(found.values())
