"""An attribute of a registry in words, for people."""

from __future__ import annotations

from collections.abc import Iterator

from metalwright.bios.dependencies import describe
from metalwright.bios.registry import Attribute, AttributeRegistry, as_flag
from metalwright.bios.values import shown

_EFFECTS = {"ReadOnly": ("is read-only", "is writable"), "Hidden": ("is hidden", "is shown")}
_EFFECTS |= {"GrayOut": ("has no effect", "has effect")}


def attribute_lines(registry: AttributeRegistry, name: str) -> Iterator[str]:
    """What it is, what it takes, and what others do to it and it to others."""
    attribute = registry.attributes[name]
    yield f"{name}: {attribute.display}" if attribute.display else name
    yield f"  type:     {attribute.type}{', read-only' if attribute.is_read_only else ''}"
    if attribute.choices:
        yield f"  values:   {', '.join(_choices(attribute))}"
    limits = _limits(attribute)
    if limits:
        yield f"  takes:    {limits}"
    if attribute.default is not None:
        yield f"  default:  {shown(attribute, attribute.default)}"
    if attribute.help:
        yield f"  help:     {' '.join(attribute.help.split())}"
    for rule in registry.rules_about.get(name, ()):
        effect = _EFFECTS.get(rule.property)
        becomes = effect[0 if as_flag(rule.value) else 1] if effect else f"{rule.property} becomes {rule.value}"
        yield f"  depends:  {becomes} while {describe(registry, rule)}"
    for rule in registry.rules_from.get(name, ()):
        value = shown(registry.attributes[rule.attribute], rule.value)
        yield f"  sets:     {rule.attribute} to {value} while {describe(registry, rule)}"


def _choices(attribute: Attribute) -> Iterator[str]:
    for choice in attribute.choices:
        yield choice.display if choice.display == choice.name else f"{choice.display} ({choice.name})"


def _limits(attribute: Attribute) -> str:
    parts = []
    if attribute.lower is not None or attribute.upper is not None:
        parts.append(f"{attribute.lower} to {attribute.upper}")
    if attribute.step is not None and attribute.step > 1:
        parts.append(f"in steps of {attribute.step}")
    if attribute.max_length:
        parts.append(f"{attribute.min_length or 0} to {attribute.max_length} characters")
    if attribute.expression:
        parts.append(f"of the form {attribute.expression}")
    return ", ".join(parts)
