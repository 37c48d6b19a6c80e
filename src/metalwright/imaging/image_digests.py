"""Digests of image files: of the file, of its chunks, and of the raw content inside."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import zstandard

from metalwright.errors import ImageError

DEFAULT_CHUNK_BYTES: Final = 64 << 20
_BLOCK_BYTES: Final = 1 << 20
_STAMP_AREA: Final = slice(524288, 528384)
_GPT_MAGIC_AREA: Final = slice(512, 520)


class FileDigests(NamedTuple):
    """Of the file as served."""

    sha256: str
    size_bytes: int
    chunk_bytes: int
    chunk_sha256: tuple[str, ...]


class ContentDigests(NamedTuple):
    """Of the raw bytes that end up on a disk."""

    sha256: str
    size_bytes: int
    has_gpt: bool
    has_free_stamp_area: bool


def digest_file(path: Path, chunk_bytes: int = DEFAULT_CHUNK_BYTES) -> FileDigests:
    """Read the file once and return its digests."""
    whole, chunk, chunks, size_bytes = hashlib.sha256(), hashlib.sha256(), [], 0
    with path.open("rb") as file:
        while block := file.read(min(_BLOCK_BYTES, chunk_bytes - size_bytes % chunk_bytes)):
            whole.update(block)
            chunk.update(block)
            size_bytes += len(block)
            if size_bytes % chunk_bytes == 0:
                chunks.append(chunk.hexdigest())
                chunk = hashlib.sha256()
    if size_bytes % chunk_bytes:
        chunks.append(chunk.hexdigest())
    return FileDigests(whole.hexdigest(), size_bytes, chunk_bytes, tuple(chunks))


def digest_content(path: Path, image_format: str) -> ContentDigests:
    """Read the raw content, decompressing on the way; :class:`ImageError` for a damaged file."""
    digest, size_bytes, head = hashlib.sha256(), 0, b""
    try:
        for block in _content_blocks(path, image_format):
            if size_bytes < _STAMP_AREA.stop:
                head += block
            digest.update(block)
            size_bytes += len(block)
    except zstandard.ZstdError as error:
        raise ImageError("the image file cannot be decompressed", where=str(path), found=str(error)) from error
    return ContentDigests(
        digest.hexdigest(), size_bytes, head[_GPT_MAGIC_AREA] == b"EFI PART", not any(head[_STAMP_AREA])
    )


def _content_blocks(path: Path, image_format: str) -> Iterator[bytes]:
    with path.open("rb") as file:
        blocks = iter(lambda: file.read(_BLOCK_BYTES), b"")
        yield from blocks if image_format == "raw" else _decompress(blocks)


def _decompress(packed_blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of every frame; a file that ends inside a frame is an error, not a short image."""
    is_inside_frame = False
    frame = _new_frame()
    for block in packed_blocks:
        packed = block
        while packed:
            yield frame.decompress(packed)
            is_inside_frame = not frame.eof
            packed = frame.unused_data if frame.eof else b""
            frame = _new_frame() if frame.eof else frame
    if is_inside_frame:
        raise zstandard.ZstdError("the file ends inside a zstd frame")


def _new_frame() -> zstandard.ZstdDecompressionObj:
    return zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
