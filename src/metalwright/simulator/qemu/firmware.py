"""Where QEMU and its UEFI firmware are."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from metalwright.errors import LabError

PROGRAM = "qemu-system-x86_64"
_PAIRS = (
    ("/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"),
    ("/usr/share/OVMF/OVMF_CODE.fd", "/usr/share/OVMF/OVMF_VARS.fd"),
    ("/usr/share/edk2/ovmf/OVMF_CODE.fd", "/usr/share/edk2/ovmf/OVMF_VARS.fd"),
    ("/usr/share/edk2/x64/OVMF_CODE.4m.fd", "/usr/share/edk2/x64/OVMF_VARS.4m.fd"),
)
_HINT = "install them: apt-get install qemu-system-x86 ovmf"


@dataclass(frozen=True)
class Firmware:
    """The code of OVMF and the template of its variables."""

    code: Path
    variables: Path


def find_qemu() -> str:
    """The path of QEMU; raises :class:`LabError`."""
    path = shutil.which(PROGRAM)
    if path is None:
        raise LabError("QEMU is not installed", where=PROGRAM, hint=_HINT)
    return path


def find_firmware() -> Firmware:
    """The first pair of OVMF files that is there; raises :class:`LabError`."""
    for code, variables in _PAIRS:
        if Path(code).exists() and Path(variables).exists():
            return Firmware(Path(code), Path(variables))
    raise LabError("no UEFI firmware for QEMU", where=", ".join(code for code, _ in _PAIRS), hint=_HINT)
