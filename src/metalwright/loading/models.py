"""A YAML file → one model, with every error at its line and column."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from metalwright.errors import InvalidFilesError
from metalwright.loading.conversion import convert
from metalwright.loading.document import parse_document
from metalwright.loading.files import read_text
from metalwright.loading.messages import misfit_errors, validation_errors
from metalwright.loading.tree import Tree, locate

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Loaded(Generic[M]):
    """A model with the file and the tree that it came from."""

    path: Path
    tree: Tree
    model: M

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
    tree = parse_document(text, str(path))
    conversion = convert(tree, model)
    try:
        value = model.model_validate(conversion.value)
    except ValidationError as error:
        raise InvalidFilesError(validation_errors(error, tree, model, str(path), conversion.misfits)) from None
    if conversion.misfits:
        raise InvalidFilesError(misfit_errors(conversion.misfits, str(path)))
    return Loaded(path, tree, value)
