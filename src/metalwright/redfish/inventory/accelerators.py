"""GPUs by PCI device id, part number and name: what a chip is called when the BMC gives a number or a board name.

NVIDIA writes its chip part numbers as ``<PCI device id>-<SKU>-<revision>`` (2330-885-A1), so one table serves both.
Device ids are those of the public PCI ID registry. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Accelerator:
    """A GPU package. ``dies`` is how many Processor resources BMCs show for one package."""

    manufacturer: str
    model: str
    memory_gib: float | None = None
    dies: int = 1


NVIDIA = "NVIDIA"
AMD = "AMD"
INTEL = "Intel"

_BY_PCI_ID: dict[tuple[int, int], Accelerator] = {
    (0x10DE, 0x1DB1): Accelerator(NVIDIA, "NVIDIA V100 SXM2 16GB", 16),
    (0x10DE, 0x1DB4): Accelerator(NVIDIA, "NVIDIA V100 PCIe 16GB", 16),
    (0x10DE, 0x1DB5): Accelerator(NVIDIA, "NVIDIA V100 SXM2 32GB", 32),
    (0x10DE, 0x1DB6): Accelerator(NVIDIA, "NVIDIA V100 PCIe 32GB", 32),
    (0x10DE, 0x1EB8): Accelerator(NVIDIA, "NVIDIA T4", 16),
    (0x10DE, 0x20B0): Accelerator(NVIDIA, "NVIDIA A100 SXM4 40GB", 40),
    (0x10DE, 0x20B2): Accelerator(NVIDIA, "NVIDIA A100 SXM4 80GB", 80),
    (0x10DE, 0x20B5): Accelerator(NVIDIA, "NVIDIA A100 PCIe 80GB", 80),
    (0x10DE, 0x20B7): Accelerator(NVIDIA, "NVIDIA A30", 24),
    (0x10DE, 0x20F1): Accelerator(NVIDIA, "NVIDIA A100 PCIe 40GB", 40),
    (0x10DE, 0x2235): Accelerator(NVIDIA, "NVIDIA A40", 48),
    (0x10DE, 0x2236): Accelerator(NVIDIA, "NVIDIA A10", 24),
    (0x10DE, 0x2321): Accelerator(NVIDIA, "NVIDIA H100 NVL", 94),
    (0x10DE, 0x2330): Accelerator(NVIDIA, "NVIDIA H100 SXM 80GB", 80),
    (0x10DE, 0x2331): Accelerator(NVIDIA, "NVIDIA H100 PCIe", 80),
    (0x10DE, 0x2335): Accelerator(NVIDIA, "NVIDIA H200 SXM 141GB", 141),
    (0x10DE, 0x233B): Accelerator(NVIDIA, "NVIDIA H200 NVL", 141),
    (0x10DE, 0x26B5): Accelerator(NVIDIA, "NVIDIA L40", 48),
    (0x10DE, 0x26B9): Accelerator(NVIDIA, "NVIDIA L40S", 48),
    (0x10DE, 0x27B8): Accelerator(NVIDIA, "NVIDIA L4", 24),
    (0x10DE, 0x2901): Accelerator(NVIDIA, "NVIDIA B200"),
    (0x10DE, 0x2941): Accelerator(NVIDIA, "NVIDIA GB200"),
    (0x1002, 0x738C): Accelerator(AMD, "AMD Instinct MI100", 32),
    (0x1002, 0x7408): Accelerator(AMD, "AMD Instinct MI250X", 128, dies=2),
    (0x1002, 0x740C): Accelerator(AMD, "AMD Instinct MI250", 128, dies=2),
    (0x1002, 0x740F): Accelerator(AMD, "AMD Instinct MI210", 64),
    (0x1002, 0x74A0): Accelerator(AMD, "AMD Instinct MI300A", 128),
    (0x1002, 0x74A1): Accelerator(AMD, "AMD Instinct MI300X", 192),
    (0x1002, 0x74A5): Accelerator(AMD, "AMD Instinct MI325X", 256),
    (0x8086, 0x0BD5): Accelerator(INTEL, "Intel Data Center GPU Max 1550", 128),
    (0x8086, 0x0BDA): Accelerator(INTEL, "Intel Data Center GPU Max 1100", 48),
    (0x1DA3, 0x1020): Accelerator(INTEL, "Intel Gaudi 2", 96),
    (0x1DA3, 0x1060): Accelerator(INTEL, "Intel Gaudi 3", 128),
}

_BY_PART: tuple[tuple[re.Pattern[str], Accelerator], ...] = (
    # Cray EX235a: four MI250X report Model "AMD INSTINCT MI200 (MCM) OAM LC" and part 102-D65201-0B, as eight dies.
    (re.compile(r"^102-D652", re.IGNORECASE), Accelerator(AMD, "AMD Instinct MI250X", 128, dies=2)),
)

_BY_NAME: tuple[tuple[re.Pattern[str], Accelerator], ...] = (
    (re.compile(r"\bMI200\b.*\bMCM\b|\bMI250\b", re.IGNORECASE), Accelerator(AMD, "AMD Instinct MI250", 128, dies=2)),
    (re.compile(r"\bMI250X\b", re.IGNORECASE), Accelerator(AMD, "AMD Instinct MI250X", 128, dies=2)),
    # HBM3 with 80 GB is the SXM module; the PCIe card has HBM2e.
    (re.compile(r"\bH100 80GB HBM3\b", re.IGNORECASE), _BY_PCI_ID[0x10DE, 0x2330]),
)


def _plain(name: str) -> str:
    bare = re.sub(r"\b(nvidia|amd|instinct|intel)\b", "", name.casefold())
    return re.sub(r"[^a-z0-9]", "", bare)


_BY_MODEL = {_plain(accelerator.model): accelerator for accelerator in _BY_PCI_ID.values()}
_NVIDIA_CHIP = re.compile(r"^([0-9A-F]{4})-\d{3}-[A-Z]\d$", re.IGNORECASE)
_FAMILY = re.compile(
    r"(?<![A-Z0-9])("
    r"GB[23]00|GH200|[ABH][1238]00|V100[SX]?|P100|A10G|L40S"
    r"|MI\d{2,3}[AX]?|GAUDI\s?\d?|HL-?\d{3}|GPU\s(?:MAX|FLEX)\s\d{3,4}|RTX\s(?:PRO\s)?\w*\d{4}\w*)(?![A-Z0-9])",
    re.IGNORECASE,
)
_SHORT_FAMILY = re.compile(
    r"(?<![A-Z0-9])(A(?:2|10|16|30|40)|B30|H(?:20|30)|L(?:2|4|20|40)|T4)(?![A-Z0-9])", re.IGNORECASE
)
"""Names that slots, revisions and other cards bear too: they count where NVIDIA is named, or nothing else is."""

_IS_NVIDIA = re.compile(r"nvidia|tesla|\bgpu\b", re.IGNORECASE)
_NO_GPU = re.compile(
    r"nv\s*switch|\bHGX\b|\bbaseboard\b|\bUBB\b|riser|\bswitch(ed)?\b|retimer|bridge|backplane|bluefield|\bDPU\b|audio"
    r"|\bmatrox\b|\baspeed\b",
    re.IGNORECASE,
)
_VENDORS = {0x10DE: NVIDIA, 0x1002: AMD, 0x1DA3: INTEL}
"""Makers of data-centre GPUs. ASPEED (1a03) and Matrox (102b) display controllers belong to the BMC."""

_BOARD_GPU = re.compile(r"(?<![A-Z0-9])(GB[23]00|GH200)(?![A-Z0-9])", re.IGNORECASE)


def by_pci_id(vendor_id: int | None, device_id: int | None) -> Accelerator | None:
    """The GPU with these PCI ids, if the table has it."""
    return _BY_PCI_ID.get((vendor_id, device_id)) if vendor_id is not None and device_id is not None else None


def by_part_number(part_number: str | None) -> Accelerator | None:
    """The GPU with this chip or card part number."""
    if part_number is None:
        return None
    chip = _NVIDIA_CHIP.match(part_number)
    if chip is not None:
        return by_pci_id(0x10DE, int(chip.group(1), 16))
    return next((accelerator for pattern, accelerator in _BY_PART if pattern.match(part_number)), None)


def by_name(*names: str | None) -> Accelerator | None:
    """The GPU of that name: as the table spells it, apart from case, blanks, dashes and the maker's name."""
    for name in names:
        if name is not None and _plain(name) in _BY_MODEL:
            return _BY_MODEL[_plain(name)]
        for pattern, accelerator in _BY_NAME:
            if name is not None and pattern.search(name):
                return accelerator
    return None


