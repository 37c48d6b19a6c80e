"""Boot entries as firmware keeps them."""

from __future__ import annotations

import struct
import uuid
from pathlib import Path

from metalwright.imaging.agent.boot_entries import EFI_GLOBAL

FORMER = "11111111-2222-4333-8444-555555555555"
ELSEWHERE = "99999999-2222-4333-8444-555555555555"
END = b"\x7f\xff\x04\x00"
PCI_NODE = struct.pack("<BBHBB", 1, 1, 6, 0, 3)


def load_option(name: str, guid: str | None) -> bytes:
    """An entry that starts a program from the partition ``guid``, or from a PCI device."""
    path = PCI_NODE
    if guid is not None:
        drive = struct.pack("<IQQ16sBB", 1, 2048, 131072, uuid.UUID(guid).bytes_le, 2, 2)
        file = "\\EFI\\old\\grubx64.efi\0".encode("utf-16-le")
        path += struct.pack("<BBH", 4, 1, 4 + len(drive)) + drive + struct.pack("<BBH", 4, 4, 4 + len(file)) + file
    path += END
    return struct.pack("<IH", 1, len(path)) + f"{name}\0".encode("utf-16-le") + path


def put_variable(directory: Path, name: str, data: bytes) -> Path:
    """A variable as Linux shows it."""
    directory.mkdir(exist_ok=True)
    path = directory / f"{name}-{EFI_GLOBAL}"
    path.write_bytes(struct.pack("<I", 7) + data)
    return path
