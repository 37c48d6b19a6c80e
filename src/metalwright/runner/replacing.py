"""Replaced parts written to the rack file of their node, as a change that people review and commit."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metalwright.errors import InvalidFilesError, LoadingError, UsageError
from metalwright.loading import Loaded, SitePaths, parse_model
from metalwright.loading.scalars import with_scalars, write_keeping_form
from metalwright.loading.site_files import read_site_files
from metalwright.model.drift import Replacement
from metalwright.model.rack import Node, Rack


@dataclass(frozen=True)
class Written:
    """A rack file that was changed: its path in the repository, and the change as a unified diff."""

    path: Path
    diff: str


def write_replacements(paths: SitePaths, node: str, replacements: Sequence[Replacement]) -> Written:
    """Put the new values of a node in the place of the old ones; comments, order and every other value stay.

    Raises:
        UsageError: no rack file has the node.
        LoadingError: the file changed meanwhile, a value cannot be replaced where it stands, or the file cannot be
            written. Nothing was written.
    """
    loaded, index = _rack_of(paths, node)
    _require_same(loaded, index, replacements)
    text = with_scalars(loaded, {("nodes", index, *item.path): item.becomes for item in replacements})
    wanted = _with(loaded.model.nodes[index], replacements)
    try:
        made = parse_model(text, Rack, loaded.path).model
    except InvalidFilesError as error:
        raise _refused(loaded, node, str(error.errors[0].what)) from error
    expected = [wanted if number == index else item for number, item in enumerate(loaded.model.nodes)]
    if made != loaded.model.model_copy(update={"nodes": tuple(expected)}):
        raise _refused(loaded, node, "the change would touch other values as well")
    write_keeping_form(loaded.path, text, root=paths.root)
    name = loaded.path.relative_to(paths.root)
    lines = difflib.unified_diff(loaded.text.splitlines(), text.splitlines(), f"a/{name}", f"b/{name}", lineterm="")
    return Written(name, "\n".join(lines))


def _rack_of(paths: SitePaths, node: str) -> tuple[Loaded[Rack], int]:
    for rack in read_site_files(paths.root).racks:
        for index, item in enumerate(rack.model.nodes):
            if item.name == node:
                return rack, index
    raise UsageError("no rack file has this node", where=node)


def _require_same(loaded: Loaded[Rack], index: int, replacements: Sequence[Replacement]) -> None:
    """The file still has the values that the machine was compared with."""
    entry = loaded.model.nodes[index].to_json()
    for item in replacements:
        now = _value(entry, item.path)
        if now != item.was:
            raise LoadingError(
                "the rack file changed while the machine was read",
                where=loaded.where("nodes", index, *item.path),
                expected=item.was,
                found=str(now),
                hint="run it again",
            )


def _value(entry: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        entry = entry[part] if not isinstance(part, int) or part < len(entry) else None
        if entry is None:
            return None
    return entry


def _with(node: Node, replacements: Sequence[Replacement]) -> Node:
    entry: Any = node.to_json()
    for item in replacements:
        inner = entry
        for part in item.path[:-1]:
            inner = inner[part]
        inner[item.path[-1]] = item.becomes
    return Node.model_validate_json(json.dumps(entry))


def _refused(loaded: Loaded[Rack], node: str, why: str) -> LoadingError:
    return LoadingError(
        f"the new values of {node} cannot be written", where=str(loaded.path), found=why, hint="edit the file by hand"
    )