def by_board(model: str | None) -> Accelerator | None:
    """The GPU that a superchip board carries by its name (*GB200 NVL*): for BMCs whose GPUs have no model at all."""
    found = _BOARD_GPU.search(model) if model is not None else None
    return Accelerator(NVIDIA, f"NVIDIA {found.group(1).upper()}") if found is not None else None


def is_gpu_name(*names: str | None, maker: str | None = None) -> bool:
    """Whether a name is one of a GPU, and none of a board, switch or riser that also says *GPU*."""
    given = [name for name in names if name is not None]
    return any(_is_family(name, maker) for name in given) and not any(_NO_GPU.search(name) for name in given)


def _is_family(name: str, maker: str | None) -> bool:
    if _FAMILY.search(name):
        return True
    is_told = _IS_NVIDIA.search(f"{maker or ''} {name}") is not None
    return _SHORT_FAMILY.search(name) is not None if is_told else _SHORT_FAMILY.fullmatch(name) is not None


def is_no_gpu(*names: str | None) -> bool:
    """Whether a name is one of a part that calls itself GPU and is none: NVSwitch, HGX baseboard, GPU riser."""
    return any(name is not None and _NO_GPU.search(name) for name in names)


def maker_of(vendor_id: int | None) -> str | None:
    """The maker of data-centre GPUs with this PCI vendor id."""
    return _VENDORS.get(vendor_id) if vendor_id is not None else None


def memory_of_name(name: str | None) -> float | None:
    """Memory in GiB where the name tells it (*A100-SXM4-40GB*)."""
    found = re.search(r"(?<!\d)(\d{2,3})\s?GB(?![A-Z0-9])", name or "", re.IGNORECASE)
    return float(found.group(1)) if found else None
