"""Tiny disk images that UEFI firmware would start: a GPT, an ESP with a program, and a root file system."""

from __future__ import annotations

import hashlib
import struct
import subprocess
from pathlib import Path

MIB = 1 << 20
_SYSTEM_TYPE = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"
_LINUX_TYPE = "0FC63DAF-8483-4772-8E79-3D69D8477DE4"
MACHINES = {"x86_64": 0x8664, "aarch64": 0xAA64, "i386": 0x14C}


def efi_program(architecture: str = "x86_64") -> bytes:
    """The smallest thing that says of itself that it is an EFI program for this processor."""
    optional = struct.pack("<H", 0x20B).ljust(112, b"\0") + bytes(16 * 8)
    header = b"PE\0\0" + struct.pack("<HHIIIHH", MACHINES[architecture], 0, 0, 0, 0, len(optional), 0x22)
    return (b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40) + header + optional).ljust(1024, b"\0")


def write_disk(
    path: Path,
    *,
    programs: dict[str, bytes] | None = None,
    root: str = "ext4",
    files: dict[str, str] | None = None,
    size_bytes: int = 16 * MIB,
) -> Path:
    """Write a raw image: ESP at 1 MiB, root at 2 MiB (``ext4`` or ``none``); no ESP for ``programs`` of none."""
    programs = {"BOOTX64.EFI": efi_program()} if programs is None else programs
    work = path.parent / f"{path.name}.parts"
    work.mkdir()
    with path.open("wb") as file:
        file.truncate(size_bytes)
    sectors = size_bytes // 512 - 4096 - 2048
    esp = f"start=2048, size=2048, type={_SYSTEM_TYPE if programs else _LINUX_TYPE}\n"
    table = f"label: gpt\n{esp}start=4096, size={sectors}, type={_LINUX_TYPE}\n"
    subprocess.run(["sfdisk", "-q", str(path)], input=table.encode(), check=True)
    if programs:
        _write_esp(path, work, programs)
    if root == "ext4":
        _write_root(path, work, files or {"etc/hostname": "unset\n"}, sectors // 2048)
    return path


def put(path: Path, offset: int, data: bytes) -> None:
    """Write bytes at a place of a disk."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def sha256(path: Path) -> str:
    """Digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write_esp(path: Path, work: Path, programs: dict[str, bytes]) -> None:
    esp = work / "esp"
    with esp.open("wb") as file:
        file.truncate(MIB)
    subprocess.run(["mformat", "-i", str(esp), "-N", "1", "::"], check=True)
    subprocess.run(["mmd", "-i", str(esp), "::/EFI", "::/EFI/BOOT"], check=True)
    for name, data in programs.items():
        (work / name).write_bytes(data)
        subprocess.run(["mcopy", "-i", str(esp), str(work / name), f"::/EFI/BOOT/{name}"], check=True)
    put(path, MIB, esp.read_bytes())


def _write_root(path: Path, work: Path, files: dict[str, str], size_mib: int) -> None:
    root = work / "root"
    (root / "etc/ssh").mkdir(parents=True)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    mkfs = ["mkfs.ext4", "-q", "-F", "-E", f"offset={2 * MIB}", "-d", str(root), str(path), f"{size_mib}M"]
    subprocess.run(mkfs, check=True, capture_output=True)
