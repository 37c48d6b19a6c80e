"""The files that nodes get at both states, and how they differ."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path

from metalwright.errors import MetalwrightError
from metalwright.imaging.seed import render_seed
from metalwright.model.repository import SiteRepository
from metalwright.model.review import FileChange, NodeImpact
from metalwright.review.groups import group_nodes
from metalwright.review.impact import Impact

RENDERED_ONE_BY_ONE = 200
"""Above so many affected nodes, one of each group is rendered and stands for the others."""

Rendered = dict[str, dict[str, str]]


def render_both(
    before: SiteRepository, after: SiteRepository, base_root: Path, head_root: Path, impact: Impact
) -> tuple[Rendered, Rendered]:
    """Node → path → text at both states, for the nodes that are in both and for which anything differs."""
    moving = [node for node in impact.nodes if node.base and node.blueprint]
    if len(moving) > RENDERED_ONE_BY_ONE:
        moving = [group.first for group in group_nodes(moving)]
    names = [node.node for node in moving]
    return _seeds(before, base_root, names), _seeds(after, head_root, names)


def _seeds(repository: SiteRepository, root: Path, nodes: Iterable[str]) -> Rendered:
    found: Rendered = {}
    for node in nodes:
        try:
            seed = render_seed(root / "templates", repository, node, ())
        except MetalwrightError as error:
            found[node] = {"(cannot be rendered)": f"{error.what}\n"}
        else:
            found[node] = {file.path: file.text for file in seed.files}
    return found


def with_files(
    nodes: list[NodeImpact], before: Rendered, after: Rendered
) -> tuple[tuple[NodeImpact, ...], tuple[FileChange, ...]]:
    """Nodes with the paths that differ, and one diff for each path and kind of difference."""
    changed = {node: _changed_paths(before[node], after[node]) for node in before}
    marked = [item.model_copy(update={"files": changed.get(item.node, ())}) for item in nodes]
    shown: dict[tuple[str, str], list[str]] = {}
    for node, paths in changed.items():
        for path in paths:
            diff = _diff(before[node].get(path, ""), after[node].get(path, ""))
            shown.setdefault((path, _without_numbers(diff)), []).append(node)
    files = []
    for (path, _), members in shown.items():
        first = members[0]
        diff = _diff(before[first].get(path, ""), after[first].get(path, ""))
        files.append(FileChange(path=path, node=first, nodes=len(members), diff=diff))
    return tuple(marked), tuple(files)


def _changed_paths(before: dict[str, str], after: dict[str, str]) -> tuple[str, ...]:
    return tuple(path for path in dict.fromkeys((*before, *after)) if before.get(path) != after.get(path))


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    return "\n".join(list(lines)[2:])


def _without_numbers(diff: str) -> str:
    """The kind of a difference: what is left when the node's own addresses are taken out."""
    return re.sub(r"[0-9a-f]+([:.][0-9a-f]+)+", "…", diff)
