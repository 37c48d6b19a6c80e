"""The rules of an attribute registry as it is published: type, list, bounds, read-only, dependencies. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

_LOCKS = ("ReadOnly", "GrayOut", "Hidden", "Immutable")


class AttributeRules:
    """``entries`` is ``RegistryEntries`` of an AttributeRegistry, or empty: then only names and types are checked."""

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self._attributes = {item["AttributeName"]: item for item in entries.get("Attributes", [])}
        self._dependencies = [item["Dependency"] for item in entries.get("Dependencies") or [] if "Dependency" in item]

    def defaults(self) -> Json:
        """The default of every attribute that has one and can be written."""
        return {
            name: item["DefaultValue"]
            for name, item in self._attributes.items()
            if item.get("DefaultValue") is not None and not item.get("ReadOnly")
        }

    def judge(self, wanted: Mapping[str, Any], current: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Reasons to refuse ``wanted``: (attribute, key of a Base message)."""
        after = {**current, **wanted}
        found = [(name, self._judge(name, value, current, after)) for name, value in wanted.items()]
        return [(name, key) for name, key in found if key is not None]

    def _judge(self, name: str, value: Any, current: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
        if name not in current:
            return "PropertyUnknown"
        item = self._attributes.get(name)
        if item is None and self._attributes:
            return "PropertyNotWritable"
        if item is None:
            same = current[name] is None or isinstance(value, type(current[name]))
            return None if same else "PropertyValueTypeError"
        if any(item.get(lock) for lock in _LOCKS) or self.is_locked(name, after):
            return "PropertyNotWritable"
        return _judge_value(item, value)

    def is_locked(self, name: str, values: Mapping[str, Any]) -> bool:
        """Whether a dependency makes ``name`` not writable under ``values``."""
        return any(
            rule.get("MapToAttribute") == name
            and rule.get("MapToProperty") in _LOCKS
            and rule.get("MapToValue") is True
            and _holds(rule.get("MapFrom", []), values)
            for rule in self._dependencies
        )


def _holds(terms: list[Json], values: Mapping[str, Any]) -> bool:
    result = False
    for position, term in enumerate(terms):
        value, wanted = values.get(term.get("MapFromAttribute", "")), term.get("MapFromValue")
        is_met = (value == wanted) if term.get("MapFromCondition") == "EQU" else (value != wanted)
        if position == 0:
            result = is_met
        elif term.get("MapTerms") == "OR":
            result = result or is_met
        else:
            result = result and is_met
    return result


def _judge_value(item: Json, value: Any) -> str | None:
    kind = item.get("Type")
    if kind == "Boolean":
        return None if isinstance(value, bool) else "PropertyValueTypeError"
    if kind == "Integer":
        return _judge_integer(item, value)
    if not isinstance(value, str):
        return "PropertyValueTypeError"
    if kind == "Enumeration":
        values = [choice.get("ValueName") for choice in item.get("Value", [])]
        return None if value in values else "PropertyValueNotInList"
    return "StringValueTooLong" if len(value) > (item.get("MaxLength") or 10_000) else None


def _judge_integer(item: Json, value: Any) -> str | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return "PropertyValueTypeError"
    lower, upper = item.get("LowerBound"), item.get("UpperBound")
    is_outside = (lower is not None and value < lower) or (upper is not None and value > upper)
    is_between = (value - (lower or 0)) % (item.get("ScalarIncrement") or 1) != 0
    return "PropertyValueOutOfRange" if is_outside or is_between else None
