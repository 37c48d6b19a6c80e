"""YAML 1.2 text → tree. Nothing is guessed: values keep their source text until a schema says what they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.reader import ReaderError

from metalwright.errors import InvalidFilesError, LoadingError
from metalwright.loading.plain_yaml import TooManyValuesError, read_plain
from metalwright.loading.tree import Entry, Mapping, Position, Raw, Scalar, Sequence, Tree, raw_of

MAX_DEPTH = 32
MAX_VALUES = 200_000
"""Values in one document, each use of an alias counted as if it had been written out."""

_CORE_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq"))


def read_document(text: str, path: str) -> Raw:
    """The values of a file with exactly one YAML document, without their places.

    Raises:
        InvalidFilesError: as ``parse_document``.
    """
    try:
        plain = read_plain(text, MAX_DEPTH, MAX_VALUES)
    except TooManyValuesError as error:
        raise InvalidFilesError([_Builder(path).too_many(error.position)]) from None
    return raw_of(parse_document(text, path)) if plain is None else plain


def parse_document(text: str, path: str) -> Tree:
    """The tree of a file with exactly one YAML document; ``path`` is for messages.

    Raises:
        InvalidFilesError: syntax, duplicate keys (both lines), merge keys, foreign tags, aliases without end, more or
            less than one document; each with ``path:line:column``.
    """
    builder = _Builder(path)
    try:
        tree = builder.build(YAML(typ="safe", pure=True).parse(text))
    except LoadingError as error:
        builder.errors.append(error)
    except (YAMLError, RecursionError, ValueError) as error:
        builder.errors.append(_syntax_error(error, path, text))
    if builder.errors:
        raise InvalidFilesError(builder.errors)
    return tree


class _Builder:
    """Turns parser events into a tree; goes on after errors that leave the structure readable."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.errors: list[LoadingError] = []
        self.anchors: dict[str, tuple[Tree, int]] = {}
        self.open_anchors: set[str] = set()
        self.values = 0
        self.events: Iterator[Event] = iter(())

    def error(self, what: str, position: Position, **details: str) -> LoadingError:
        return LoadingError(what, where=f"{self.path}:{position.line}:{position.column}", **details)

    def build(self, events: Iterator[Event]) -> Tree:
        self.events = events
        first = self._next_of(DocumentStartEvent, StreamEndEvent)
        if isinstance(first, StreamEndEvent):
            raise self.error(
                "the file is empty",
                Position(1, 1),
                expected="one YAML document",
                found="nothing but blanks or comments",
                hint="a file that a template left empty is never taken as 'delete everything'",
            )
        version = getattr(first, "version", None)
        if version is not None and tuple(version) != (1, 2):
            raise self.error("not YAML 1.2", _position(first), expected="YAML 1.2", found=".".join(map(str, version)))
        tree = self._value(next(self.events), depth=0)
        last = self._next_of(DocumentStartEvent, StreamEndEvent)
        if isinstance(last, DocumentStartEvent):
            raise self.error("the file holds a second document", _position(last), expected="one document a file")
        return tree

    def _next_of(self, *kinds: type[Event]) -> Event:
        return next(event for event in self.events if isinstance(event, kinds))

    def _value(self, event: Event, depth: int) -> Tree:
        position = _position(event)
        if depth > MAX_DEPTH:
            raise self.error("values are nested too deeply", position, expected=f"at most {MAX_DEPTH} levels")
        if isinstance(event, AliasEvent):
            return self._alias(str(event.anchor), position)
        self._count(1, position)
        self._check_tag(event, position)
        anchor: str | None = getattr(event, "anchor", None)
        before = self.values
        if anchor:
            self.open_anchors.add(anchor)
        tree = self._node(event, position, depth)
        if anchor:
            self.open_anchors.discard(anchor)
            self.anchors[anchor] = (tree, self.values - before + 1)
        return tree

    def _node(self, event: Event, position: Position, depth: int) -> Tree:
        if isinstance(event, ScalarEvent):
            return Scalar(str(event.value), _is_plain(event), position)
        if isinstance(event, SequenceStartEvent):
            return Sequence(tuple(self._items(depth)), position)
        if isinstance(event, MappingStartEvent):
            return Mapping(self._entries(depth), position)
        raise self.error("unreadable YAML", position, found=type(event).__name__)

    def _items(self, depth: int) -> Iterator[Tree]:
        for event in self.events:
            if isinstance(event, SequenceEndEvent):
                return
            yield self._value(event, depth + 1)

    def _entries(self, depth: int) -> tuple[Entry, ...]:
        seen: dict[str, Entry] = {}
        for event in self.events:
            if isinstance(event, MappingEndEvent):
                break
            key = self._value(event, depth + 1)
            value = self._value(next(self.events), depth + 1)
            entry = self._entry(key, _position(event), value)
            if entry is None:
                continue
            if entry.key in seen:
                self._duplicate(seen[entry.key], entry)
                continue
            seen[entry.key] = entry
        return tuple(seen.values())

    def _entry(self, key: Tree, position: Position, value: Tree) -> Entry | None:
        if not isinstance(key, Scalar) or (key.is_plain and key.text in ("", "~", "null")):
            self.errors.append(self.error("a key must be text", position, expected="a word before the colon"))
            return None
        if key.is_plain and key.text == "<<":
            self.errors.append(
                self.error(
                    "merge keys are not part of YAML 1.2",
                    position,
                    hint="write the keys out, so that a reviewer sees which value holds",
                )
            )
            return None
        return Entry(key.text, position, value)

    def _duplicate(self, first: Entry, second: Entry) -> None:
        self.errors.append(
            self.error(
                f"the key {second.key!r} is written twice",
                second.key_position,
                found=f"line {first.key_position.line} and line {second.key_position.line}",
                hint="keep one of them; neither is preferred silently",
            )
        )

    def _alias(self, name: str, position: Position) -> Tree:
        if name in self.open_anchors:
            raise self.error(f"the alias *{name} refers to itself", position)
        if name not in self.anchors:
            raise self.error(f"the alias *{name} has no anchor before it", position, expected=f"&{name} on a value")
        tree, size = self.anchors[name]
        self._count(size, position)
        return tree

    def _count(self, values: int, position: Position) -> None:
        self.values += values
        if self.values > MAX_VALUES:
            raise self.too_many(position)

    def too_many(self, position: Position) -> LoadingError:
        return self.error(
            "the file has too many values",
            position,
            expected=f"at most {MAX_VALUES} values, with every alias written out",
            hint="aliases that refer to aliases grow without bounds",
        )

    def _check_tag(self, event: Event, position: Position) -> None:
        tag: Any = getattr(event, "tag", None)
        if tag is not None and str(tag) not in (*_CORE_TAGS, "!"):
            self.errors.append(
                self.error(
                    f"the tag {tag} is not supported", position, hint="remove it; the schema says what a value is"
                )
            )


