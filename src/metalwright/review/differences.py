"""Two versions of a blueprint → what differs, in the words of its sections. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from metalwright.model.blueprint import Blueprint
from metalwright.model.review import BlueprintChange, Part
from metalwright.review.rules import PARTS, rule_of

_NAMED_BY = {"nics": "role", "drives": "role", "network": "role", "acceptance": "test", "cabling": "port"}
_IGNORED = (("schema",), ("name",), ("version",), ("rollback", "previous"))
"""What every new version changes."""

Path = tuple[str, ...]


def blueprint_changes(old: Blueprint, new: Blueprint) -> tuple[BlueprintChange, ...]:
    """Every value that differs, in the order of the sections, without what every new version changes."""
    before, after = _flat(old), _flat(new)
    paths = dict.fromkeys((*before, *after))
    changed = [path for path in paths if before.get(path) != after.get(path)]
    order = {name: index for index, name in enumerate(old.to_json())}
    changed.sort(key=lambda path: order[path[0]])
    return tuple(_change(old, new, path, before.get(path), after.get(path)) for path in changed)


def needed_part(old: Blueprint, new: Blueprint) -> Part | None:
    """The smallest part of the version that has to move for this change; ``None`` when nothing changed."""
    parts = [change.part for change in blueprint_changes(old, new)]
    return max(parts, key=PARTS.index, default=None)


def moved_part(old: str, new: str) -> Part | None:
    """The part of ``major.minor.patch`` that moved up; ``None`` when the new version is not above the old one."""
    before, after = version_key(old), version_key(new)
    if after <= before:
        return None
    first = next(index for index in range(3) if before[index] != after[index])
    return PARTS[2 - first]


def next_version(version: str, part: Part) -> str:
    """The version after this one.

    >>> next_version("1.2.3", "minor")
    '1.3.0'
    """
    major, minor, patch = version_key(version)
    if part == "major":
        return f"{major + 1}.0.0"
    return f"{major}.{minor + 1}.0" if part == "minor" else f"{major}.{minor}.{patch + 1}"


def version_key(version: str) -> tuple[int, int, int]:
    """Sort key of ``major.minor.patch``."""
    major, minor, patch = version.split(".")
    return int(major), int(minor), int(patch)


def _change(old: Blueprint, new: Blueprint, path: Path, was: str | None, becomes: str | None) -> BlueprintChange:
    rule = rule_of(path)
    return BlueprintChange(
        blueprint=new.ref,
        base=old.ref,
        section=rule.title,
        path=".".join(path),
        from_=was,
        to=becomes,
        risk=rule.risk,
        part="major" if _is_weaker_proof(path, was, becomes) else rule.part,
        phase=rule.phase,
        reboots=rule.reboots,
    )


def _is_weaker_proof(path: Path, was: str | None, becomes: str | None) -> bool:
    """A test that goes, or a floor that falls, takes back what the class promised."""
    if path[0] != "acceptance" or was is None:
        return False
    if becomes is None:
        return path[2:] in ((), ("test",), ("floor",))
    return path[2:] == ("floor",) and float(becomes) < float(was)


def _flat(blueprint: Blueprint) -> dict[Path, str]:
    """Path → value as text, nothing for what is not set. Lists whose items have a name are keyed by it."""
    found: dict[Path, str] = {}
    for name, value in blueprint.to_json().items():
        found.update(_leaves((name,), value))
    return {path: value for path, value in found.items() if path not in _IGNORED}


def _leaves(path: Path, value: Any) -> Iterator[tuple[Path, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves((*path, key), item)
    elif isinstance(value, list) and path[-1] in _NAMED_BY:
        for name, item in _named(value, _NAMED_BY[path[-1]]):
            yield from _leaves((*path, name), item)
    elif isinstance(value, list):
        if value:
            yield path, ", ".join(map(str, value))
    elif value is not None and value is not False:
        yield path, "yes" if value is True else _number(value)


def _named(items: list[dict[str, Any]], key: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Items by name; a second one of the same name gets a number."""
    seen: dict[str, int] = {}
    for item in items:
        name = str(item[key])
        seen[name] = seen.get(name, 0) + 1
        rest = {inner: value for inner, value in item.items() if inner != key}
        yield name if seen[name] == 1 else f"{name}#{seen[name]}", rest or {key: name}


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and value < 1e15 else str(value)
