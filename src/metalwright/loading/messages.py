"""Validation errors of the models in the words of the people who write the files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from metalwright.errors import LoadingError
from metalwright.loading.conversion import Loc, Misfit, branches, field_types
from metalwright.loading.tree import Mapping as MappingTree
from metalwright.loading.tree import Scalar, Tree, locate
from metalwright.loading.tree import Sequence as SequenceTree

_SECRET_KEY = re.compile(r"pass(word|phrase)|secret|token|private_key|^key$|_command$|^journal$")
_PATTERN_WORDS = {
    r"^(env|file|command):": "a secret reference: env:NAME, file:PATH or command:PROGRAM",
    r"^[a-z0-9]([a-z0-9.-]": "lower-case letters, digits, dots and dashes, at most 63, starting and ending with one of "
    "the first two",
    r"^(0|[1-9]\d*)\.": "a version of three numbers such as 1.2.0",
    r"^[a-z0-9][a-z0-9.-]*@": "a blueprint as name@version, such as gpu-h100-8x@1.0.0",
    r"^(==|>=": "a constraint such as >=1.4 or ==1.4",
    r"^[0-9A-Za-z][0-9A-Za-z.+~": "a version: letters, digits and . + ~ : _ -",
    r"^fabric-rail-": "fabric-rail-N",
}
_TYPE_WORDS = {
    "string_type": "text",
    "tuple_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
}


def nearest(word: str, words: Iterable[str]) -> str | None:
    """A hint that names the nearest known word, or the known words when none is near."""
    known = sorted(set(words))
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    if not known:
        return None
    more = ", …" if len(known) > 12 else ""
    return f"known: {', '.join(known[:12])}{more}"


def validation_errors(
    error: ValidationError, tree: Tree, model: type[BaseModel], path: str, misfits: list[Misfit]
) -> list[LoadingError]:
    """One error a place of the file: the misfits of the conversion and what the model itself refuses."""
    told = {misfit.loc for misfit in misfits}
    places: dict[tuple[int, int], list[LoadingError]] = {}
    for details in error.errors(include_url=False):
        loc = _real_loc(tree, tuple(details["loc"]))
        if loc in told:
            continue
        loading_error = _one(details, loc, tree, model, path)
        at = locate(tree, loc, key=details["type"] in ("extra_forbidden", "missing"))
        places.setdefault((at.line, at.column), []).append(loading_error)
    merged = [_merge(errors) for errors in places.values()]
    flat = [item for errors in merged for item in errors]
    return [*misfit_errors(misfits, tree, path), *flat]


def misfit_errors(misfits: list[Misfit], tree: Tree, path: str) -> list[LoadingError]:
    """The errors of values that fit no type."""
    return [
        LoadingError(
            f"{_name(misfit.loc)} has the wrong type",
            where="{}:{}:{}".format(path, *locate(tree, misfit.loc)),
            expected=misfit.expected,
            found=_shown(misfit.found, misfit.loc),
            hint=misfit.hint,
        )
        for misfit in misfits
    ]


def _real_loc(tree: Tree, loc: Loc) -> Loc:
    """The part of a location that exists in the document, without pydantic's names of union branches.

    A last part that is no key of an existing mapping is kept: the name of a missing key.
    """
    real: list[str | int] = []
    for part in loc:
        if isinstance(tree, MappingTree):
            entry = tree.entry(str(part))
            if entry is None:
                return (*real, part) if part == loc[-1] and part != "[key]" else tuple(real)
            tree = entry.value
        elif isinstance(tree, SequenceTree):
            if not isinstance(part, int) or part >= len(tree.items):
                return tuple(real)
            tree = tree.items[part]
        else:
            return tuple(real)
        real.append(part)
    return tuple(real)


def _one(details: Any, loc: Loc, tree: Tree, model: type[BaseModel], path: str) -> LoadingError:
    kind: str = details["type"]
    context: Mapping[str, Any] = details.get("ctx", {})
    at = locate(tree, loc, key=kind == "extra_forbidden")
    where = f"{path}:{at.line}:{at.column}"
    if kind == "missing":
        return LoadingError(f"the key {loc[-1]!r} is missing", where=where, expected=f"{loc[-1]}: …")
    if kind == "extra_forbidden":
        return LoadingError(
            f"unknown key {str(loc[-1])!r}", where=where, hint=nearest(str(loc[-1]), _keys_at(model, loc[:-1]))
        )
    if kind == "value_error":
        return LoadingError(str(context.get("error", details["msg"])), where=where)
    return LoadingError(
        f"{_name(loc)} is not valid",
        where=where,
        expected=_expected(kind, context, str(details["msg"])),
        found=_found(tree, loc),
        hint=_literal_hint(kind, details.get("input"), context),
    )


def _expected(kind: str, context: Mapping[str, Any], message: str) -> str:
    if kind in _TYPE_WORDS:
        return _TYPE_WORDS[kind]
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern"))
        return next((words for start, words in _PATTERN_WORDS.items() if pattern.startswith(start)), pattern)
    return re.sub(r"^Input should be (a valid )?", "", message)


def _literal_hint(kind: str, given: Any, context: Mapping[str, Any]) -> str | None:
    if kind != "literal_error" or not isinstance(given, str):
        return None
    words = re.findall(r"'([^']*)'", str(context.get("expected", "")))
    close = get_close_matches(given, words, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else None


def _found(tree: Tree, loc: Loc) -> str:
    for part in loc:
        if isinstance(tree, MappingTree):
            entry = tree.entry(str(part))
            tree = entry.value if entry is not None else tree
        elif isinstance(tree, SequenceTree) and isinstance(part, int):
            tree = tree.items[part]
    if isinstance(tree, Scalar):
        return _shown(tree.text, loc) if tree.text or not tree.is_plain else "nothing"
    return "a list" if isinstance(tree, SequenceTree) else "keys with values"


def _shown(text: str, loc: Loc) -> str:
    if any(isinstance(part, str) and _SECRET_KEY.search(part) for part in loc):
        return "*** (not shown: it may be a secret)"
    return text if len(text) <= 80 else f"{text[:77]}…"


def _name(loc: Loc) -> str:
    names = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return names.removeprefix(".") or "the document"


def _merge(errors: list[LoadingError]) -> list[LoadingError]:
    """Refusals of one value by several branches of a union become one; errors of other kinds stay apart."""
    refusals = [error for error in errors if error.expected is not None and error.what.endswith("is not valid")]
    others = [error for error in errors if error not in refusals]
    if len(refusals) < 2:
        return errors
    expected = dict.fromkeys(str(error.expected) for error in refusals)
    hint = next((error.hint for error in refusals if error.hint), None)
    first = refusals[0]
    merged = LoadingError(first.what, where=first.where, expected=" or ".join(expected), found=first.found, hint=hint)
    return [merged, *others]


def _keys_at(model: type[BaseModel], loc: Loc) -> list[str]:
    """The keys that the model knows at a location."""
    found: list[Any] = [model]
    for part in loc:
        found = [inner for kind in found for inner in _inner(kind, part)]
    return [
        key for kind in found if isinstance(kind, type) and issubclass(kind, BaseModel) for key in field_types(kind)
    ]


def _inner(kind: Any, part: str | int) -> tuple[Any, ...]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return branches(field_types(kind).get(str(part), Any))
    arguments = get_args(kind)
    if get_origin(kind) is dict:
        return branches(arguments[1])
    return branches(arguments[0]) if arguments else ()
