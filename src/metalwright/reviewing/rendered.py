"""The files that nodes get at both states, and how they differ."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from metalwright.errors import MetalwrightError
from metalwright.imaging.seed import render_seed
from metalwright.loading.trees import file_digests
from metalwright.model.phase import Phase
from metalwright.model.repository import SiteRepository
from metalwright.model.review import FileChange, NodeImpact, SiteChange
from metalwright.node_files import node_data, node_files
from metalwright.node_networks import network_files, stack_of
from metalwright.review.groups import group_nodes
from metalwright.review.impact import Impact
from metalwright.reviewing.diffs import unified_diff
from metalwright.templates import render

RENDERED_ONE_BY_ONE = 200
"""Above so many affected nodes, one of each group is rendered and stands for the others."""

MOST_SOURCES = 20
"""Above so many differing files of deploys and templates, the rest is a number."""

_ADDRESS = re.compile(r"\b\d{1,3}(\.\d{1,3}){3}\b|\b[0-9a-f]*(:[0-9a-f]*){2,}")
_WORD_ENDS = re.compile(r"[\s,;]+")

Key = tuple[Phase, str]
"""Which phase writes a file, and its path on the node."""

Rendered = dict[str, dict[Key, str]]
"""Node → file → text."""


def render_both(
    before: SiteRepository, after: SiteRepository, base_root: Path, head_root: Path, impact: Impact
) -> tuple[Rendered, Rendered]:
    """The files of both states, for the nodes that are in both and on which a phase will act."""
    moving = [node for node in impact.nodes if node.base and node.blueprint and node.phases]
    if len(moving) > RENDERED_ONE_BY_ONE:
        moving = [group.first for group in group_nodes(moving)]
    names = [node.node for node in moving]
    return _rendered(before, base_root, names), _rendered(after, head_root, names)


def _rendered(repository: SiteRepository, root: Path, nodes: Iterable[str]) -> Rendered:
    templates = root / "templates"
    return {
        node: {**_texts(Phase.IMAGE, _seed(templates, repository, node)),
               **_texts(Phase.SOFTWARE, _software(templates, repository, node))}
        for node in nodes
    }  # fmt: skip


def _texts(phase: Phase, files: Iterator[tuple[str, str]]) -> dict[Key, str]:
    """What can be rendered; the error stands for the rest."""
    found: dict[Key, str] = {}
    try:
        for path, text in files:
            found[phase, path] = text
    except MetalwrightError as error:
        found[phase, "(cannot be rendered)"] = f"{error.what}\n"
    return found


def _seed(templates: Path, repository: SiteRepository, node: str) -> Iterator[tuple[str, str]]:
    networks = stack_of(repository, node).directory
    for file in render_seed(templates, repository, node, ()).files:
        if not file.path.startswith(networks):
            yield file.path, file.text


def _software(templates: Path, repository: SiteRepository, node: str) -> Iterator[tuple[str, str]]:
    for file in node_files(node_data(repository, repository.node(node))):
        yield file.path, render(templates, f"node/{file.template}", file.values)
    for file in network_files(repository, node):
        yield file.path, render(templates, f"seed/{file.template}", file.values)


def with_files(
    nodes: list[NodeImpact], before: Rendered, after: Rendered
) -> tuple[tuple[NodeImpact, ...], tuple[FileChange, ...]]:
    """Nodes with the paths that differ, and one diff for each file and kind of difference."""
    changed = {node: _changed(before[node], after[node]) for node in before}
    marked = [
        item.model_copy(update={"files": tuple(path for _, path in changed.get(item.node, ()))}) for item in nodes
    ]
    shown: dict[tuple[Key, str], list[str]] = {}
    for node, keys in changed.items():
        for key in keys:
            kind = _kind(before[node].get(key, ""), after[node].get(key, ""), node)
            shown.setdefault((key, kind), []).append(node)
    files = []
    for (key, _), members in shown.items():
        first = members[0]
        diff = unified_diff(before[first].get(key, ""), after[first].get(key, ""))
        written_by: Literal["image", "software"] = "image" if key[0] is Phase.IMAGE else "software"
        files.append(FileChange(path=key[1], written_by=written_by, node=first, nodes=len(members), diff=diff))
    return tuple(marked), tuple(files)


def recipe_changes(base_root: Path, head_root: Path, nodes: int) -> Iterator[SiteChange]:
    """Files of ``deploys/``, ``templates/`` and ``inventory/group_data/`` that differ: every recipe is made of them."""
    before, after = file_digests(base_root), file_digests(head_root)
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    for name in names[:MOST_SOURCES]:
        what = "is new" if name not in before else "is gone" if name not in after else "changes"
        yield SiteChange(section="Recipe", what=f"{name} {what}", nodes=nodes)
    if len(names) > MOST_SOURCES:
        yield SiteChange(section="Recipe", what=f"{len(names) - MOST_SOURCES} more files differ", nodes=nodes)


def _changed(before: dict[Key, str], after: dict[Key, str]) -> tuple[Key, ...]:
    return tuple(key for key in dict.fromkeys((*before, *after)) if before.get(key) != after.get(key))


def _kind(before: str, after: str, node: str) -> str:
    """The kind of a difference: the words that differ, without the node's own name and addresses.

    What stands around them in the same line, or near by, may be each node's own.
    """
    old, new = before.splitlines(), after.splitlines()
    found: list[object] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if tag == "replace" and i2 - i1 == j2 - j1:
            found += [_differing_words(*lines) for lines in zip(old[i1:i2], new[j1:j2], strict=True)]
        elif tag != "equal":
            found.append((old[i1:i2], new[j1:j2]))
    return _ADDRESS.sub("…", repr(found).replace(node, "…"))


def _differing_words(old: str, new: str) -> object:
    before, after = _WORD_ENDS.split(old), _WORD_ENDS.split(new)
    if len(before) != len(after):
        return old, new
    return [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
