"""The SMBIOS table that firmware leaves for the operating system: what it says of product, processors and DIMMs. Pure.

Structures and offsets are those of DMTF DSP0134 (SMBIOS 3): types 1, 4 and 17.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

READ_TABLE = "od -An -v -tx1 /sys/firmware/dmi/tables/DMI"
"""The command whose output :func:`read_table` reads; root alone may read the table."""

_HEADER_BYTES = 4
_SYSTEM, _PROCESSOR, _MEMORY_DEVICE, _END = 1, 4, 17, 127
_POPULATED = 0x40
_CENTRAL_PROCESSOR = 3
_SIZE_UNKNOWN, _SIZE_IS_EXTENDED, _SIZE_IN_KIB = 0xFFFF, 0x7FFF, 0x8000


@dataclass(frozen=True)
class Module:
    """One populated memory slot; ``size_gib`` is ``None`` where the firmware does not know it."""

    slot: str | None
    size_gib: float | None


@dataclass(frozen=True)
class Smbios:
    """What the table says. ``None`` and empty tuples: it says nothing of it."""

    manufacturer: str | None
    product: str | None
    processors: tuple[str, ...]
    modules: tuple[Module, ...]


@dataclass(frozen=True)
class _Structure:
    kind: int
    data: bytes
    strings: tuple[str, ...]

    def number(self, offset: int, size: int) -> int | None:
        """A little-endian number; ``None`` where the structure is too short (an older version of it)."""
        part = self.data[offset : offset + size]
        return int.from_bytes(part, "little") if len(part) == size else None

    def text(self, offset: int) -> str | None:
        index = self.number(offset, 1)
        return self.strings[index - 1].strip() or None if index and index <= len(self.strings) else None


def read_table(od_text: str) -> Smbios:
    """Read the table from ``od``'s hexadecimal bytes.

    Raises:
        ValueError: the text is not hexadecimal.
    """
    structures = tuple(_structures(bytes.fromhex("".join(od_text.split()))))
    system = next((item for item in structures if item.kind == _SYSTEM), None)
    return Smbios(
        manufacturer=system.text(0x04) if system is not None else None,
        product=system.text(0x05) if system is not None else None,
        processors=tuple(filter(None, (_processor(item) for item in structures if item.kind == _PROCESSOR))),
        modules=tuple(filter(None, (_module(item) for item in structures if item.kind == _MEMORY_DEVICE))),
    )


def _structures(table: bytes) -> Iterator[_Structure]:
    start = 0
    while start + _HEADER_BYTES <= len(table):
        kind, length = table[start], table[start + 1]
        end = table.find(b"\0\0", start + length)
        if length < _HEADER_BYTES or kind == _END or end < 0:
            return
        texts = table[start + length : end].split(b"\0")
        yield _Structure(kind, table[start : start + length], tuple(text.decode("latin-1") for text in texts))
        start = end + 2


def _processor(item: _Structure) -> str | None:
    """The name of a populated central processor; ``""`` never."""
    status = item.number(0x18, 1)
    is_populated = status is None or bool(status & _POPULATED)
    return item.text(0x10) if item.number(0x05, 1) == _CENTRAL_PROCESSOR and is_populated else None


def _module(item: _Structure) -> Module | None:
    """A populated memory slot, ``None`` for an empty one."""
    size = item.number(0x0C, 2)
    if not size:
        return None
    size_mib: float | None = size
    if size == _SIZE_UNKNOWN:
        size_mib = None
    elif size == _SIZE_IS_EXTENDED:
        size_mib = item.number(0x1C, 4)
    elif size & _SIZE_IN_KIB:
        size_mib = (size & ~_SIZE_IN_KIB) / 1024
    return Module(item.text(0x10), size_mib / 1024 if size_mib else None)
