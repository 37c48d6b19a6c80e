"""Boot media: one per node and deployment, which UEFI boots straight into the deploy ramdisk.

A BMC gets an ISO, the host's own firmware (UEFI HTTP boot) the EFI program that the ISO would hold.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Final

from metalwright.errors import ImageError
from metalwright.imaging.cpio import CpioFile, pack_cpio
from metalwright.imaging.deployments import MediaConfig
from metalwright.imaging.efi_file_system import DEFAULT_PROGRAM, write_efi_file_system
from metalwright.imaging.programs import run_program
from metalwright.imaging.ramdisk import Ramdisk
from metalwright.imaging.signed_boot import SignedBoot, boot_menu, require_signed
from metalwright.imaging.unified_kernel_image import write_unified_kernel_image

DEFAULT_CONSOLES: Final = ("tty0", "ttyS0,115200n8")
_MEMBER: Final = "metalwright/media.json"
# scan=sync: no disk shows up after the drivers are loaded. panic=1: a dead init ends in a reboot, not in a hang.
_CMDLINE: Final = "rdinit=/metalwright/init panic=1 quiet loglevel=4 scsi_mod.scan=sync net.ifnames=0"


def write_media(
    ramdisk: Ramdisk, config: MediaConfig, out: Path, *, consoles: tuple[str, ...] = DEFAULT_CONSOLES,
    signed: SignedBoot | None = None,
) -> None:  # fmt: skip
    """Write the boot medium to ``out``: mode 0600 (it carries secrets), complete or not there at all.

    The name of ``out`` says what it is: ``.iso``, or ``.efi`` for firmware that fetches programs by itself.
    The last of ``consoles`` is the kernel's main one; the agent speaks on all of them. With ``signed`` an ISO starts
    under Secure Boot, through shim and GRUB; a program cannot. Raises :class:`ImageError`.
    """
    out.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    layer = pack_cpio([CpioFile(_MEMBER, 0o600, json.dumps(config.to_json()).encode())])
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".media-") as scratch_name:
        scratch = Path(scratch_name)
        cmdline = " ".join((*(f"console={console}" for console in consoles), _CMDLINE))
        if signed is not None:
            medium = _signed_iso(ramdisk, ramdisk.initrd(layer), cmdline, signed, out, scratch)
        else:
            medium = _unsigned_medium(ramdisk, ramdisk.initrd(layer), cmdline, out, scratch)
        medium.chmod(0o600)
        os.replace(medium, out)  # noqa: PTH105 - atomic on purpose, named so


def remove_other_media(medium: Path, node: str) -> None:
    """Remove the media of the node's earlier deployments beside ``medium``: their secrets are of no use any more."""
    name = re.compile(re.escape(node) + r"-[0-9a-f]{16}\.(iso|efi|claim)")
    for path in medium.parent.iterdir():
        if path.stem != medium.stem and name.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _unsigned_medium(ramdisk: Ramdisk, initrd: bytes, cmdline: str, out: Path, scratch: Path) -> Path:
    efi, tree = scratch / "BOOTX64.EFI", scratch / "iso"
    write_unified_kernel_image(
        efi, kernel=ramdisk.kernel_path, cmdline=cmdline, initrd=initrd, title="metalwright deploy"
    )
    if out.suffix == ".efi":
        return efi
    tree.mkdir()
    return _iso_with({DEFAULT_PROGRAM: efi}, tree, scratch)


def _signed_iso(ramdisk: Ramdisk, initrd: bytes, cmdline: str, signed: SignedBoot, out: Path, scratch: Path) -> Path:
    """GRUB's signed program for CDs looks for its configuration in ``/boot/grub`` of the disc that it came from."""
    if out.suffix != ".iso":
        raise ImageError(
            "under Secure Boot the ramdisk starts from virtual media alone", where=str(out), expected="an ISO",
            hint="boot.method: [virtual-media], or boot.secure_boot: false",
        )  # fmt: skip
    require_signed(ramdisk.kernel_path, "kernel of the deploy ramdisk")
    tree = scratch / "iso"
    for directory in (".disk", "boot/grub"):
        (tree / directory).mkdir(parents=True)
    (tree / ".disk/info").write_text("metalwright deploy\n")
    (tree / "boot/grub/grub.cfg").write_text(boot_menu("/boot/vmlinuz", "/boot/initrd", cmdline))
    (tree / "boot/vmlinuz").write_bytes(ramdisk.kernel_path.read_bytes())
    (tree / "boot/initrd").write_bytes(initrd)
    return _iso_with({DEFAULT_PROGRAM: signed.shim, "EFI/BOOT/grubx64.efi": signed.cd_loader}, tree, scratch)


def _iso_with(files: dict[str, Path], tree: Path, scratch: Path) -> Path:
    """Return a new ISO of ``tree`` whose El Torito image holds ``files``."""
    iso = scratch / "boot.iso"
    write_efi_file_system(tree / "efi.img", files)
    argv = ["xorriso", "-report_about", "SORRY", "-as", "mkisofs", "-quiet", "-V", "METALWRIGHT", "-o", str(iso)]
    run_program([*argv, "-eltorito-alt-boot", "-e", "efi.img", "-no-emul-boot", str(tree)], where=str(iso))
    return iso
