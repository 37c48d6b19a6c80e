"""Which entries of a firmware inventory a component's name means. Makers name them freely, so the names are data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Installed:
    """One entry of the firmware inventory. ``lowest`` is the oldest version that the BMC takes back, if it says so."""

    id: str
    name: str | None = None
    version: str | None = None
    uri: str | None = None
    lowest: str | None = None


NOT_RUNNING = re.compile(
    r"^(?:Previous-|Available-|DCIM:)|Backup|Golden|Staging|Recovery|Redundant|Capsule", re.IGNORECASE
)
"""Copies that do not run, and Dell's second listing of everything."""

NO_VERSION = frozenset({"", "n/a", "na", "none", "undefined", "unknown", "not present", "not available"})
"""What makers write where there is no version."""

_RULES: Mapping[str, tuple[str, ...]] = {
    "bmc": (
        r"BMC",
        r"(?:Host|FW_|MGX_FW_)?BMC_0",
        r"iDRAC\.Embedded\.1-1",
        r"iLO \d",
        r"Integrated Dell Remote Access.*",
    ),
    "bios": (r"BIOS", r"(?:Host)?BIOS_0", r"BIOS\.Setup\.1-1", r"System ROM", r"UEFI", r"Node\d\.BIOS"),
    "gpu": (r"(?:HGX_)?FW_GPU_(?:SXM_)?\d+", r"GPU\d+", r"NVIDIA [ABHL]\d+.*", r"Node\d\.AccVBIOS", r"AMD Instinct .*"),
    "hgx-bmc": (r"HGX_FW_BMC_\d+",),
    "nvswitch": (r"(?:HGX|MGX)_FW_NVSwitch_\d+", r"NVIDIA NV ?Switch"),
    "erot": (r"(?:HGX_|MGX_)?FW_ERoT_.*",),
    "fpga": (r"(?:HGX_|MGX_)?FW_FPGA_\d+", r"FPGA\d+"),
    "pcie-switch": (r"(?:HGX_FW_)?PCIeSwitch_\d+",),
    "pcie-retimer": (r"(?:HGX_FW_)?PCIeRetimer_\d+",),
    "cpld": (
        r"CPLD_Motherboard",
        r"(?:FW_|HGX_FW_)?CPLD_\d+",
        r"CPLD\.Embedded\.1",
        r"System Programmable Logic Device",
    ),
    "psu": (r"PSU_\d+", r"PSU\.Slot\.\d+", r"PowerSupply\d+", r"Power Supply Firmware"),
    "nic": (
        r"NIC\d+",
        r"NIC_\d+",
        r"CX7_\d+",
        r"(?:NIC|InfiniBand)\.(?:Slot|Integrated|Embedded)\.[\d-]+",
        r"ConnectX-.*",
    ),
    "tpm": (r"TPM", r"TPM\.Integrated\.1-1", r"TPM Firmware"),
}
COMPONENTS: Mapping[str, re.Pattern[str]] = {
    name: re.compile("|".join(f"(?:{part})" for part in parts), re.IGNORECASE) for name, parts in _RULES.items()
}
"""Component → the whole id or name of its entries, as seen on Dell, HPE, Supermicro, NVIDIA, Cray and OpenBMC."""


def near_component(name: str) -> str | None:
    """The component that a name seems to mean and does not spell. A name with a digit is that of one entry."""
    if name in COMPONENTS or any(character.isdigit() for character in name):
        return None
    return next(iter(get_close_matches(name, COMPONENTS, n=1, cutoff=NEAR)), None)


NEAR = 0.74
"""Two letters changed places, or one too many: ``bois``, ``bmcc``."""


def entries_of(component: str, items: Iterable[Installed]) -> tuple[Installed, ...]:
    """Return the running entries that a component means: by its rule, else those whose id or name is the component."""
    running = [item for item in items if not NOT_RUNNING.search(item.id) and not NOT_RUNNING.search(item.name or "")]
    rule = COMPONENTS.get(component)
    if rule is None:
        return tuple(item for item in running if component in (slug(item.id), slug(item.name or "")))
    found = [item for item in running if rule.fullmatch(_bare(item.id)) or rule.fullmatch((item.name or "").strip())]
    return tuple(_once(found))


def _bare(identifier: str) -> str:
    """An id without Dell's frame: ``Installed-159-1.8.2__BIOS.Setup.1-1`` is BIOS.Setup.1-1."""
    return identifier.rpartition("__")[2]


def _once(items: list[Installed]) -> list[Installed]:
    """Dell lists what runs as ``Current-X`` and again as ``Installed-X``."""
    installed = {_bare(item.id) for item in items if item.id.startswith("Installed-")}
    return [item for item in items if not (item.id.startswith("Current-") and _bare(item.id) in installed)]


def version_text(version: str | None) -> str | None:
    """Return a version, or None for what only says that there is none."""
    return None if version is None or version.strip().lower() in NO_VERSION else version.strip()


def slug(text: str) -> str:
    """Return a name as blueprints write it: ``Main CPLD`` is main-cpld."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
