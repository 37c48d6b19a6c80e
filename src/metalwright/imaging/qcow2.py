"""qcow2 images: what their header says, and their conversion to raw.

Nothing outside of the file is ever read: a backing file or an external data file is refused before qemu-img sees it.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final, NamedTuple

from metalwright.errors import ImageError
from metalwright.imaging.programs import run_program

MAGIC: Final = b"QFI\xfb"
MAXIMUM_VIRTUAL_BYTES: Final = 256 << 30
_HEADER: Final = struct.Struct(">4sIQIIQI")
_FEATURES_OFFSET: Final = 72
_FEATURES: Final = struct.Struct(">Q")
_CORRUPT, _EXTERNAL_DATA = 1 << 1, 1 << 2
_SOUND_CODES: Final = frozenset({0, 3})
"""Exit codes of ``qemu-img check``: in order; in order but with clusters that nothing uses."""


class Qcow2Header(NamedTuple):
    """The part of the header that decides whether the image stands alone."""

    version: int
    virtual_size_bytes: int
    has_backing_file: bool
    is_encrypted: bool
    features: int


def read_header(path: Path, where: str | None = None) -> Qcow2Header:
    """Read the header; ``where`` is what people call the file. Raises :class:`ImageError` when it is cut off."""
    with path.open("rb") as file:
        head = file.read(_FEATURES_OFFSET + _FEATURES.size)
    if len(head) < _FEATURES_OFFSET or not head.startswith(MAGIC):
        raise ImageError(
            "the qcow2 header is cut off", where=where or str(path), found=f"{len(head)} bytes",
            expected=f"at least {_FEATURES_OFFSET} bytes", hint="fetch it again, and take its digest then",
        )  # fmt: skip
    _, version, backing, _, _, size_bytes, encryption = _HEADER.unpack_from(head)
    features = _FEATURES.unpack_from(head, _FEATURES_OFFSET)[0] if version > 2 and len(head) >= 80 else 0
    return Qcow2Header(version, size_bytes, backing != 0, encryption != 0, features)


def convert_to_raw(source: Path, target: Path, where: str) -> Qcow2Header:
    """Write the disk inside ``source`` to ``target``, holes left out; returns the header.

    Raises:
        ImageError: the image needs another file or a key, is damaged, or is too large; or qemu-img is missing.
    """
    header = read_header(source, where)
    refusals = {
        "it is a layer on top of another file (backing file)": header.has_backing_file,
        "its data lie in another file": bool(header.features & _EXTERNAL_DATA),
        "it is encrypted": header.is_encrypted,
        "it is marked as corrupt": bool(header.features & _CORRUPT),
    }
    for why, applies in refusals.items():
        if applies:
            raise ImageError(
                "this qcow2 image does not stand alone", where=where, expected="one complete file", found=why,
                hint="make one with: qemu-img convert -O qcow2 LAYER COMPLETE.qcow2",
            )  # fmt: skip
    if header.virtual_size_bytes > MAXIMUM_VIRTUAL_BYTES:
        raise ImageError(
            "the disk in this image is too large", where=where, expected=f"at most {MAXIMUM_VIRTUAL_BYTES} bytes",
            found=f"{header.virtual_size_bytes} bytes",
            hint="an image grows to the size of its disk anyway; shrink it with qemu-img resize --shrink",
        )  # fmt: skip
    # Converting takes clusters beyond the end of a cut file for zeros; checking tells.
    run_program(["qemu-img", "check", "-q", "-f", "qcow2", str(source)], where=where, good_codes=_SOUND_CODES)
    run_program(["qemu-img", "convert", "-f", "qcow2", "-O", "raw", str(source), str(target)], where=where)
    return header
