"""EFI system partitions: a FAT file system with the program that UEFI starts by default, and what that needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
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


DEFAULT_PROGRAM: Final = "EFI/BOOT/BOOTX64.EFI"
"""What firmware starts without an entry of its own."""


def write_efi_file_system(path: Path, files: Mapping[str, Path], size_bytes: int | None = None) -> None:
    """Write the file system with ``files`` (place → source), just large enough unless ``size_bytes`` is given.

    Raises :class:`ImageError` when that is too small.
    """
    needed_bytes = sum(source.stat().st_size for source in files.values()) + _SLACK_BYTES
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
    directories = {str(parent) for place in files for parent in PurePosixPath(place).parents} - {"."}
    run_program(["mmd", "-i", str(path), *(f"::/{name}" for name in sorted(directories))], where=where)
    for place, source in files.items():
        run_program(["mcopy", "-i", str(path), str(source), f"::/{place}"], where=where)
