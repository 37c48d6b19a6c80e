"""The signed way to boot: Microsoft's keys in the firmware → shim → Debian's signed GRUB → Debian's signed kernel.

Each is taken from its Debian package as it is. What comes after the kernel (the ramdisk, GRUB's configuration) is
signed by nobody: Secure Boot keeps foreign kernels out, and nothing more.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from metalwright.errors import ImageError
from metalwright.imaging.apt_sources import read_apt_sources
from metalwright.imaging.portable_executable import read_program
from metalwright.imaging.private_apt import PrivateApt
from metalwright.imaging.programs import run_program

_PACKAGES: Final = ("shim-signed", "grub-efi-amd64-signed")
_SHIM: Final = "usr/lib/shim/shimx64.efi.signed"
_DISK_LOADER: Final = "usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed"
_CD_LOADER: Final = "usr/lib/grub/x86_64-efi-signed/gcdx64.efi.signed"
_PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9_./,=:@+-]+")


class SignedBoot(NamedTuple):
    """The programs; the loaders differ in where they look for their configuration."""

    shim: Path
    disk_loader: Path
    cd_loader: Path


def signed_boot(cache_dir: Path, suite: str = "bookworm", mirrors: tuple[str, ...] = ()) -> SignedBoot:
    """The programs of Debian ``suite``, fetched unless ``cache_dir`` has them. Raises :class:`ImageError`."""
    directory = cache_dir.resolve() / "signed-boot" / suite  # apt takes relative paths for its own
    found = SignedBoot(directory / _SHIM, directory / _DISK_LOADER, directory / _CD_LOADER)
    if not all(path.exists() for path in found):
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent) as scratch:
            _fetch(Path(scratch), directory, mirrors or read_apt_sources(suite))
    for path in found:
        require_signed(path, str(path))
    return found


def require_signed(path: Path, where: str) -> None:
    """Refuse an EFI program that carries no signature of its own bytes. Raises :class:`ImageError`."""
    program = read_program(path.read_bytes())
    if program is None or not program.signers:
        raise ImageError(
            "Secure Boot would refuse this program", where=where, expected="an EFI program with a signature",
            found="no EFI program" if program is None else "no signature",
            hint="Debian's packages linux-image-amd64 and linux-image-cloud-amd64 are signed",
        )  # fmt: skip


def boot_menu(kernel: str, initrd: str | None, cmdline: str) -> str:
    """GRUB's configuration that starts one kernel at once; paths are those of the file system that GRUB is on."""
    words = " ".join(word if _PLAIN_WORD.fullmatch(word) else f"'{word}'" for word in cmdline.split())
    if "'" in cmdline:
        raise ImageError("a quote in the kernel's arguments", where="cmdline", found=cmdline)
    lines = ("set timeout=0", f"linux {kernel} {words}", f"initrd {initrd}" if initrd else "", "boot")
    return "".join(f"{line}\n" for line in lines if line)


def _fetch(scratch: Path, directory: Path, sources: tuple[str, ...]) -> None:
    root, packages = scratch / "root", scratch / "packages"
    packages.mkdir()
    PrivateApt(scratch / "apt", sources, "amd64").fetch(_PACKAGES, packages)
    for package in sorted(packages.glob("*.deb")):
        run_program(["dpkg-deb", "-x", str(package), str(root)], where=package.name)
    if not directory.exists():
        root.rename(directory)
