"""Boot entries of the firmware that point to partitions which this deployment destroyed: removed, and no others.

An entry goes only when its path names a GPT partition that was on a disk which was erased or written now, and that is
on no disk any more. Entries for networks, other disks, disks that are not plugged in, and such as cannot be read, stay.
Images start by their default path, so no entry is made.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import struct
import subprocess
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from metalwright.imaging.agent.tools import run_tool

EFI_GLOBAL: Final = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
VARIABLES: Final = Path("/sys/firmware/efi/efivars")
_ENTRY: Final = re.compile(rf"Boot([0-9A-F]{{4}})-{EFI_GLOBAL}")
_ATTRIBUTES_BYTES: Final = 4
_HEADER: Final = struct.Struct("<IH")
_NODE: Final = struct.Struct("<BBH")
_HARD_DRIVE: Final = (4, 1)
_HARD_DRIVE_NODE: Final = struct.Struct("<IQQ16sBB")
_GPT, _BY_GUID = 2, 2
_END_TYPE: Final = 0x7F
_GET_FLAGS, _SET_FLAGS, _IMMUTABLE = 0x80086601, 0x40086602, 0x10


class BootEntry(NamedTuple):
    """One entry; ``partition`` is the GUID that its path names, None where it names none."""

    number: int
    name: str
    partition: str | None

    def describe(self) -> str:
        """Return it for people."""
        return f"Boot{self.number:04X} ({self.name})"


def partition_guids(paths: Iterable[str]) -> frozenset[str]:
    """Return the GUIDs of all GPT partitions on these disks; a disk that cannot be read has none."""
    found: set[str] = set()
    for path in paths:
        told = subprocess.run(["sfdisk", "--json", path], capture_output=True, check=False)
        if told.returncode == 0:
            table = json.loads(told.stdout)["partitiontable"]
            found |= {part["uuid"].lower() for part in table.get("partitions", []) if "uuid" in part}
    return frozenset(found)


def parse_entry(number: int, data: bytes) -> BootEntry | None:
    """Return an ``EFI_LOAD_OPTION`` (UEFI 2.10, 3.1.3) as far as it matters here; None where it is none."""
    try:
        _, path_bytes = _HEADER.unpack_from(data)
        rest = data[_HEADER.size :]
        end = next(at for at in range(0, len(rest) - 1, 2) if rest[at : at + 2] == b"\0\0")
        path = rest[end + 2 : end + 2 + path_bytes]
        return BootEntry(number, rest[:end].decode("utf-16-le"), _partition(path) if len(path) == path_bytes else None)
    except (struct.error, StopIteration, UnicodeDecodeError):
        return None


def _partition(path: bytes) -> str | None:
    at = 0
    while at + _NODE.size <= len(path):
        kind, subtype, size = _NODE.unpack_from(path, at)
        if kind == _END_TYPE or size < _NODE.size:
            return None
        if (kind, subtype) == _HARD_DRIVE:
            _, _, _, signature, table, signature_kind = _HARD_DRIVE_NODE.unpack_from(path, at + _NODE.size)
            is_guid = (table, signature_kind) == (_GPT, _BY_GUID)
            return str(uuid.UUID(bytes_le=signature)) if is_guid else None
        at += size
    return None


class EfiVariables:
    """The firmware's variables as Linux shows them: files of attributes and data, which resist accidents."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def entries(self) -> tuple[BootEntry, ...]:
        """Return every boot entry that can be read."""
        found = []
        for path in sorted(self._directory.glob(f"Boot*-{EFI_GLOBAL}")):
            match = _ENTRY.fullmatch(path.name)
            entry = parse_entry(int(match[1], 16), path.read_bytes()[_ATTRIBUTES_BYTES:]) if match else None
            if entry is not None:
                found.append(entry)
        return tuple(found)

    def remove(self, entry: BootEntry) -> None:
        """Take the entry out of the order, then away. Raises OSError."""
        order = self._path("BootOrder")
        if order.exists():
            content = order.read_bytes()
            attributes, numbers = content[:_ATTRIBUTES_BYTES], content[_ATTRIBUTES_BYTES:]
            kept = b"".join(pair for pair in _pairs(numbers) if pair != struct.pack("<H", entry.number))
            if kept != numbers:
                _make_mutable(order)
                _write_at_once(order, attributes + kept)
        path = self._path(f"Boot{entry.number:04X}")
        _make_mutable(path)
        path.unlink()

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}-{EFI_GLOBAL}"


def _pairs(numbers: bytes) -> Iterable[bytes]:
    return (numbers[at : at + 2] for at in range(0, len(numbers), 2))


def _write_at_once(path: Path, content: bytes) -> None:
    """One write is one variable; an order without entries is a variable without data, which does not exist."""
    if len(content) == _ATTRIBUTES_BYTES:
        path.unlink()
        return
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, content)
        os.ftruncate(fd, len(content))  # an ordinary file keeps its length otherwise; of a variable this is the length
    finally:
        os.close(fd)


def _make_mutable(path: Path) -> None:
    """Linux keeps boot variables from ``rm -rf`` by the immutable flag; ordinary files may know no flags."""
    fd = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            flags = int.from_bytes(fcntl.ioctl(fd, _GET_FLAGS, bytes(8))[:4], "little")
            fcntl.ioctl(fd, _SET_FLAGS, (flags & ~_IMMUTABLE).to_bytes(8, "little"))
    finally:
        os.close(fd)


def mounted_variables() -> EfiVariables | None:
    """Mount the variables of this machine's firmware; None where it was not started by UEFI. Raises AgentError."""
    if not VARIABLES.is_dir():
        return None
    if not any(VARIABLES.iterdir()):
        run_tool(["mount", "-t", "efivarfs", "efivarfs", str(VARIABLES)], code="internal")
    return EfiVariables(VARIABLES)


def remove_stale_entries(variables: EfiVariables, gone: frozenset[str]) -> tuple[str, ...]:
    """Remove the entries that point to partitions ``gone``; return what was removed, for people. Raises OSError."""
    stale = [entry for entry in variables.entries() if entry.partition in gone]
    for entry in stale:
        variables.remove(entry)
    return tuple(entry.describe() for entry in stale)
