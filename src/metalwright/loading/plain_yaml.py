"""YAML that uses nothing unusual → values, read by libyaml: fifty times faster than the parser that explains errors.

libyaml reads YAML 1.1. For text without tags, anchors, directives, tabs, block scalars and Unicode line ends its events
are those of YAML 1.2; any other text, and any text in which something is wrong, is left to ``document``, which decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from metalwright.loading.tree import Position, Quoted, Raw

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

_UNUSUAL = ("&", "*", "!", "\t", "\x85", "\u2028", "\u2029", "\ufeff", "<<")
_UNUSUAL_LINES = ("\n%", "\n---", "\n...")
_COMPLEX_KEY = re.compile(r"\?(\s|$)", re.MULTILINE)
_NULL_KEYS = ("", "~", "null")
_BLOCK_STYLES = ("|", ">")


class TooManyValuesError(Exception):
    """More than ``max_values``, at ``position``; the other parser would find the same, later."""

    def __init__(self, position: Position) -> None:
        super().__init__(position)
        self.position = position


class _UnusualError(Exception):
    """The other parser has to look at this."""


def read_plain(text: str, max_depth: int, max_values: int) -> Raw | None:
    """The values of one ordinary document; ``None`` when the text is unusual, wrong or nested too deeply.

    Raises:
        TooManyValuesError: as it says.
    """
    if CParser is None or _is_unusual(text):
        return None
    try:
        return _Reader(CParser(text).get_event, max_depth, max_values).document()
    except (_UnusualError, YAMLError, RecursionError, ValueError):
        return None


def _is_unusual(text: str) -> bool:
    """Whether the text has anything of which libyaml might think otherwise; plain searches, since a fleet is long."""
    if any(mark in text for mark in _UNUSUAL) or any(mark in f"\n{text}" for mark in _UNUSUAL_LINES):
        return True
    return "?" in text and _COMPLEX_KEY.search(text) is not None


class _Reader:
    def __init__(self, next_event: Callable[[], Any], max_depth: int, max_values: int) -> None:
        self.next_event = next_event
        self.max_depth = max_depth
        self.left = max_values

    def document(self) -> Raw:
        self.next_event()  # start of the stream
        if self.next_event().__class__ is not DocumentStartEvent:
            raise _UnusualError
        value = self.value(self.next_event(), 0)
        self.next_event()  # end of the document
        if self.next_event().__class__ is not StreamEndEvent:
            raise _UnusualError
        return value

    def value(self, event: Any, depth: int) -> Raw:
        self.left -= 1
        if self.left < 0:
            raise TooManyValuesError(Position(event.start_mark.line + 1, event.start_mark.column + 1))
        if depth > self.max_depth:
            raise _UnusualError
        kind = event.__class__
        if kind is ScalarEvent:
            style = event.style
            if not style:
                return str(event.value)
            if style in _BLOCK_STYLES:
                raise _UnusualError
            return Quoted(event.value)
        if kind is MappingStartEvent:
            return self.entries(depth + 1)
        if kind is SequenceStartEvent:
            return self.items(depth + 1)
        raise _UnusualError

    def items(self, depth: int) -> list[Raw]:
        found: list[Raw] = []
        while (event := self.next_event()).__class__ is not SequenceEndEvent:
            found.append(self.value(event, depth))
        return found

    def entries(self, depth: int) -> dict[str, Raw]:
        found: dict[str, Raw] = {}
        while (event := self.next_event()).__class__ is not MappingEndEvent:
            if event.__class__ is not ScalarEvent or (not event.style and event.value in _NULL_KEYS):
                raise _UnusualError
            key = event.value
            if key in found or depth > self.max_depth:
                raise _UnusualError
            self.left -= 1
            event = self.next_event()
            if event.__class__ is ScalarEvent and not event.style and self.left > 0:
                self.left -= 1
                found[key] = event.value  # most values of a fleet; as `value` does it
            else:
                found[key] = self.value(event, depth)
        return found
