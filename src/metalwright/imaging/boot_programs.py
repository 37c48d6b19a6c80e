"""What firmware starts from an image: the programs in the default directory of its EFI system partition."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from metalwright.errors import ImageError
from metalwright.imaging.disk_contents import DiskContents
from metalwright.imaging.portable_executable import read_program
from metalwright.imaging.programs import run_program
from metalwright.model.image import Architecture, BootProgram, BootSigner

_DIRECTORY: Final = "::/EFI/BOOT"
_DEFAULTS: Final[dict[str, Architecture]] = {"BOOTX64.EFI": "x86_64", "BOOTAA64.EFI": "aarch64"}
_OTHER: Final = "many publishers have a UEFI variant beside one for BIOS only, and one for each processor"


def read_boot_programs(contents: DiskContents, where: str) -> tuple[BootProgram, ...]:
    """The EFI programs there, what firmware starts first.

    Raises:
        ImageError: nothing that UEFI firmware would start, or a program for another processor than its name says.
    """
    if contents.esp is None:
        raise _no_uefi(where, "no EFI system partition")
    with tempfile.TemporaryDirectory(dir=contents.esp.parent) as scratch:
        _copy_out(contents.esp, Path(scratch), where)
        files = {path.name.upper(): path.read_bytes() for path in sorted(Path(scratch).iterdir())}
    default = next((name for name in _DEFAULTS if name in files), None)
    if default is None:
        raise _no_uefi(where, ", ".join(files) or "no program in \\EFI\\BOOT")
    read = {name: read_program(data) for name, data in files.items()}
    first = read[default]
    if first is None or first.architecture != _DEFAULTS[default]:
        found = "no EFI program" if first is None else f"a program for {first.architecture}"
        raise ImageError(f"\\EFI\\BOOT\\{default} is not what its name says", where=where, found=found, hint=_OTHER)
    return tuple(
        BootProgram(
            file=name,
            architecture=program.architecture,
            is_shim=program.is_shim,
            signers=tuple(BootSigner(name=signer.name, issuer=signer.issuer) for signer in program.signers),
        )
        for name, program in sorted(read.items(), key=lambda item: item[0] != default)
        if program is not None
    )


def architecture_of(programs: tuple[BootProgram, ...]) -> Architecture:
    """The processor that the image is for, by its first program."""
    return _DEFAULTS[programs[0].file]


def _copy_out(esp: Path, into: Path, where: str) -> None:
    try:
        run_program(["mdir", "-b", "-i", str(esp), "::/"], where=where)
    except ImageError as error:
        if error.hint is not None:
            raise
        raise _no_uefi(where, "an EFI system partition without a readable FAT file system") from error
    try:
        listed = run_program(["mdir", "-b", "-i", str(esp), _DIRECTORY], where=where)
    except ImageError as error:
        raise _no_uefi(where, "an EFI system partition without \\EFI\\BOOT") from error
    programs = [line.strip() for line in listed.splitlines() if line.strip().lower().endswith(".efi")]
    if programs:
        run_program(["mcopy", "-n", "-i", str(esp), *programs, str(into)], where=where)


def _no_uefi(where: str, found: str) -> ImageError:
    return ImageError(
        "UEFI firmware would not start this image", where=where,
        expected="\\EFI\\BOOT\\BOOTX64.EFI or BOOTAA64.EFI on the EFI system partition", found=found,
        hint=_OTHER,
    )  # fmt: skip
