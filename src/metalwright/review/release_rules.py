"""Which versions a change may release, and what it may not touch. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metalwright.model.blueprint import Blueprint
from metalwright.review.differences import blueprint_changes, moved_part, needed_part, version_key
from metalwright.review.rules import PARTS


def predecessor(ref: str, blueprints: Mapping[str, Blueprint]) -> Blueprint | None:
    """The highest version of the same class below ``ref``."""
    name, _, version = ref.partition("@")
    below = [
        item for item in blueprints.values() if item.name == name and version_key(item.version) < version_key(version)
    ]
    return max(below, key=lambda item: version_key(item.version), default=None)


def version_fault(new: Blueprint, blueprints: Mapping[str, Blueprint]) -> tuple[str, str] | None:
    """What is wrong with the number of a new version, and the number that would do; ``None``: it is right."""
    old = predecessor(new.ref, blueprints)
    if old is None:
        return None
    needed, moved = needed_part(old, new), moved_part(old.version, new.version)
    if needed is None or moved is None or PARTS.index(moved) >= PARTS.index(needed):
        return None
    reason = next(item for item in blueprint_changes(old, new) if item.part == needed)
    shown = f"{reason.path}: {reason.from_ or 'not set'} → {reason.to or 'not set'}"
    return f"{new.ref} is a {moved} version of {old.ref}, but {shown} asks for a {needed} one", needed


def broken_releases(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Blueprint and what happened to its record: the lock of the base holds for ever."""
    for ref, digest in before.items():
        if ref not in after:
            yield ref, f"{ref} was released, and its record is gone from blueprints.lock"
        elif after[ref] != digest:
            yield ref, f"{ref} was released with other bytes ({digest[:19]}…, now {after[ref][:19]}…)"
