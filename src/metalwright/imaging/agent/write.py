"""Writing an image to a disk so that a half-written disk is never mistaken for anything else.

The disk is cleared, marked as part-written by this run, then written from 1 MiB on; the first MiB, which holds the
partition table, comes last. So an interrupted disk does not boot, and is known as ours at the next attempt.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import struct
from collections.abc import Iterator
from typing import Final

from metalwright.imaging.agent.decompress import content_blocks
from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.fetch import BLOCK_BYTES, Report
from metalwright.imaging.agent.records import Disk, Image, Stamp
from metalwright.imaging.agent.stamp import AREA_BYTES, OFFSET_BYTES, PARTIAL_MAGIC, encode_stamp

_BLKDISCARD: Final = 0x1277
_BLKZEROOUT: Final = 0x127F
_BLKFLSBUF: Final = 0x1261
_HEAD_BYTES: Final = 1 << 20
_ZERO_STEP_BYTES: Final = 1 << 30
_ZERO_BLOCK: Final = bytes(BLOCK_BYTES)


def write_image(disk: Disk, image: Image, stamp: Stamp, file_blocks: Iterator[bytes], report: Report) -> None:
    """Clear the disk and write the image's raw content, decompressed from ``file_blocks``; flush everything.

    Raises :class:`AgentError` with ``wrote=True``. ``O_EXCL`` refuses a disk that is mounted or held by a mapping.
    """
    fd = os.open(disk.path, os.O_RDWR | os.O_EXCL)
    try:
        _clear(fd, disk.size_bytes, image.content_size_bytes)
        os.pwrite(fd, encode_stamp(stamp, PARTIAL_MAGIC), OFFSET_BYTES)
        os.fsync(fd)
        head = _write_tail(fd, image, file_blocks, report)
        os.fsync(fd)
        os.pwrite(fd, head[:OFFSET_BYTES], 0)
        os.pwrite(fd, head[OFFSET_BYTES + AREA_BYTES :], OFFSET_BYTES + AREA_BYTES)
        os.fsync(fd)
        _drop_cache(fd)
    except OSError as error:
        raise AgentError("write", f"writing {disk.path} failed", found=error.strerror, wrote=True) from error
    finally:
        os.close(fd)


def read_back_sha256(disk: Disk, image: Image, stamp: Stamp, report: Report) -> str:
    """Read the content range from the disk and return its SHA-256; our own mark counts as the zeros it replaced."""
    digest = hashlib.sha256()
    fd = os.open(disk.path, os.O_RDONLY)
    try:
        _drop_cache(fd)
        head = bytearray(os.pread(fd, min(_HEAD_BYTES, image.content_size_bytes), 0))
        mark = slice(OFFSET_BYTES, OFFSET_BYTES + AREA_BYTES)
        if head[mark] == encode_stamp(stamp, PARTIAL_MAGIC)[: len(head[mark])]:
            head[mark] = bytes(len(head[mark]))
        digest.update(head)
        position = len(head)
        buffer = memoryview(bytearray(4 * BLOCK_BYTES))
        while position < image.content_size_bytes:
            wanted = min(len(buffer), image.content_size_bytes - position)
            count = os.preadv(fd, [buffer[:wanted]], position)
            if count == 0:
                break
            digest.update(buffer[:count])
            position += count
            report(position, image.content_size_bytes)
    except OSError as error:
        raise AgentError("read-back", f"reading {disk.path} failed", found=error.strerror, wrote=True) from error
    finally:
        os.close(fd)
    return digest.hexdigest()


def is_block_device(fd: int) -> bool:
    """Whether the open file is a block device (a file-backed disk is not)."""
    return stat.S_ISBLK(os.fstat(fd).st_mode)


def _clear(fd: int, disk_bytes: int, content_bytes: int) -> None:
    """Discard the whole disk where it can, then make the content range and the disk's last MiB zero for sure."""
    if not is_block_device(fd):
        os.ftruncate(fd, 0)
        os.ftruncate(fd, disk_bytes)
        return
    with contextlib.suppress(OSError):  # a disk without discard; the zeros below are what counts
        fcntl.ioctl(fd, _BLKDISCARD, struct.pack("QQ", 0, disk_bytes))
    sector_end = -(-content_bytes // _HEAD_BYTES) * _HEAD_BYTES
    _zero(fd, 0, min(sector_end, disk_bytes))
    _zero(fd, max(0, disk_bytes - _HEAD_BYTES), disk_bytes)


def _zero(fd: int, start: int, end: int) -> None:
    while start < end:
        size = min(_ZERO_STEP_BYTES, end - start)
        fcntl.ioctl(fd, _BLKZEROOUT, struct.pack("QQ", start, size))
        start += size


def _write_tail(fd: int, image: Image, file_blocks: Iterator[bytes], report: Report) -> bytes:
    """Write everything after the first MiB, leaving zeros out, and return that first MiB unwritten."""
    head, position = bytearray(), 0
    for block in content_blocks(image.format, file_blocks):
        if position + len(block) > image.content_size_bytes:
            raise _wrong_size(image, f"more than {image.content_size_bytes} bytes")
        kept = max(0, min(len(block), _HEAD_BYTES - position))
        head += block[:kept]
        rest = block[kept:] if kept else block
        if rest and rest != _ZERO_BLOCK[: len(rest)]:
            _write_all(fd, rest, position + kept)
        position += len(block)
        report(position, image.content_size_bytes)
    if position != image.content_size_bytes:
        raise _wrong_size(image, f"{position} bytes")
    if any(head[OFFSET_BYTES : OFFSET_BYTES + AREA_BYTES]):
        raise AgentError(
            "write", "the image uses the place of the stamp", expected=f"zeros at {OFFSET_BYTES}", wrote=True
        )
    return bytes(head)


def _write_all(fd: int, data: bytes, offset: int) -> None:
    while data:
        count = os.pwrite(fd, data, offset)
        data, offset = data[count:], offset + count


def _wrong_size(image: Image, found: str) -> AgentError:
    expected = f"{image.content_size_bytes} bytes"
    return AgentError("write", "the image's content has the wrong size", expected=expected, found=found, wrote=True)


def _drop_cache(fd: int) -> None:
    if is_block_device(fd):
        fcntl.ioctl(fd, _BLKFLSBUF, 0)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
