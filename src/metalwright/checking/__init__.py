"""Everything that can be known of a site offline: its files, its addresses, its BIOS attributes, its driver stacks.

The names below are loaded when they are first used: a review asks for less than `check`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalwright.first_use import on_first_use

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

__getattr__ = on_first_use(
    __name__,
    {
        "bios_attributes": ("bios_errors", "bios_notes"),
        "components": ("firmware_findings",),
        "findings": ("Findings",),
        "site": ("boot_errors", "examine"),
        "stacks": ("accelerator_findings",),
    },
)
