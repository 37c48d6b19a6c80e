"""Everything that can be known of a site offline: its files, its addresses, its BIOS attributes, its driver stacks.

The names below are loaded when they are first used: a review asks for less than `check`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metalwright.checking.bios_attributes import bios_errors, bios_notes
    from metalwright.checking.components import firmware_findings
    from metalwright.checking.findings import Findings
    from metalwright.checking.site import boot_errors, examine
    from metalwright.checking.stacks import accelerator_findings

__all__ = [
    "Findings",
    "accelerator_findings",
    "bios_errors",
    "bios_notes",
    "boot_errors",
    "examine",
    "firmware_findings",
]

_MODULES = {
    "bios_attributes": ("bios_errors", "bios_notes"),
    "components": ("firmware_findings",),
    "findings": ("Findings",),
    "site": ("boot_errors", "examine"),
    "stacks": ("accelerator_findings",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
