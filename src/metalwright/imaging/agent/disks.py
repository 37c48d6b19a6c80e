"""The disks of this machine, read from sysfs."""

from __future__ import annotations

from pathlib import Path

from metalwright.imaging.agent.memberships import with_companions
from metalwright.imaging.agent.records import Disk
from metalwright.imaging.agent.signatures import probe_content

_NOT_DISKS = ("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd")
_SECTOR_BYTES = 512


def read_disks(sys: Path = Path("/sys"), dev: Path = Path("/dev")) -> tuple[Disk, ...]:
    """Return all real disks, sorted by path. Optical drives, loop and mapped devices are no disks."""
    names = sorted(entry.name for entry in (sys / "block").iterdir() if not entry.name.startswith(_NOT_DISKS))
    return with_companions(tuple(_read_disk(sys / "block" / name, dev / name) for name in names))


def partition_path(disk: str, number: int) -> str:
    """Return the path of a partition: ``/dev/sda1``, but ``/dev/nvme0n1p1``."""
    return f"{disk}p{number}" if disk[-1].isdigit() else f"{disk}{number}"


def _read_disk(block: Path, path: Path) -> Disk:
    size_bytes = int(_read_text(block / "size") or 0) * _SECTOR_BYTES
    return Disk(
        path=str(path),
        serial=_serial(block),
        wwn=_first_text(block / "wwid", block / "device/wwid"),
        model=_read_text(block / "device/model"),
        size_bytes=size_bytes,
        protocol=_protocol(block),
        read_only=_read_text(block / "ro") != "0",
        removable=_read_text(block / "removable") != "0" or "/usb" in str(block.resolve()),
        content=probe_content(str(path), size_bytes),
    )


def _serial(block: Path) -> str | None:
    """NVMe and virtio give text; SCSI and SATA give VPD page 0x80, whose text starts after four bytes."""
    if text := _first_text(block / "device/serial", block / "serial"):
        return text
    try:
        page = (block / "device/vpd_pg80").read_bytes()
    except OSError:
        return None
    return page[4:].decode("ascii", errors="replace").strip("\0 ") or None


def _protocol(block: Path) -> str | None:
    if block.name.startswith("nvme"):
        return "NVMe"
    if block.name.startswith("vd"):
        return "VIRTIO"
    path = str(block.resolve())
    if "/ata" in path or _read_text(block / "device/vendor") == "ATA":
        return "SATA"
    return "SAS" if "/end_device-" in path else None


def _first_text(*paths: Path) -> str | None:
    return next((text for path in paths if (text := _read_text(path))), None)


def _read_text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip() or None
    except OSError:
        return None
