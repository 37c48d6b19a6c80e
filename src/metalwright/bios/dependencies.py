"""Dependencies of a registry: what other attributes make read-only, hidden, or force to a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metalwright.bios.registry import Attribute, AttributeRegistry, Condition, Dependency, as_flag
from metalwright.bios.values import is_same, shown


def lock_on(registry: AttributeRegistry, name: str, prop: str, values: Mapping[str, Any]) -> str | None:
    """Why ``prop`` (``ReadOnly`` or ``Hidden``) of an attribute is true under ``values``; ``None`` if it is not.

    The last dependency that holds decides. Where dependencies can make ``prop`` true, the attribute's own flag only
    tells how things stood when the registry was exported, so it does not count.
    """
    attribute = registry.attributes[name]
    rules = [item for item in registry.dependencies if item.attribute == name and item.property == prop]
    is_set = attribute.is_read_only if prop == "ReadOnly" else attribute.is_hidden
    reason = "by the registry" if is_set and not any(as_flag(item.value) for item in rules) else None
    for dependency in rules:
        if holds(registry, dependency, values):
            reason = f"while {describe(registry, dependency)}" if as_flag(dependency.value) else None
    return reason


def forced_value(registry: AttributeRegistry, name: str, values: Mapping[str, Any]) -> tuple[Any, str] | None:
    """The value that other attributes force on this one under ``values``, and why."""
    forced = None
    for dependency in registry.dependencies:
        if dependency.attribute != name or dependency.property != "CurrentValue" or dependency.value is None:
            continue
        if all(condition.attribute != name for condition in dependency.conditions) and holds(
            registry, dependency, values
        ):
            forced = dependency.value, f"while {describe(registry, dependency)}"
    return forced


def holds(registry: AttributeRegistry, dependency: Dependency, values: Mapping[str, Any]) -> bool:
    """Whether all terms are met, joined from left to right. What cannot be evaluated does not hold.

    So a dependency can only refuse what it surely refuses; the BMC has the last word, and the read-back shows it.
    """
    result: bool | None = None
    for condition in dependency.conditions:
        term = _term(registry, condition, values)
        if term is None or condition.joined_by not in ("AND", "OR"):
            return False
        is_or = condition.joined_by == "OR" and result is not None
        result = (result or term) if is_or else (result is not False and term)
    return bool(result)


def _term(registry: AttributeRegistry, condition: Condition, values: Mapping[str, Any]) -> bool | None:
    if condition.property != "CurrentValue" or condition.attribute not in values:
        return None
    value = values[condition.attribute]
    attribute = registry.attributes.get(condition.attribute) or Attribute(condition.attribute, "String")
    if condition.comparison in ("EQU", "NEQ"):
        return is_same(attribute, value, condition.value) is (condition.comparison == "EQU")
    return _ordered(condition.comparison, value, condition.value)


def _ordered(comparison: str, value: Any, bound: Any) -> bool | None:
    try:
        left, right = float(value), float(bound)
    except (TypeError, ValueError):
        return None
    answers = {"GTR": left > right, "GEQ": left >= right, "LSS": left < right, "LEQ": left <= right}
    return answers.get(comparison)


def describe(registry: AttributeRegistry, dependency: Dependency) -> str:
    """The terms of a dependency in words."""
    words = {"EQU": "is", "NEQ": "is not", "GTR": ">", "GEQ": ">=", "LSS": "<", "LEQ": "<="}
    parts = []
    for number, condition in enumerate(dependency.conditions):
        joint = f" {condition.joined_by.lower()} " if number else ""
        value = shown(registry.attributes.get(condition.attribute), condition.value)
        comparison = words.get(condition.comparison, condition.comparison)
        parts.append(f"{joint}{condition.attribute} {comparison} {value}")
    return "".join(parts)
