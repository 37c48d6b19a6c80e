"""Variables of OVMF in their flash file: how a BMC tells the firmware what to start next.

The layout is that of edk2 (MdeModulePkg ``VariableFormat.h``, authenticated variables): a firmware volume whose body
is a store, into which variables are appended; an old value stays behind with a state that says so.
"""

from __future__ import annotations

import struct
import uuid
from pathlib import Path
from typing import Final, NamedTuple

from metalwright.errors import LabError

EFI_GLOBAL: Final = uuid.UUID("8be4df61-93ca-11d2-aa0d-00e098032b8c")
HTTP_OPTION: Final = 0x4D57
"""Number of the boot option that starts from a URL; far from those that the firmware makes by itself."""
HTTP_NAME: Final = "metalwright HTTP boot"
_STORE: Final = uuid.UUID("aaf32c78-947b-439a-a180-2e144ec37792")
_NON_VOLATILE_BOOT_RUNTIME: Final = 0x7
_VOLUME = struct.Struct("<16s16sQ4sIH")
_STORE_HEADER = struct.Struct("<16sIBBHI")
_VARIABLE = struct.Struct("<HBBIQ16sIII16s")
_START_ID: Final = 0x55AA
_ADDED: Final = 0x3F
_DELETED: Final = 0xFD
_ACTIVE_OPTION: Final = 1
_URI_NODE: Final = (3, 24)
_END_NODE: Final = b"\x7f\xff\x04\x00"


class _Found(NamedTuple):
    """One variable in the file: where its header lies, and where the next one may."""

    offset: int
    name: str
    vendor: uuid.UUID
    state: int
    data: bytes
    end: int


def set_http_boot(path: Path, url: str) -> None:
    """Have the next start, and only that one, boot ``url``: a boot option with its URL, and ``BootNext``.

    The machine must be off. Raises :class:`LabError` when ``path`` is no variable store or is full.
    """
    set_variable(path, f"Boot{HTTP_OPTION:04X}", _load_option(HTTP_NAME, url))
    set_variable(path, "BootNext", struct.pack("<H", HTTP_OPTION))


def set_variable(path: Path, name: str, data: bytes) -> None:
    """Give a global variable of the firmware its value. Raises as :func:`set_http_boot`, which says when."""
    flash = bytearray(path.read_bytes())
    _set(flash, name, data, path)
    draft = path.with_suffix(".new")
    draft.write_bytes(flash)
    draft.replace(path)


def _load_option(description: str, url: str) -> bytes:
    """Return an ``EFI_LOAD_OPTION`` whose path is the short form ``Uri(url)``: the firmware finds the port."""
    uri = url.encode("ascii")
    path = struct.pack("<BBH", *_URI_NODE, 4 + len(uri)) + uri + _END_NODE
    return struct.pack("<IH", _ACTIVE_OPTION, len(path)) + (description + "\0").encode("utf-16-le") + path


def _set(flash: bytearray, name: str, data: bytes, path: Path) -> None:
    """Mark every older value of the variable as deleted and append the new one."""
    start, end = _bounds(flash, path)
    free = start
    for item in _walk(bytes(flash), path):
        free = item.end
        if (item.name, item.vendor) == (name, EFI_GLOBAL):
            flash[item.offset + 2] &= _DELETED
    encoded = (name + "\0").encode("utf-16-le")
    header = _VARIABLE.pack(
        _START_ID, _ADDED, 0, _NON_VOLATILE_BOOT_RUNTIME, 0, bytes(16), 0, len(encoded), len(data), EFI_GLOBAL.bytes_le
    )
    whole = header + encoded + data
    if free + len(whole) > end:
        raise LabError("the firmware's variables have no room left", where=str(path), hint="`lab down --wipe`")
    flash[free : free + len(whole)] = whole


def _walk(flash: bytes, path: Path) -> list[_Found]:
    start, end = _bounds(flash, path)
    found, offset = [], start
    while offset + _VARIABLE.size <= end:
        head = _VARIABLE.unpack_from(flash, offset)
        start_id, state, name_bytes, data_bytes, vendor = head[0], head[1], head[7], head[8], head[9]
        if start_id != _START_ID:
            break
        name_at = offset + _VARIABLE.size
        data_at = name_at + name_bytes
        if data_at + data_bytes > end:
            raise LabError("the firmware's variables are damaged", where=f"{path} at {offset:#x}")
        name = flash[name_at : data_at - 2].decode("utf-16-le", "replace")
        next_at = (data_at + data_bytes + 3) // 4 * 4
        data = flash[data_at : data_at + data_bytes]
        found.append(_Found(offset, name, uuid.UUID(bytes_le=vendor), state, data, next_at))
        offset = next_at
    return found


def _bounds(flash: bytes | bytearray, path: Path) -> tuple[int, int]:
    """Return where variables begin and where the store ends."""
    try:
        signature, header_bytes = _VOLUME.unpack_from(flash)[3], _VOLUME.unpack_from(flash)[5]
        store, size_bytes = _STORE_HEADER.unpack_from(flash, header_bytes)[:2]
    except struct.error as error:
        raise LabError("no store of firmware variables", where=str(path)) from error
    if signature != b"_FVH" or uuid.UUID(bytes_le=store) != _STORE:
        raise LabError("no store of firmware variables", where=str(path), expected="edk2, authenticated variables")
    return header_bytes + _STORE_HEADER.size, header_bytes + size_bytes
