"""Single values of a YAML file replaced where they stand: every other byte, comments and order included, stays."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from metalwright.errors import LoadingError
from metalwright.loading.files import read_bytes, write_atomically
from metalwright.loading.models import Loaded, M
from metalwright.loading.tree import Entry, Scalar, Tree
from metalwright.loading.tree import Mapping as MappingTree
from metalwright.loading.tree import Sequence as SequenceTree

Place = tuple[str | int, ...]
"""Keys and indexes from the top of the document."""

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@/+-]*(:[A-Za-z0-9_.@/+-]+)*")
_QUOTED = {'"': re.compile(r'"(?:[^"\\]|\\.)*"'), "'": re.compile(r"'(?:[^']|'')*'")}
_BOM = b"\xef\xbb\xbf"


def with_scalars(loaded: Loaded[M], values: Mapping[Place, str]) -> str:
    """The text with these values in place of those that it has; a value keeps its quotes.

    Raises:
        LoadingError: there is no single value on one line at such a place.
    """
    spots = sorted(
        ((_scalar(loaded, place), place, value) for place, value in values.items()), key=lambda spot: spot[0].position
    )
    lines = loaded.text.split("\n")
    for scalar, place, value in reversed(spots):
        number, column = scalar.position.line - 1, scalar.position.column - 1
        before, after = lines[number][:column], lines[number][column:]
        written = _written(scalar, after)
        if written is None:
            raise _not_simple(loaded, place)
        lines[number] = f"{before}{_as_before(written, value)}{after[len(written) :]}"
    return "\n".join(lines)


def write_keeping_form(path: Path, text: str, *, root: Path) -> None:
    """Write a text over a file, with the byte-order mark and the line ends that the file has.

    Raises:
        LoadingError: cannot be read or written.
    """
    old = read_bytes(path, root=root)
    new = text.replace("\n", "\r\n") if b"\r\n" in old else text
    mark = _BOM if old.startswith(_BOM) else b""
    write_atomically(path, mark + new.encode(), mode=path.stat().st_mode & 0o777)


def _scalar(loaded: Loaded[M], place: Sequence[str | int]) -> Scalar:
    tree: Tree | None = loaded.tree
    for part in place:
        tree = _below(tree, part)
    if not isinstance(tree, Scalar):
        raise _not_simple(loaded, place)
    return tree


def _below(tree: Tree | None, part: str | int) -> Tree | None:
    if isinstance(tree, SequenceTree) and isinstance(part, int) and part < len(tree.items):
        return tree.items[part]
    entry: Entry | None = tree.entry(str(part)) if isinstance(tree, MappingTree) else None
    return entry.value if entry is not None else None


def _written(scalar: Scalar, rest: str) -> str | None:
    """The characters of the value in the rest of its line; ``None`` when it goes on in the next line, or is empty."""
    if scalar.is_plain:
        return scalar.text if scalar.text and rest.startswith(scalar.text) else None
    found = _QUOTED[rest[:1]].match(rest) if rest[:1] in _QUOTED else None
    return found[0] if found is not None else None


def _as_before(written: str, value: str) -> str:
    """The value in the quotes of the old one; one that is no simple word, or reads as nothing, gets quotes."""
    if written.startswith('"') or not _SAFE.fullmatch(value) or value.lower() == "null":
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}'" if written.startswith("'") else value


def _not_simple(loaded: Loaded[M], place: Sequence[str | int]) -> LoadingError:
    return LoadingError(
        "the value cannot be replaced where it stands",
        where=loaded.where(*place),
        expected=f"one value on one line for {'.'.join(map(str, place))}",
        hint="edit the file by hand",
    )
