"""Attribute registry × desired × current × pending → what to write and how many reboots it takes. Pure."""

from metalwright.bios.after import boot_mode_problem, is_critical, not_taken, undeclared_changes
from metalwright.bios.compiler import compile_plan, find_problems
from metalwright.bios.plan import BiosChange, BiosPlan, BiosProblem
from metalwright.bios.registry import Attribute, AttributeRegistry, infer_registry, parse_registry

__all__ = [
    "Attribute",
    "AttributeRegistry",
    "BiosChange",
    "BiosPlan",
    "BiosProblem",
    "boot_mode_problem",
    "compile_plan",
    "find_problems",
    "infer_registry",
    "is_critical",
    "not_taken",
    "parse_registry",
    "undeclared_changes",
]
