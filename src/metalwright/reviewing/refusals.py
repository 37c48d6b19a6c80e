"""What a change may not do, each with its rule and its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from metalwright.errors import LoadingError
from metalwright.loading import linked_trees, read_blueprint_lock
from metalwright.loading.blueprint_lock import read_records
from metalwright.model.repository import SiteRepository
from metalwright.model.review import Refusal
from metalwright.review.impact import Impact
from metalwright.review.release_rules import broken_releases, version_fault
from metalwright.reviewing.circumstances import Circumstances

MOST_REMOVED = 3
"""Nodes that one change may remove where no policy says otherwise."""


MEND_IT = "mend it at this place; `metalwright check` says when it is right, and the schema what may stand there"
"""For errors that say all that there is to say."""


def refusal_of(error: LoadingError, root: Path) -> Refusal:
    """An error of a file below ``root``, its place without that directory."""
    place = re.fullmatch(r"(?P<file>.*?)(:(?P<line>\d+):(?P<column>\d+))?", error.where)
    file, line, column = place.group("file", "line", "column") if place is not None else (error.where, None, None)
    details = [f"expected {error.expected}"] if error.expected else []
    details += [f"found {error.found}"] if error.found else []
    what = f"{error.what}: {', '.join(details)}" if details else error.what
    return Refusal(
        rule=error.rule,
        file=relative(file, root),
        line=int(line) if line else None,
        column=int(column) if column else None,
        what=relative(what, root),
        hint=relative(error.hint, root) if error.hint else MEND_IT,
    )


def relative(text: str, root: Path) -> str:
    """A text without the directory that a state was written to."""
    return text.replace(f"{root}/", "").replace(str(root), ".")


def broken_locks(base_root: Path, head_root: Path) -> Iterator[Refusal]:
    """Releases of the base that the head takes back or changes."""
    if linked_trees(head_root):
        return  # the reading of the head says it
    try:
        before, after = read_blueprint_lock(base_root), read_records(head_root)
    except LoadingError:
        return  # the reading of that state says it
    for ref, what in broken_releases(before, {ref: digest for ref, (digest, _) in after.items()}):
        name, _, version = ref.partition("@")
        hint = "a released version never changes: put the change into a new one"
        yield Refusal(rule="releases", file=f"blueprints/{name}/{version}.yaml", what=what, hint=hint)


def wrong_versions(before: SiteRepository, after: SiteRepository) -> Iterator[Refusal]:
    """New versions whose number promises less than they change."""
    for ref in sorted(after.blueprints.keys() - before.blueprints.keys()):
        fault = version_fault(after.blueprints[ref], after.blueprints)
        if fault is not None:
            file = f"blueprints/{after.blueprints[ref].name}/{after.blueprints[ref].version}.yaml"
            hint = f"metalwright blueprint bump --part {fault[1]} makes the right number"
            yield Refusal(rule="version", file=file, what=fault[0], hint=hint)


def unreleased_pins(head_root: Path, impact: Impact) -> Iterator[Refusal]:
    """Versions that nodes come to stand on, or stand on with another text, and whose bytes no lock holds.

    What was reviewed could change under the nodes after the merge. One that nodes stood on before stays a warning.
    """
    released = read_records(head_root)
    edited = {change.blueprint for change in impact.changes if change.base == change.blueprint}
    moved: dict[str, list[str]] = {}
    for node in impact.nodes:
        ref = node.blueprint
        if ref and ref not in released and (node.base != ref or ref in edited):
            moved.setdefault(ref, []).append(node.node)
    for ref, names in sorted(moved.items()):
        name, _, version = ref.partition("@")
        yield Refusal(
            rule="unreleased",
            file=f"blueprints/{name}/{version}.yaml",
            what=f"{ref} is not in blueprints.lock, so its file could change under {_named(names)} after this review",
            hint=f"metalwright blueprint release {ref}",
        )


def too_many_removals(before: SiteRepository, impact: Impact, given: Circumstances) -> Iterator[Refusal]:
    """Too many nodes leave at once. A policy of the site takes the place of this rule; so does a number given."""
    policies = before.policies.policies if before.policies is not None else ()
    if any(policy.kind == "removals" for policy in policies):
        return
    most = MOST_REMOVED if given.may_remove is None else given.may_remove
    count = len(impact.removed)
    if count > most:
        yield Refusal(
            rule="removals",
            file="inventory/racks",
            what=f"{count} nodes leave the inventory, more than {most} in one change: {_named(impact.removed)}",
            hint=f"if that is meant: --may-remove {count}",
        )


def _named(nodes: Sequence[str]) -> str:
    """Some names, and how many more."""
    return ", ".join(nodes[:5]) + (f" and {len(nodes) - 5} more" if len(nodes) > 5 else "")
