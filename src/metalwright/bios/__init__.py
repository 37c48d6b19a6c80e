"""Attribute registry × desired × current × pending → what to write and how many reboots it takes. Pure."""

from metalwright.bios.plan import BiosChange, BiosPlan, compile_plan, find_problems, not_taken, undeclared_changes
from metalwright.bios.registry import Attribute, AttributeRegistry, infer_registry, parse_registry

__all__ = [
    "Attribute",
    "AttributeRegistry",
    "BiosChange",
    "BiosPlan",
    "compile_plan",
    "find_problems",
    "infer_registry",
    "not_taken",
    "parse_registry",
    "undeclared_changes",
]
