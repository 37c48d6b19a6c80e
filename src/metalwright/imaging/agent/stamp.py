"""The stamp on a disk: which deployment wrote it.

It lies at byte 524288, between the GPT entries and the first partition at 1 MiB: magic, big-endian length, JSON,
SHA-256 of the JSON; the whole area is 4096 bytes. While a disk is being written it carries the same under another
magic: ours, but not complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct

from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.records import Stamp

OFFSET_BYTES = 524288
AREA_BYTES = 4096
MAGIC = b"MWSTAMP1"
PARTIAL_MAGIC = b"MWSTAMP0"
_HEADER = struct.Struct(">8sI")
_DIGEST_BYTES = 32


def encode_stamp(stamp: Stamp, magic: bytes = MAGIC) -> bytes:
    """Return the 4096 bytes of the stamp area; :class:`AgentError` when the stamp is too long."""
    body = json.dumps(dict(stamp), sort_keys=True, separators=(",", ":")).encode()
    area = _HEADER.pack(magic, len(body)) + body + hashlib.sha256(body).digest()
    if len(area) > AREA_BYTES:
        raise AgentError("write", "the stamp is too long", expected=f"{AREA_BYTES} bytes", found=f"{len(area)} bytes")
    return area.ljust(AREA_BYTES, b"\0")


def decode_stamp(area: bytes, magic: bytes = MAGIC) -> Stamp | None:
    """Return the stamp, or ``None`` when ``area`` holds none of this ``magic`` or a damaged one."""
    if len(area) < _HEADER.size:
        return None
    found_magic, length = _HEADER.unpack_from(area)
    body = area[_HEADER.size : _HEADER.size + length]
    digest = area[_HEADER.size + length : _HEADER.size + length + _DIGEST_BYTES]
    if found_magic != magic or hashlib.sha256(body).digest() != digest:
        return None
    stamp = json.loads(body)
    return stamp if isinstance(stamp, dict) else None


def read_stamp_area(path: str) -> bytes:
    """Read the stamp area of the disk at ``path``; shorter when the disk is."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.pread(fd, AREA_BYTES, OFFSET_BYTES)
    finally:
        os.close(fd)


def write_stamp(path: str, stamp: Stamp) -> None:
    """Write the stamp to the disk, flush it, and read it back."""
    fd = os.open(path, os.O_RDWR)
    try:
        os.pwrite(fd, encode_stamp(stamp), OFFSET_BYTES)
        os.fsync(fd)
    finally:
        os.close(fd)
    if decode_stamp(read_stamp_area(path)) != dict(stamp):
        raise AgentError("read-back", "the stamp cannot be read back", expected=str(dict(stamp)), wrote=True)