def _position(event: Event) -> Position:
    return Position(event.start_mark.line + 1, event.start_mark.column + 1)


def _is_plain(event: ScalarEvent) -> bool:
    tag = str(event.tag) if event.tag is not None else None
    return event.style is None and tag not in ("!", "tag:yaml.org,2002:str")


def _syntax_error(error: Exception, path: str, text: str) -> LoadingError:
    if isinstance(error, ReaderError):
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        return LoadingError(
            "the file contains a control character",
            where=f"{path}:{line}:{column}",
            expected="text",
            found=f"character {error.character!r}",
        )
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark is not None else f"{path}:1:1"
    if not isinstance(error, MarkedYAMLError):
        return LoadingError("unreadable YAML", where=where, found=type(error).__name__)
    problem = " ".join(str(error.problem or error.context or "syntax").split()).removeprefix("found ")
    return LoadingError("unreadable YAML", where=where, found=problem, hint=_syntax_hint(problem))


def _syntax_hint(problem: str) -> str | None:
    if "\\t" in problem:
        return "YAML is indented with spaces, never with tabs"
    if "mapping values are not allowed" in problem:
        return "a value that contains a colon followed by a blank needs quotes"
    if "'@'" in problem or "'`'" in problem or "'%'" in problem:
        return "a value that starts with this character needs quotes"
    return None
