"""A bootable GPT disk image from a root file system and a kernel: no loop device, no mount, no privileges.

Layout: EFI system partition from 1 MiB on, then the root file system, last, so that it can grow.
"""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path
from typing import Final, NamedTuple

from metalwright.imaging.efi_file_system import DEFAULT_PROGRAM, write_efi_file_system
from metalwright.imaging.programs import run_program
from metalwright.imaging.signed_boot import SignedBoot, boot_menu, require_signed
from metalwright.imaging.unified_kernel_image import write_unified_kernel_image

_MIB: Final = 1 << 20
_SECTOR_BYTES: Final = 512
_BLOCK_BYTES: Final = 1 << 20
_ZERO_BLOCK: Final = bytes(_BLOCK_BYTES)
_ROOT_TYPE: Final = "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709"
_ID_NAMESPACE: Final = uuid.UUID("5f1e9c3a-6d5b-4f0e-9a52-8f3f5c0d7b11")


def write_disk_image(
    out: Path, *, ref: str, root_file_system: Path, kernel: Path, initramfs: Path | None, cmdline: str, esp_mib: int,
    signed: SignedBoot | None = None,
) -> None:  # fmt: skip
    """Write the raw image, which starts as a unified kernel image, or with ``signed`` through shim and GRUB.

    Identifiers are derived from ``ref``. Raises :class:`ImageError`, also for an unsigned kernel with ``signed``.
    """
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
        started = _Started(ref, kernel, initramfs, f"root=PARTUUID={root_guid} rootfstype=ext4 rw {cmdline}")
        esp = Path(scratch) / "esp.img"
        files = _unsigned(Path(scratch), started) if signed is None else _signed(Path(scratch), started, signed)
        write_efi_file_system(esp, files, esp_mib * _MIB)
        copy_sparse(esp, out, _MIB)
    copy_sparse(root_file_system, out, esp_end)


class _Started(NamedTuple):
    """What firmware is to start in the end."""

    title: str
    kernel: Path
    initramfs: Path | None
    cmdline: str


def _unsigned(scratch: Path, started: _Started) -> dict[str, Path]:
    efi = scratch / "BOOTX64.EFI"
    initrd = started.initramfs.read_bytes() if started.initramfs else None
    write_unified_kernel_image(efi, kernel=started.kernel, cmdline=started.cmdline, initrd=initrd, title=started.title)
    return {DEFAULT_PROGRAM: efi}


def _signed(scratch: Path, started: _Started, signed: SignedBoot) -> dict[str, Path]:
    """GRUB's signed program for disks looks for its configuration in ``/EFI/debian`` of its own partition."""
    require_signed(started.kernel, f"kernel of {started.title}")
    files = {
        DEFAULT_PROGRAM: signed.shim,
        "EFI/BOOT/grubx64.efi": signed.disk_loader,
        "EFI/debian/grub.cfg": scratch / "grub.cfg",
        "metalwright/vmlinuz": started.kernel,
    }
    if started.initramfs is not None:
        files["metalwright/initrd.img"] = started.initramfs
    initrd = "/metalwright/initrd.img" if started.initramfs is not None else None
    (scratch / "grub.cfg").write_text(boot_menu("/metalwright/vmlinuz", initrd, started.cmdline))
    return files


def copy_sparse(source: Path, target: Path, offset: int) -> None:
    """Copy ``source`` into ``target`` at ``offset``, leaving blocks of zeros out."""
    with source.open("rb") as reader, target.open("r+b") as writer:
        while block := reader.read(_BLOCK_BYTES):
            if block != _ZERO_BLOCK[: len(block)]:
                writer.seek(offset)
                writer.write(block)
            offset += len(block)
