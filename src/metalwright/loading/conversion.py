"""Source text → plain values, led by the model: a value whose type is text stays the text that was written.

``version: 1.10``, ``serial: 5319E7``, ``WakeOnLan: On`` and MAC addresses come through unchanged, because the model
says text; ``count: 8`` becomes a number, because the model says number. YAML's own guessing is never asked.
"""

from __future__ import annotations

import math
import re
import types
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from metalwright.loading.tree import Quoted, Raw

Loc = tuple[str | int, ...]

_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,30})")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TYPE_WORDS: dict[type, str] = {int: "a whole number", float: "a number", bool: "true or false"}

_UNTEXTUAL = frozenset({int, float, bool, type(None)})


@dataclass(frozen=True)
class Misfit:
    """A value that no type of its field can be made from."""

    loc: Loc
    expected: str
    found: str
    hint: str | None = None


@dataclass
class Conversion:
    """Result of ``convert``: plain values for the model's own validation, and what could not be converted."""

    value: Any = None
    misfits: list[Misfit] = field(default_factory=list)


def convert(raw: Raw, annotation: Any) -> Conversion:
    """Plain Python values for ``annotation`` (a model class or any type that the models use)."""
    conversion = Conversion()
    conversion.value = _value(raw, _shape(annotation), (), conversion.misfits)
    return conversion


def branches(annotation: Any) -> tuple[Any, ...]:
    """The alternatives of a type: unions opened, ``Annotated`` removed."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return branches(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return tuple(part for item in get_args(annotation) for part in branches(item))
    return (annotation,)


def field_types(model: type[BaseModel]) -> dict[str, Any]:
    """Key as written in a file → type of the field."""
    return {info.alias or name: info.annotation for name, info in model.model_fields.items()}


def _value(raw: Raw, shape: _Shape, loc: Loc, misfits: list[Misfit]) -> Any:
    if isinstance(raw, str):
        return _scalar(raw, shape.kinds, loc, misfits)
    if isinstance(raw, list):
        every = shape.every_item
        if every is not None:
            return [_value(item, every, (*loc, index), misfits) for index, item in enumerate(raw)]
        kinds = shape.item_types(len(raw))
        return [_value(item, _shape(kinds[index]), (*loc, index), misfits) for index, item in enumerate(raw)]
    types_of = shape.value_types(raw)
    other = types_of.get("*") or _shape(Any)
    values = {}
    for key, item in raw.items():
        inner = types_of.get(key, other)
        if inner.is_text and item.__class__ is str and item not in _NULLS:
            values[key] = item
        else:
            values[key] = _value(item, inner, (*loc, key), misfits)
    return values


class _Shape:
    """What a type takes, worked out once: a fleet has the same few types a hundred thousand times."""

    def __init__(self, annotation: Any) -> None:
        self.annotation = annotation
        self.parts = branches(annotation)
        self.kinds = frozenset(_kinds(self.parts))
        self.is_text = Any not in self.kinds and bool(self.kinds - _UNTEXTUAL)
        mapping = next((part for part in self.parts if get_origin(part) is dict), None)
        self.mapping = {} if mapping is None else {"*": _shape(get_args(mapping)[1])}

    @cached_property
    def models(self) -> list[dict[str, _Shape]]:
        """Key → shape, for each model among the alternatives."""
        models = [part for part in self.parts if isinstance(part, type) and issubclass(part, BaseModel)]
        return [{key: _shape(kind) for key, kind in field_types(model).items()} for model in models]

    @cached_property
    def every_item(self) -> _Shape | None:
        """The shape of all items of a list; ``None`` where each place has its own."""
        for part in self.parts:
            arguments = get_args(part)
            if _is_fixed(part, arguments):
                return None
            if get_origin(part) in (tuple, list, frozenset, set) and arguments:
                return _shape(arguments[0])
        return _shape(Any)

    def item_types(self, count: int) -> list[Any]:
        """The type of each item of a list of ``count`` whose places have types of their own."""
        arguments = next(found for part in self.parts if _is_fixed(part, found := get_args(part)))
        return [*arguments[:count], *([Any] * (count - len(arguments)))]

    def value_types(self, raw: dict[str, Any]) -> dict[str, _Shape]:
        """Key → shape; ``*`` for keys that are not fixed. Of several models the one that knows most of the keys."""
        if len(self.models) > 1:
            return max(self.models, key=lambda fields: len(raw.keys() & fields.keys()))
        return self.models[0] if self.models else self.mapping


def _is_fixed(part: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether a type is a tuple with a type for each place."""
    return get_origin(part) is tuple and (len(arguments) != 2 or arguments[1] is not Ellipsis)


_shapes: dict[int, _Shape] = {}


def _shape(annotation: Any) -> _Shape:
    """The shape of a type. Types are known by identity: not all of them can be hashed; each shape keeps its type."""
    shape = _shapes.get(id(annotation))
    if shape is None:
        shape = _shapes[id(annotation)] = _Shape(annotation)
    return shape


def _scalar(raw: str, kinds: frozenset[Any], loc: Loc, misfits: list[Misfit]) -> Any:
    is_plain, text = not isinstance(raw, Quoted), str(raw)
    if is_plain and text in _NULLS:
        return None
    if Any not in kinds and kinds - _UNTEXTUAL:
        return text
    if not is_plain:
        if kinds & _TYPE_WORDS.keys() and Any not in kinds:
            misfits.append(_misfit(kinds, loc, "quoted text", "write it without quotes"))
        return text
    typed = _typed(text, kinds)
    if typed is None:
        if kinds & _TYPE_WORDS.keys() and Any not in kinds:
            misfits.append(_misfit(kinds, loc, text, _scalar_hint(text, kinds)))
        return text
    return typed


def _kinds(parts: tuple[Any, ...]) -> set[Any]:
    kinds: set[Any] = set()
    for part in parts:
        if get_origin(part) is Literal:
            kinds |= {type(value) for value in get_args(part)}
        elif isinstance(part, type) and not issubclass(part, BaseModel):
            kinds.add(part)
        elif part is Any:
            kinds.add(Any)
    return kinds


def _typed(text: str, kinds: frozenset[Any]) -> bool | int | float | None:
    untyped = Any in kinds
    if (bool in kinds or untyped) and text in _BOOLS:
        return _BOOLS[text]
    if (int in kinds or float in kinds or untyped) and _INT.fullmatch(text):
        return int(text)
    if (float in kinds or untyped) and _FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return None


def _misfit(kinds: frozenset[Any], loc: Loc, found: str, hint: str | None) -> Misfit:
    words = [word for kind, word in _TYPE_WORDS.items() if kind in kinds and not (kind is int and float in kinds)]
    return Misfit(loc, " or ".join(words), found, hint)


def _scalar_hint(text: str, kinds: frozenset[Any]) -> str | None:
    if bool in kinds and text.lower() in ("yes", "no", "on", "off"):
        return f"write {'true' if text.lower() in ('yes', 'on') else 'false'}"
    if int in kinds and re.fullmatch(r"0[0-9]+", text):
        return "a leading zero means octal to some readers; write the number without it"
    if int in kinds and re.fullmatch(r"[0-9][0-9_,.']*", text):
        return "write the digits without separators"
    return None
