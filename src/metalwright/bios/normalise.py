"""A registry as it is kept in git: what holds for every machine of its kind, in an order that never moves."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from metalwright.bios.registry import AttributeRegistry, as_flag, parse_registry

_HEAD = ("@odata.type", "Id", "Name", "Language", "OwningEntity", "RegistryVersion", "SupportedSystems")
_KEPT = (
    "AttributeName",
    "Type",
    "DisplayName",
    "HelpText",
    "WarningText",
    "MenuPath",
    "ReadOnly",
    "Hidden",
    "WriteOnly",
    "Immutable",
    "IsSystemUniqueProperty",
    "ResetRequired",
    "DefaultValue",
    "Value",
    "LowerBound",
    "UpperBound",
    "ScalarIncrement",
    "MinLength",
    "MaxLength",
    "ValueExpression",
)
_COMPANY = re.compile(r"\b(inc|corp|corporation|co|ltd|gmbh)\b\.?", re.IGNORECASE)


def normalise(body: Mapping[str, Any]) -> bytes:
    """The file of a registry. Values of the machine that it was read from are left out, secrets among them.

    So are flags that the dependencies set: they only tell how that machine stood.
    """
    registry = parse_registry(body)
    entries = body.get("RegistryEntries")
    listed = entries.get("Attributes") if isinstance(entries, Mapping) else None
    attributes = {
        item["AttributeName"]: _attribute(registry, item)
        for item in (listed if isinstance(listed, list) else [])
        if isinstance(item, Mapping) and item.get("AttributeName") in registry.attributes
    }
    dependencies = entries.get("Dependencies") if isinstance(entries, Mapping) else None
    kept = {
        **{key: body[key] for key in _HEAD if key in body},
        "RegistryEntries": {
            "Attributes": [attributes[name] for name in sorted(attributes)],
            "Dependencies": dependencies if isinstance(dependencies, list) else [],
        },
    }
    return (json.dumps(kept, indent=1, ensure_ascii=False) + "\n").encode()


def registry_name(manufacturer: str | None, model: str | None, bios_version: str | None) -> str:
    """``vendor/model-bios``: where the registry of such a machine lies."""
    vendor = _slug(_COMPANY.sub("", manufacturer or "")).lower() or "unknown"
    return f"{vendor}/{_slug(model or '') or 'unknown'}-{_slug(bios_version or '') or 'unknown'}"


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")


def _attribute(registry: AttributeRegistry, item: Mapping[str, Any]) -> dict[str, Any]:
    name = item["AttributeName"]
    rules = registry.rules_about.get(name, ())
    ruled = {rule.property for rule in rules if as_flag(rule.value)} & {"ReadOnly", "Hidden"}
    spelled = {**item, "ReadOnly": True} if registry.attributes[name].is_read_only else item
    kept = {key: spelled[key] for key in _KEPT if key in spelled and key not in ruled}
    if registry.attributes[name].is_secret:
        kept.pop("DefaultValue", None)
    return kept
