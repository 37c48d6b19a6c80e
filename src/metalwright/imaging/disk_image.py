"""A bootable GPT disk image from a root file system and a kernel: no loop device, no mount, no privileges.

Layout: EFI system partition from 1 MiB on, then the root file system, last, so that it can grow.
"""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path
from typing import Final

from metalwright.imaging.efi_file_system import write_efi_file_system
from metalwright.imaging.programs import run_program
from metalwright.imaging.unified_kernel_image import write_unified_kernel_image

_MIB: Final = 1 << 20
_SECTOR_BYTES: Final = 512
_BLOCK_BYTES: Final = 1 << 20
_ZERO_BLOCK: Final = bytes(_BLOCK_BYTES)
_ROOT_TYPE: Final = "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709"
_ID_NAMESPACE: Final = uuid.UUID("5f1e9c3a-6d5b-4f0e-9a52-8f3f5c0d7b11")


def write_disk_image(
    out: Path, *, ref: str, root_file_system: Path, kernel: Path, initramfs: Path | None, cmdline: str, esp_mib: int
) -> None:
    """Write the raw image. Identifiers are derived from ``ref``; raises :class:`ImageError`."""
    root_guid = uuid.uuid5(_ID_NAMESPACE, f"{ref}/root")
    esp_end = _MIB + esp_mib * _MIB
    root_bytes = -(-root_file_system.stat().st_size // _MIB) * _MIB
    with out.open("wb") as file:
        file.truncate(esp_end + root_bytes + _MIB)
    table = (
        f"label: gpt\nlabel-id: {uuid.uuid5(_ID_NAMESPACE, ref)}\n"
        f"start={_MIB // _SECTOR_BYTES}, size={esp_mib * _MIB // _SECTOR_BYTES}, type=U, name=esp, "
        f"uuid={uuid.uuid5(_ID_NAMESPACE, f'{ref}/esp')}\n"
        f"start={esp_end // _SECTOR_BYTES}, size={root_bytes // _SECTOR_BYTES}, type={_ROOT_TYPE}, "
        f"name=root, uuid={root_guid}\n"
    )
    run_program(["sfdisk", "--quiet", str(out)], where=str(out), stdin=table)
    with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
        efi, esp = Path(scratch) / "BOOTX64.EFI", Path(scratch) / "esp.img"
        write_unified_kernel_image(
            efi,
            kernel=kernel,
            cmdline=f"root=PARTUUID={root_guid} rootfstype=ext4 rw {cmdline}",
            initrd=initramfs.read_bytes() if initramfs else None,
            title=ref,
        )
        write_efi_file_system(esp, efi, esp_mib * _MIB)
        copy_sparse(esp, out, _MIB)
    copy_sparse(root_file_system, out, esp_end)


def copy_sparse(source: Path, target: Path, offset: int) -> None:
    """Copy ``source`` into ``target`` at ``offset``, leaving blocks of zeros out."""
    with source.open("rb") as reader, target.open("r+b") as writer:
        while block := reader.read(_BLOCK_BYTES):
            if block != _ZERO_BLOCK[: len(block)]:
                writer.seek(offset)
                writer.write(block)
            offset += len(block)
