"""Reads variables of OVMF's flash file without the product's code: what was written is judged by other eyes."""

from __future__ import annotations

import struct
from pathlib import Path

_HEADER = struct.Struct("<HBBIQ16sIII16s")
_IN_FORCE = 0x3F


def read_variable(path: Path, name: str) -> bytes | None:
    """The value of a variable that is in force; None when there is none."""
    flash = path.read_bytes()
    at = struct.unpack_from("<H", flash, 48)[0] + 28  # after the volume's header and the store's
    value = None
    while flash[at : at + 2] == b"\xaa\x55":
        header = _HEADER.unpack_from(flash, at)
        name_at, data_at = at + _HEADER.size, at + _HEADER.size + header[7]
        if header[1] == _IN_FORCE and flash[name_at:data_at].decode("utf-16-le").rstrip("\0") == name:
            value = flash[data_at : data_at + header[8]]
        at = (data_at + header[8] + 3) // 4 * 4
    return value
