"""After the reset: what was not taken, and what changed although nobody declared it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from metalwright.bios.plan import BiosChange, BiosPlan
from metalwright.bios.registry import AttributeRegistry, Value
from metalwright.bios.values import is_same, shown

CRITICAL = re.compile(r"boot\s*mode|secure\s*boot|raid\s*mode|sata\s*mode", re.IGNORECASE)
"""Attributes without whose value a machine does not start its system any more (harvester #9197: a settings job turned
UEFI to legacy)."""

_BOOT_MODE = re.compile(r"boot\s*mode(\s*select)?", re.IGNORECASE)


def not_taken(plan: BiosPlan, registry: AttributeRegistry, after: Mapping[str, Any]) -> tuple[str, ...]:
    """The attributes that do not have the written value after the reset, one line each."""
    lines = []
    for change in (*plan.changes, *plan.pending):
        attribute = registry.attributes[change.attribute]
        value = after.get(change.attribute)
        if not is_same(attribute, value, change.value):
            lines.append(f"{change.attribute}: expected {change.desired}, found {shown(attribute, value)}")
    return tuple(lines)


def undeclared_changes(
    registry: AttributeRegistry, desired: Mapping[str, Value], before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[BiosChange, ...]:
    """Writable attributes that nobody declared and that changed with the reset.

    What the BIOS itself keeps up to date (read-only attributes) is left out.
    """
    declared = {registry.name_of(written) for written in desired}
    found = []
    for name in sorted(before.keys() & after.keys() - {name for name in declared if name}):
        attribute = registry.attributes.get(name)
        is_watched = attribute is not None and not attribute.is_read_only and before[name] != after[name]
        if attribute is not None and is_watched and not is_same(attribute, before[name], after[name]):
            was, now = shown(attribute, before[name]), shown(attribute, after[name])
            found.append(BiosChange(name, was, now, None if attribute.is_secret else after[name]))
    return tuple(found)


def is_critical(registry: AttributeRegistry, change: BiosChange) -> bool:
    """Whether a change nobody declared may keep the machine from starting."""
    attribute = registry.attributes.get(change.attribute)
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", change.attribute), attribute.display if attribute else ""
    return any(CRITICAL.search(word) is not None for word in words)


def boot_mode_problem(registry: AttributeRegistry, values: Mapping[str, Any]) -> str | None:
    """Why a machine with these values starts nothing in UEFI mode, the one mode that metalwright installs for."""
    for name, value in values.items():
        attribute = registry.attributes.get(name)
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name), attribute.display if attribute else ""
        text = shown(attribute, value).lower()
        is_legacy = "uefi" not in text and ("legacy" in text or text == "bios")
        if is_legacy and any(_BOOT_MODE.fullmatch(word.strip()) for word in words):
            return f"{name}: is {shown(attribute, value)}, but the system is installed for UEFI; declare it"
    return None
