"""From a machine that is set up well to the attributes of a blueprint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metalwright.bios.dependencies import lock_on
from metalwright.bios.registry import AttributeRegistry, Value
from metalwright.bios.values import ValueProblem, is_same, to_send


@dataclass(frozen=True)
class GoldenProfile:
    """``attributes`` to declare; ``unjudged`` have no default in the registry: nobody can tell whether they differ."""

    attributes: Mapping[str, str | int | bool]
    unjudged: tuple[str, ...]


def golden_profile(
    registry: AttributeRegistry, current: Mapping[str, Any], *, with_unjudged: bool = False
) -> GoldenProfile:
    """What makes this machine other than a fresh one: writable attributes that differ from their default.

    Left out are secrets, what is locked or hidden as the machine stands, what belongs to one machine alone, and values
    without usable form.
    """
    found: dict[str, str | int | bool] = {}
    unjudged = []
    for name in sorted(registry.attributes):
        attribute, value = registry.attributes[name], current.get(name)
        if not _can_be_declared(registry, name, value, current):
            continue
        if attribute.default is None:
            unjudged.append(name)
            if not with_unjudged:
                continue
        elif is_same(attribute, attribute.default, value):
            continue
        if isinstance(value, (str, int)):
            found[name] = value
    return GoldenProfile(found, tuple(unjudged))


def _can_be_declared(registry: AttributeRegistry, name: str, value: Value, current: Mapping[str, Any]) -> bool:
    attribute = registry.attributes[name]
    if value is None or attribute.is_secret or attribute.is_unique:
        return False
    if any(lock_on(registry, name, prop, current) is not None for prop in ("ReadOnly", "Hidden")):
        return False
    try:
        to_send(attribute, value, value)
    except ValueProblem:
        return False
    return True
