"""Who can tell what a BMC does not: the better witness of every deferred finding, and where it speaks. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Witness:
    """``who`` looks at what; ``checks`` are prefixes of the acceptance checks in which it speaks (none: a person)."""

    who: str
    checks: tuple[str, ...] = ()


RAMDISK = Witness("the ramdisk, before it writes anything", ("stamp:",))
"""Its word is the stamp: that is written only after the ramdisk's own check of identity and disk."""

PERSON = Witness("a person who looks into the machine")
"""No BMC answer and no operating system tells; the rack file's ``attested`` is where a person says it."""

WITNESSES = MappingProxyType(
    {
        "unknown-cpus": Witness("the operating system (list of sockets)", ("cpus:",)),
        "unknown-cpu-cores": Witness("the operating system (list of sockets)", ("cpus:",)),
        "unknown-cpu-model": Witness("the operating system (SMBIOS table)", ("cpu_model:",)),
        "unknown-memory": Witness("the operating system (SMBIOS table)", ("dimms:",)),
        "unknown-dimms": Witness("the operating system (SMBIOS table)", ("dimms:",)),
        "unknown-dimm-size": Witness("the operating system (SMBIOS table)", ("dimms:",)),
        "unknown-gpus": Witness("the operating system (PCI bus)", ("gpus:",)),
        "unknown-gpu-model": Witness("the operating system (GPU driver)", ("gpu_model:",)),
        "unknown-gpu-memory": Witness("the operating system (GPU driver)", ("gpu_model:",)),
        "unknown-nics": Witness("the operating system (network ports)", ("nics:",)),
        "unknown-nic-mac": Witness("the operating system (network ports)", ("nics:",)),
        "unknown-drives": Witness("the operating system (block devices)", ("drives:",)),
        "unknown-manufacturer": Witness("the operating system (SMBIOS table)", ("product:",)),
        "unknown-model": Witness("the operating system (SMBIOS table)", ("product:",)),
        "unknown-psus": PERSON,
        "unknown-psu-watts": PERSON,
        "system-disk": RAMDISK,
        "identity": RAMDISK,
    }
)
"""Code of a deferred finding → its witness. Identity keys share one."""


def witness_of(code: str) -> Witness | None:
    """The witness of a deferred finding or fact (``unknown-gpus``, ``identity-uuid``); ``None`` if there is none."""
    return WITNESSES.get("identity" if code.startswith("identity") else code)
