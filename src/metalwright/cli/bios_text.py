"""BIOS attributes as text, as JSON, and as the section of a blueprint."""

from __future__ import annotations

from typing import Any

from metalwright.bios import Attribute, AttributeRegistry
from metalwright.bios.profile import GoldenProfile
from metalwright.bios.values import shown
from metalwright.redfish.bios_reading import BiosReading


def attribute_list(registry: AttributeRegistry, state: dict[str, Any]) -> list[str]:
    """One line an attribute: its value, and its default and what waits where they differ."""
    lines = []
    for row in _rows(registry, state):
        extras = [f"default {row['default']}"] if row["default"] not in (None, row["value"]) else []
        extras += [f"waits: {row['pending']}"] if row["pending"] is not None else []
        extras += ["read-only"] if row["is_read_only"] else []
        lines.append(f"{row['name']} = {row['value']}" + (f"   ({', '.join(extras)})" if extras else ""))
    return lines


def as_json(node: str, registry: AttributeRegistry, reading: BiosReading) -> dict[str, Any]:
    """``bios show --json``: ``schema node bios_version registry attributes``."""
    return {
        "schema": 1,
        "node": node,
        "bios_version": reading.version,
        "registry": registry.id,
        "attributes": _rows(registry, reading.state),
    }


def _rows(registry: AttributeRegistry, state: dict[str, Any]) -> list[dict[str, Any]]:
    """One row an attribute that the machine shows; values as text, secrets as ``***``."""
    rows = []
    for name, value in sorted(state["attributes"].items()):
        attribute = registry.attributes.get(name) or Attribute(name, "String", is_read_only=True)
        later = (state["pending"] or {}).get(name)
        default = attribute.default
        rows.append(
            {
                "name": name,
                "display": attribute.display,
                "value": shown(attribute, value if isinstance(value, (str, int, float)) else None),
                "default": shown(attribute, default) if default is not None else None,
                "pending": shown(attribute, later) if later is not None and later != value else None,
                "is_read_only": attribute.is_read_only,
            }
        )
    return rows


def blueprint_section(name: str, profile: GoldenProfile) -> list[str]:
    """The lines of the section ``bios`` of a blueprint."""
    lines = ["bios:", f"  registry: {name}", "  attributes:" if profile.attributes else "  attributes: {}"]
    return [*lines, *(f"    {_yaml_text(key)}: {_yaml(value)}" for key, value in profile.attributes.items())]


def _yaml(value: str | int | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _yaml_text(value)


def _yaml_text(text: str) -> str:
    """Text stays text: quoted unless it is a plain word that YAML takes for nothing else."""
    is_plain = text.replace("_", "").isalnum() and text[:1].isalpha()
    is_word = text.lower() not in ("true", "false", "yes", "no", "on", "off", "null", "y", "n")
    return text if is_plain and is_word else "'" + text.replace("'", "''") + "'"
