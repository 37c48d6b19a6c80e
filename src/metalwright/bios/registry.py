"""The Redfish AttributeRegistry of a BIOS, read with tolerance for what vendors really send."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_SECRET_NAME = re.compile(r"password|passphrase|secret", re.IGNORECASE)

Value = str | int | float | bool | None
"""A value as Redfish carries it."""


@dataclass(frozen=True)
class Choice:
    """One value of an enumeration. Vendors disagree on which of the two names ``Bios.Attributes`` carries."""

    name: str
    display: str


@dataclass(frozen=True)
class Attribute:
    """One attribute. ``None`` where the registry says nothing."""

    name: str
    type: str
    display: str = ""
    is_read_only: bool = False
    is_hidden: bool = False
    choices: tuple[Choice, ...] = ()
    lower: int | None = None
    upper: int | None = None
    step: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    expression: str | None = None
    default: Value = None
    is_unique: bool = False
    help: str = field(default="", compare=False)

    @property
    def is_secret(self) -> bool:
        """Whether its value must never be shown. Some vendors declare secrets as plain text (CHAP secrets, hashes)."""
        return self.type == "Password" or (self.type == "String" and _SECRET_NAME.search(self.name) is not None)


@dataclass(frozen=True)
class Condition:
    """One term of a dependency: property ``property`` of ``attribute`` compared with ``value``.

    ``operators`` (``AND``, ``OR``, ``NOT``) are those written at this term; :mod:`metalwright.bios.expression` joins
    them.
    """

    attribute: str
    property: str
    comparison: str
    value: Value
    operators: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dependency:
    """When ``conditions`` hold, property ``property`` of ``attribute`` becomes ``value``."""

    attribute: str
    property: str
    value: Value
    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class AttributeRegistry:
    """All attributes by name. ``is_inferred``: the BMC offers no registry, types come from present values."""

    id: str
    attributes: Mapping[str, Attribute]
    dependencies: tuple[Dependency, ...] = ()
    is_inferred: bool = False
    by_display: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def rules_about(self) -> Mapping[str, tuple[Dependency, ...]]:
        """Attribute → the dependencies that change one of its properties, in the order of the registry."""
        found: dict[str, list[Dependency]] = {}
        for dependency in self.dependencies:
            found.setdefault(dependency.attribute, []).append(dependency)
        return {name: tuple(rules) for name, rules in found.items() if name in self.attributes}

    @cached_property
    def rules_from(self) -> Mapping[str, tuple[Dependency, ...]]:
        """Attribute → the dependencies that look at it and force the value of another known one."""
        found: dict[str, list[Dependency]] = {}
        for dependency in self.dependencies:
            if dependency.property == "CurrentValue" and dependency.attribute in self.attributes:
                for name in dict.fromkeys(condition.attribute for condition in dependency.conditions):
                    found.setdefault(name, []).append(dependency)
        return {name: tuple(rules) for name, rules in found.items()}

    def name_of(self, written: str) -> str | None:
        """The attribute that a blueprint means: by its name, else by its display name where only one has it."""
        if written in self.attributes:
            return written
        names = self.by_display.get(written.strip(), ())
        return names[0] if len(names) == 1 else None


def parse_registry(body: Mapping[str, Any]) -> AttributeRegistry:
    """A registry from its Redfish JSON. What has no usable form is left out, never a crash."""
    entries = _mapping(body.get("RegistryEntries"))
    attributes = {
        attribute.name: attribute for item in _list(entries.get("Attributes")) if (attribute := _attribute(item))
    }
    dependencies = (_dependency(item) for item in _list(entries.get("Dependencies")))
    displays: dict[str, tuple[str, ...]] = {}
    for attribute in attributes.values():
        if attribute.display and not attribute.is_hidden:
            displays[attribute.display] = (*displays.get(attribute.display, ()), attribute.name)
    return AttributeRegistry(
        id=_text(body.get("Id")) or "unnamed registry",
        attributes=attributes,
        dependencies=tuple(item for item in dependencies if item is not None),
        by_display=displays,
    )


def infer_registry(current: Mapping[str, Any]) -> AttributeRegistry:
    """A registry for a BMC that offers none: every present attribute, writable, of the type of its value."""
    kinds = {bool: "Boolean", int: "Integer", str: "String"}
    attributes = {
        name: Attribute(name=name, type=kinds[type(value)]) for name, value in current.items() if type(value) in kinds
    }
    return AttributeRegistry(id="inferred from present values", attributes=attributes, is_inferred=True)


def _attribute(item: Any) -> Attribute | None:
    entry = _mapping(item)
    name = _text(entry.get("AttributeName"))
    if not name:
        return None
    return Attribute(
        name=name,
        type=_text(entry.get("Type")) or "String",
        display=(_text(entry.get("DisplayName")) or "").strip(),
        is_read_only=_flag(entry, "ReadOnly", "Readonly", "Immutable"),
        is_hidden=_flag(entry, "Hidden"),
        choices=tuple(choice for value in _list(entry.get("Value")) if (choice := _choice(value))),
        lower=_number(entry.get("LowerBound")),
        upper=_number(entry.get("UpperBound")),
        step=_number(entry.get("ScalarIncrement")),
        min_length=_number(entry.get("MinLength")),
        max_length=_number(entry.get("MaxLength")),
        expression=_text(entry.get("ValueExpression")),
        default=_scalar(entry.get("DefaultValue")),
        is_unique=_flag(entry, "IsSystemUniqueProperty"),
        help=_text(entry.get("HelpText")) or "",
    )


def _choice(value: Any) -> Choice | None:
    if isinstance(value, str):
        return Choice(value, value)
    entry = _mapping(value)
    name = entry.get("ValueName")
    if name is None:
        return None
    display = entry.get("ValueDisplayName")
    return Choice(str(name), str(name) if display in (None, "") else str(display))


def _dependency(item: Any) -> Dependency | None:
    entry = _mapping(item)
    rule = _mapping(entry.get("Dependency"))
    attribute, prop = _text(rule.get("MapToAttribute")), _text(rule.get("MapToProperty"))
    conditions = tuple(_condition(part) for part in _list(rule.get("MapFrom")))
    if not attribute or not prop or not conditions or entry.get("Type", "Map") != "Map":
        return None
    return Dependency(attribute, prop, _scalar(rule.get("MapToValue")), conditions)


def _condition(part: Any) -> Condition:
    entry = _mapping(part)
    return Condition(
        attribute=_text(entry.get("MapFromAttribute")) or "",
        property=_text(entry.get("MapFromProperty")) or "CurrentValue",
        comparison=_text(entry.get("MapFromCondition")) or "EQU",
        value=_scalar(entry.get("MapFromValue")),
        operators=tuple(word.strip() for word in (_text(entry.get("MapTerms")) or "").split(",") if word.strip()),
    )


def _flag(entry: Mapping[str, Any], *names: str) -> bool:
    """Booleans arrive as booleans, as ``"true"``, and under other spellings of the key."""
    return any(as_flag(entry.get(name)) for name in names)


def as_flag(value: Any) -> bool:
    """Whether a registry value means true."""
    return value is True or (isinstance(value, str) and value.lower() == "true")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _scalar(value: Any) -> Value:
    return value if isinstance(value, (str, int, float, bool)) else None


def _number(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return int(value) if value == value and abs(value) != float("inf") else None
    if isinstance(value, str) and value.strip().lstrip("-").isdigit():
        return int(value)
    return None
