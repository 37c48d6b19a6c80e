"""A YAML file → one model, with every error at its line and column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from metalwright.errors import InvalidFilesError
from metalwright.loading.conversion import convert
from metalwright.loading.document import parse_document, read_document
from metalwright.loading.files import read_text
from metalwright.loading.messages import misfit_errors, validation_errors
from metalwright.loading.tree import Tree, locate

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


@dataclass(frozen=True)
class Loaded(Generic[M]):
    """A model with the file and the text that it came from."""

    path: Path
    text: str
    model: M

    @cached_property
    def tree(self) -> Tree:
        """The document with its places, parsed when a message first needs one."""
        return parse_document(self.text, str(self.path))

    def where(self, *loc: str | int, key: bool = False) -> str:
        """``path:line:column`` of the value (or key) at ``loc``."""
        position = locate(self.tree, loc, key=key)
        return f"{self.path}:{position.line}:{position.column}"


def load_model(path: Path, model: type[M], *, root: Path) -> Loaded[M]:
    """Read a YAML file as ``model``.

    Raises:
        LoadingError: the file cannot be read.
        InvalidFilesError: everything that is wrong in it, each with ``path:line:column``.
    """
    return parse_model(read_text(path, root=root), model, path)


def parse_model(text: str, model: type[M], path: Path) -> Loaded[M]:
    """As ``load_model``, for text at hand; ``path`` is for messages."""
    known = _remembered.get((model, text)) if _remembered is not None else None
    if known is not None:
        return Loaded(path, text, known)
    conversion = convert(read_document(text, str(path)), model)
    try:
        value = model.model_validate(conversion.value)
    except ValidationError as error:
        tree = parse_document(text, str(path))
        raise InvalidFilesError(validation_errors(error, tree, model, str(path), conversion.misfits)) from None
    if conversion.misfits:
        raise InvalidFilesError(misfit_errors(conversion.misfits, parse_document(text, str(path)), str(path)))
    if _remembered is not None:
        _remembered[model, text] = value
    return Loaded(path, text, value)


def remember(kind: type[T], text: str, read: Callable[[], T]) -> T:
    """What ``read`` makes of a text; inside of :func:`remembered_texts` once for each kind and text."""
    if _remembered is None:
        return read()
    if (kind, text) not in _remembered:
        _remembered[kind, text] = read()
    value: T = _remembered[kind, text]
    return value


_remembered: dict[tuple[type[Any], str], Any] | None = None


@contextmanager
def remembered_texts() -> Iterator[None]:
    """Within it, equal texts give the same model: two states of a site are read at the cost of one."""
    global _remembered
    before, _remembered = _remembered, {} if _remembered is None else _remembered
    try:
        yield
    finally:
        _remembered = before
