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
_PIECE_BYTES: Final = 2 << 10


class FileDigests(NamedTuple):
    """Of the file as served."""

    sha256: str
    size_bytes: int
    chunk_bytes: int
    chunk_sha256: tuple[str, ...]


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


def content_blocks(path: Path, image_format: str, where: str | None = None) -> Iterator[bytes]:
    """Yield the raw content in order, decompressing on the way; :class:`ImageError` for a damaged file.

    ``where`` is what people call the file.
    """
    try:
        with path.open("rb") as file:
            blocks = iter(lambda: file.read(_BLOCK_BYTES), b"")
            yield from blocks if image_format == "raw" else _decompress(blocks)
    except zstandard.ZstdError as error:
        raise ImageError(
            "the image file cannot be decompressed", where=where or str(path), expected="whole zstd frames",
            found=str(error), hint="it was cut off, or is damaged: fetch or pack it again, and take its digest then",
        ) from error  # fmt: skip


def digest_content(path: Path, image_format: str) -> tuple[str, int]:
    """Read the raw content and return its SHA-256 and size in bytes; :class:`ImageError` for a damaged file."""
    digest, size_bytes = hashlib.sha256(), 0
    for block in content_blocks(path, image_format):
        digest.update(block)
        size_bytes += len(block)
    return digest.hexdigest(), size_bytes


def _decompress(packed_blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of every frame; a file that ends inside a frame is an error, not a short image.

    Little is fed at once: a few bytes may stand for megabytes of zeros.
    """
    is_inside_frame = False
    frame = _new_frame()
    done: list[bytes] = []
    done_bytes = 0
    for packed in _pieces(packed_blocks):
        rest = packed
        while rest:
            done.append(frame.decompress(rest))
            done_bytes += len(done[-1])
            is_inside_frame = not frame.eof
            rest = frame.unused_data if frame.eof else b""
            frame = _new_frame() if frame.eof else frame
        if done_bytes >= _BLOCK_BYTES:
            yield b"".join(done)
            done, done_bytes = [], 0
    if is_inside_frame:
        raise zstandard.ZstdError("the file ends inside a zstd frame")
    yield b"".join(done)


def _pieces(blocks: Iterator[bytes]) -> Iterator[bytes]:
    for block in blocks:
        for start in range(0, len(block), _PIECE_BYTES):
            yield block[start : start + _PIECE_BYTES]


def _new_frame() -> zstandard.ZstdDecompressionObj:
    return zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
