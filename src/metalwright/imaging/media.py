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

from metalwright.imaging.cpio import CpioFile, pack_cpio
from metalwright.imaging.deployments import MediaConfig
from metalwright.imaging.efi_file_system import write_efi_file_system
from metalwright.imaging.programs import run_program
from metalwright.imaging.ramdisk import Ramdisk
from metalwright.imaging.unified_kernel_image import write_unified_kernel_image

DEFAULT_CONSOLES: Final = ("tty0", "ttyS0,115200n8")
_MEMBER: Final = "metalwright/media.json"
# scan=sync: no disk shows up after the drivers are loaded. panic=1: a dead init ends in a reboot, not in a hang.
_CMDLINE: Final = "rdinit=/metalwright/init panic=1 quiet loglevel=4 scsi_mod.scan=sync net.ifnames=0"


def write_media(
    ramdisk: Ramdisk, config: MediaConfig, out: Path, *, consoles: tuple[str, ...] = DEFAULT_CONSOLES
) -> None:
    """Write the boot medium to ``out``: mode 0600 (it carries secrets), complete or not there at all.

    The name of ``out`` says what it is: ``.iso``, or ``.efi`` for firmware that fetches programs by itself.
    The last of ``consoles`` is the kernel's main one; the agent speaks on all of them. Raises :class:`ImageError`.
    """
    out.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    layer = pack_cpio([CpioFile(_MEMBER, 0o600, json.dumps(config.to_json()).encode())])
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".media-") as scratch_name:
        scratch = Path(scratch_name)
        efi = scratch / "BOOTX64.EFI"
        cmdline = " ".join((*(f"console={console}" for console in consoles), _CMDLINE))
        write_unified_kernel_image(
            efi, kernel=ramdisk.kernel_path, cmdline=cmdline, initrd=ramdisk.initrd(layer), title="metalwright deploy"
        )
        medium = efi if out.suffix == ".efi" else _iso_with(efi, scratch)
        medium.chmod(0o600)
        os.replace(medium, out)  # noqa: PTH105 - atomic on purpose, named so


def remove_other_media(medium: Path, node: str) -> None:
    """Remove the media of the node's earlier deployments beside ``medium``: their secrets are of no use any more."""
    name = re.compile(re.escape(node) + r"-[0-9a-f]{16}\.(iso|efi|claim)")
    for path in medium.parent.iterdir():
        if path.stem != medium.stem and name.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _iso_with(efi: Path, scratch: Path) -> Path:
    """Return a new ISO whose El Torito image boots ``efi``."""
    tree, iso = scratch / "iso", scratch / "boot.iso"
    tree.mkdir()
    write_efi_file_system(tree / "efi.img", efi)
    argv = ["xorriso", "-report_about", "SORRY", "-as", "mkisofs", "-quiet", "-V", "METALWRIGHT", "-o", str(iso)]
    run_program([*argv, "-eltorito-alt-boot", "-e", "efi.img", "-no-emul-boot", str(tree)], where=str(iso))
    return iso
