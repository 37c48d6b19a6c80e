"""SMBIOS tables, put together byte by byte as DSP0134 lays them out."""

from __future__ import annotations

from collections.abc import Sequence

POPULATED, EMPTY = 0x41, 0x00


def structure(kind: int, fields: dict[int, bytes], length: int, strings: Sequence[str] = ()) -> bytes:
    """One structure: header, fields at their offsets, strings."""
    body = bytearray(length)
    body[0:4] = bytes([kind, length, 0, 0])
    for offset, value in fields.items():
        body[offset : offset + len(value)] = value
    texts = b"".join(text.encode() + b"\0" for text in strings) or b"\0"
    return bytes(body) + texts + b"\0"


def system(manufacturer: str, product: str) -> bytes:
    return structure(1, {0x04: b"\1\2"}, 0x1B, [manufacturer, product])


def processor(name: str, *, status: int = POPULATED, kind: int = 3) -> bytes:
    return structure(4, {0x05: bytes([kind]), 0x10: b"\1", 0x18: bytes([status])}, 0x30, [name])


def module(slot: str, size_mib: int | None) -> bytes:
    """A memory device; size 0 is an empty slot, ``None`` a size that the firmware does not know."""
    size = 0xFFFF if size_mib is None else size_mib if size_mib < 0x7FFF else 0x7FFF
    extended = (size_mib or 0).to_bytes(4, "little")
    return structure(17, {0x0C: size.to_bytes(2, "little"), 0x10: b"\1", 0x1C: extended}, 0x28, [slot])


def od(*structures: bytes) -> str:
    """The table as ``od -An -v -tx1`` prints it."""
    table = b"".join(structures) + structure(127, {}, 4)
    return "".join(
        " " + " ".join(f"{byte:02x}" for byte in table[start : start + 16]) + "\n" for start in range(0, len(table), 16)
    )
