"""EFI system partitions: a FAT file system whose only program is the one that UEFI starts by default."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from metalwright.errors import ImageError
from metalwright.imaging.programs import run_program

_KIB: Final = 1024
_SLACK_BYTES: Final = 2 << 20
# FAT32 where there is room for enough clusters of 4 KiB, as some firmware wants on disks. Below, few large clusters:
# firmware follows the chain cluster by cluster, which takes seconds on an emulated processor.
_FAT32_BYTES: Final = 260 << 20
_FAT32_LAYOUT: Final = ("-F", "-c", "8")
_SMALL_LAYOUT: Final = ("-c", "64")


def write_efi_file_system(path: Path, efi: Path, size_bytes: int | None = None) -> None:
    """Write the file system, just large enough unless ``size_bytes`` is given.

    Raises :class:`ImageError` when that is too small.
    """
    needed_bytes = efi.stat().st_size + _SLACK_BYTES
    if size_bytes is not None and size_bytes < needed_bytes:
        raise ImageError(
            "the EFI system partition is too small for kernel and initramfs",
            where=str(path),
            expected=f"at least {needed_bytes} bytes",
            found=f"{size_bytes} bytes",
            hint="raise esp_mib in the image recipe",
        )
    total_bytes = (size_bytes or needed_bytes) // _KIB * _KIB
    with path.open("wb") as file:
        file.truncate(total_bytes)
    where = str(path)
    layout = _FAT32_LAYOUT if total_bytes >= _FAT32_BYTES else _SMALL_LAYOUT
    run_program(["mformat", "-i", str(path), *layout, "-N", "4D455441", "-v", "METALWRIGHT", "::"], where=where)
    run_program(["mmd", "-i", str(path), "::/EFI", "::/EFI/BOOT"], where=where)
    run_program(["mcopy", "-i", str(path), str(efi), "::/EFI/BOOT/BOOTX64.EFI"], where=where)
