"""What an image file is, by its own bytes: never by its name, nor by what somebody says of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Literal

from metalwright.errors import ImageError
from metalwright.imaging.partitions import GPT_MAGIC, SECTOR_BYTES, has_gpt
from metalwright.imaging.qcow2 import MAGIC as QCOW2_MAGIC
from metalwright.imaging.sources import MINIMUM_IMAGE_BYTES

_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_LOOKS: Final = {
    b"\x1f\x8b": "a gzip file",
    b"\xfd7zXZ": "an xz file",
    b"BZh": "a bzip2 file",
    b"PK": "a zip file",
    b"KDMV": "a VMDK image",
    b"conectix": "a VHD image",
    b"vhdxfile": "a VHDX image",
}
_PATH: Final = "look at the path, and whether you may read the file"
_HINTS: Final = {
    "a gzip file": "unpack it first: gunzip FILE",
    "an xz file": "unpack it first: unxz FILE",
    "a bzip2 file": "unpack it first: bunzip2 FILE",
    "a zip file": "unpack it first: unzip FILE",
    "a VMDK image": "convert it first: qemu-img convert -O qcow2 FILE IMAGE.qcow2",
    "a VHD image": "convert it first: qemu-img convert -O qcow2 FILE IMAGE.qcow2",
    "a VHDX image": "convert it first: qemu-img convert -O qcow2 FILE IMAGE.qcow2",
}


def detect_format(path: Path, where: str) -> Literal["raw", "raw.zst", "qcow2"]:
    """Return the format. Raises :class:`ImageError` that says what the file looks like."""
    try:
        if not path.is_file():
            found = "something that is no regular file" if path.exists() else "nothing"
            raise ImageError("the image file cannot be read", where=where, expected="a file", found=found, hint=_PATH)
        with path.open("rb") as file:
            head = file.read(SECTOR_BYTES + len(GPT_MAGIC))
            size_bytes = file.seek(0, os.SEEK_END)
    except OSError as error:
        raise ImageError("the image file cannot be read", where=where, found=error.strerror, hint=_PATH) from error
    if head.startswith(QCOW2_MAGIC):
        return "qcow2"
    if head.startswith(_ZSTD_MAGIC):
        return "raw.zst"
    if has_gpt(head) and size_bytes >= MINIMUM_IMAGE_BYTES:
        return "raw"
    looks = _describe(head)
    raise ImageError(
        "this is no disk image",
        where=where,
        expected=f"a disk with a GPT of at least {MINIMUM_IMAGE_BYTES} bytes: raw, raw in zstd, or qcow2",
        found=f"{looks} of {size_bytes} bytes",
        hint=_HINTS.get(looks, "docs/how-to/take-an-image.md: what must be in it"),
    )


def _describe(head: bytes) -> str:
    for magic, what in _LOOKS.items():
        if head.startswith(magic):
            return what
    if head.lstrip()[:1] == b"<":
        return "an HTML or XML page"
    if head[SECTOR_BYTES - 2 : SECTOR_BYTES] == b"\x55\xaa":
        return "a disk with an MBR and no GPT"
    return "a file"
