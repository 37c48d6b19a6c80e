"""Dependencies of a registry: what other attributes make read-only, hidden, inactive, or force to a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metalwright.bios.expression import Truth, evaluate
from metalwright.bios.registry import Attribute, AttributeRegistry, Condition, Dependency, as_flag
from metalwright.bios.values import is_same, shown


def lock_on(registry: AttributeRegistry, name: str, prop: str, values: Mapping[str, Any]) -> str | None:
    """Why ``prop`` (``ReadOnly``, ``Hidden`` or ``GrayOut``) of an attribute is true under ``values``; else ``None``.

    The last dependency that holds decides. Where dependencies can make ``prop`` true, the attribute's own flag only
    tells how things stood when the registry was exported, so it does not count.
    """
    attribute = registry.attributes[name]
    rules = [item for item in registry.rules_about.get(name, ()) if item.property == prop]
    is_set = {"ReadOnly": attribute.is_read_only, "Hidden": attribute.is_hidden}.get(prop, False)
    reason = "by the registry" if is_set and not any(as_flag(item.value) for item in rules) else None
    for dependency in rules:
        if holds(registry, dependency, values):
            reason = f"while {describe(registry, dependency)}" if as_flag(dependency.value) else None
    return reason


def forced_value(
    registry: AttributeRegistry, name: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[Any, str] | None:
    """The value that other attributes force on this one when ``before`` becomes ``after``, and why.

    A dependency acts at the moment when it begins to hold: machines do keep other values while it holds.
    """
    forced = None
    for dependency in registry.rules_about.get(name, ()):
        if dependency.property != "CurrentValue" or dependency.value is None:
            continue
        is_about_others = all(condition.attribute != name for condition in dependency.conditions)
        if is_about_others and holds(registry, dependency, after) and not holds(registry, dependency, before):
            forced = dependency.value, f"while {describe(registry, dependency)}"
    return forced


def settle(registry: AttributeRegistry, before: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """The values after a reset that brings ``written`` into force: what dependencies force comes with it."""
    previous, after, moved = dict(before), {**before, **written}, set(written)
    for _ in range(len(registry.attributes)):
        forced: dict[str, Any] = {}
        for name in sorted({item.attribute for source in moved for item in registry.rules_from.get(source, ())}):
            new = forced_value(registry, name, previous, after)
            if new is not None and not is_same(registry.attributes[name], after.get(name), new[0]):
                forced[name] = new[0]
        if not forced:
            break
        previous, moved = dict(after), set(forced)
        after.update(forced)
    return after


def holds(registry: AttributeRegistry, dependency: Dependency, values: Mapping[str, Any]) -> bool:
    """Whether the terms are met. What cannot be evaluated does not hold.

    So a dependency can only refuse what it surely refuses; the BMC has the last word, and the read-back shows it.
    """
    terms = [_term(registry, condition, values) for condition in dependency.conditions]
    return evaluate([condition.operators for condition in dependency.conditions], terms) is True


def _term(registry: AttributeRegistry, condition: Condition, values: Mapping[str, Any]) -> Truth:
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
    names = [operator.lower() for condition in dependency.conditions for operator in condition.operators]
    joints = set(names) or {"or"}
    parts = []
    for condition in dependency.conditions:
        value = shown(registry.attributes.get(condition.attribute), condition.value)
        parts.append(f"{condition.attribute} {words.get(condition.comparison, condition.comparison)} {value}")
    joint = f" {joints.pop()} " if len(joints) == 1 else " and/or "
    return joint.join(parts)
