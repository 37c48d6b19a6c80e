"""An image whose root is XFS, as that of Rocky Linux: made by mkfs.xfs, filled through a mount, taken as any image.

The tree has what the agent needs of a system, its own ssh-keygen, and labels of SELinux. It is no Rocky Linux.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.disk_images import MIB, sha256, write_disk

from metalwright.imaging.catalogue import ImageCatalogue, Provenance
from metalwright.model.image import Image

ROOT_MIB = 308
LABELS = {"etc": "system_u:object_r:etc_t:s0", "etc/hostname": "system_u:object_r:hostname_etc_t:s0"}


def can_mount_xfs() -> bool:
    """Whether this process may mount XFS through loop devices."""
    file_systems = Path("/proc/filesystems").read_text().split()
    return os.geteuid() == 0 and "xfs" in file_systems and shutil.which("mkfs.xfs") is not None


needs_xfs = pytest.mark.skipif(not can_mount_xfs(), reason="XFS in a file needs root, loop devices, and xfsprogs")


@contextmanager
def mounted(disk: Path, at: Path, options: str = "ro,norecovery,nouuid") -> Iterator[Path]:
    """The root of a disk, mounted at a directory."""
    at.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "xfs", "-o", f"{options},loop,offset={2 * MIB}", str(disk), str(at)], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", str(at)], check=True)


def fill(root: Path) -> None:
    """A system with ssh-keygen and the libraries that it wants."""
    for name in ("dev", "etc/ssh", "root"):
        (root / name).mkdir(parents=True)
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    (root / "etc/hostname").write_text("unset\n")
    keygen = shutil.which("ssh-keygen") or ""
    told = subprocess.run(["ldd", keygen], check=True, capture_output=True, text=True).stdout
    for program in (keygen, *re.findall(r"(/\S+) \(0x", told)):
        (root / program.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(program, root / program.lstrip("/"))
    for path, label in LABELS.items():
        os.setxattr(root / path, "security.selinux", label.encode())


def make_xfs_image(directory: Path) -> tuple[Image, Path]:
    """The image as ``image add`` has it in the catalogue, and its file."""
    disk = write_disk(directory / "disk.raw", root="none", size_bytes=(ROOT_MIB + 3) * MIB)
    part = directory / "root.xfs"
    with part.open("wb") as file:
        file.truncate(ROOT_MIB * MIB)
    subprocess.run(["mkfs.xfs", "-q", str(part)], check=True)
    subprocess.run(
        ["dd", f"if={part}", f"of={disk}", "bs=1M", "seek=2", "conv=notrunc,sparse"], check=True, capture_output=True
    )
    with mounted(disk, directory / "mounted", "rw") as root:
        fill(root)
    packed = directory / "disk.raw.zst"
    subprocess.run(["zstd", "-q", "-1", str(disk), "-o", str(packed)], check=True)
    catalogue = ImageCatalogue(directory / "images")
    image = catalogue.add(
        packed, name="el", version="9", file_sha256=sha256(packed), provenance=Provenance(comment="made by a test")
    )
    return image, packed
