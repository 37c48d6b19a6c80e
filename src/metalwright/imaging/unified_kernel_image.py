"""Unified kernel images: kernel, command line and ramdisk in one EFI program, on systemd's stub."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from metalwright.errors import ImageError
from metalwright.imaging.programs import run_program

STUB_PATH: Final = Path("/usr/lib/systemd/boot/efi/linuxx64.efi.stub")
# Where the sections lie in memory, as the stub expects: command line low, then kernel, then the ramdisk, which grows.
_SECTION_ADDRESSES: Final = {".osrel": 0x20000, ".cmdline": 0x30000, ".linux": 0x2000000, ".initrd": 0x6000000}
_OS_RELEASE: Final = 'ID=metalwright\nNAME="metalwright"\nPRETTY_NAME="{title}"\n'


def write_unified_kernel_image(
    out: Path, *, kernel: Path, cmdline: str, initrd: bytes | None, title: str, stub: Path = STUB_PATH
) -> None:
    """Write an EFI program that boots ``kernel``. Raises :class:`ImageError`."""
    if not stub.exists():
        raise ImageError(
            "systemd's EFI stub is not installed", where=str(stub), hint="apt-get install systemd-boot-efi"
        )
    with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
        sections = {".osrel": Path(scratch) / "osrel", ".cmdline": Path(scratch) / "cmdline", ".linux": kernel}
        sections[".osrel"].write_text(_OS_RELEASE.format(title=title))
        sections[".cmdline"].write_text(cmdline)
        if initrd is not None:
            sections[".initrd"] = Path(scratch) / "initrd"
            sections[".initrd"].write_bytes(initrd)
        argv = ["objcopy"]
        for name, path in sections.items():
            argv += ["--add-section", f"{name}={path}", "--change-section-vma", f"{name}={_SECTION_ADDRESSES[name]:#x}"]
        run_program([*argv, str(stub), str(out)], where=str(out))
