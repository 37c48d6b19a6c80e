"""Writing an image to a disk so that a half-written disk is never mistaken for anything else.

The disk is cleared, marked as part-written by this run, then written from 1 MiB on; the first MiB, which holds the
partition table, comes last. So an interrupted disk does not boot, and is known as ours at the next attempt.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import struct
from typing import Final

from metalwright.imaging.agent.decompress import Fill, ImageSource, open_content
from metalwright.imaging.agent.direct import align_up, aligned_buffer, is_block_device, open_direct
from metalwright.imaging.agent.failures import AgentError, told_by_disk
from metalwright.imaging.agent.fetch import Report
from metalwright.imaging.agent.records import Disk, Image, Stamp
from metalwright.imaging.agent.stamp import AREA_BYTES, OFFSET_BYTES, PARTIAL_MAGIC, encode_stamp

_BLKDISCARD: Final = 0x1277
_BLKZEROOUT: Final = 0x127F
_BLKFLSBUF: Final = 0x1261
_HEAD_BYTES: Final = 1 << 20
_READ_BACK_BYTES: Final = 4 << 20
_ZERO_STEP_BYTES: Final = 1 << 30
_ZERO_BLOCK: Final = bytes(_HEAD_BYTES)


def write_image(disk: Disk, image: Image, stamp: Stamp, source: ImageSource, report: Report) -> None:
    """Clear the disk and write the image's raw content from ``source``; flush everything.

    Raises :class:`AgentError` with ``wrote=True``. ``O_EXCL`` refuses a disk that is mounted or held by a mapping.
    """
    try:
        fd = os.open(disk.path, os.O_RDWR | os.O_EXCL)
    except OSError as error:
        raise AgentError("write", f"{disk.path} cannot be opened for writing", found=error.strerror) from error
    try:
        _clear(fd, disk, image.content_size_bytes)
        os.pwrite(fd, encode_stamp(stamp, PARTIAL_MAGIC), OFFSET_BYTES)
        os.fsync(fd)
        head = _write_content(disk, image, source, report)
        os.pwrite(fd, head[:OFFSET_BYTES], 0)
        os.pwrite(fd, head[OFFSET_BYTES + AREA_BYTES :], OFFSET_BYTES + AREA_BYTES)
        os.fsync(fd)
        _drop_cache(fd, disk)
    except OSError as error:
        raise AgentError("write", f"writing {disk.path} failed", found=told_by_disk(error), wrote=True) from error
    finally:
        os.close(fd)


def read_back_sha256(disk: Disk, image: Image, stamp: Stamp, report: Report) -> str:
    """Read the content range from the disk and return its SHA-256; our own mark counts as the zeros it replaced."""
    digest, position = hashlib.sha256(), 0
    buffer = aligned_buffer(_READ_BACK_BYTES)
    mark = encode_stamp(stamp, PARTIAL_MAGIC)
    fd = open_direct(disk.path, os.O_RDONLY)
    try:
        while position < image.content_size_bytes:
            wanted = min(len(buffer), image.content_size_bytes - position)
            count = min(wanted, os.preadv(fd, [buffer[: align_up(wanted)]], position))
            if count == 0:
                break
            area = slice(OFFSET_BYTES - position, OFFSET_BYTES - position + AREA_BYTES)
            if position <= OFFSET_BYTES < position + count and buffer[area] == mark:
                buffer[area] = bytes(AREA_BYTES)
            digest.update(buffer[:count])
            position += count
            report(position, image.content_size_bytes)
    except OSError as error:
        raise AgentError("read-back", f"reading {disk.path} failed", found=told_by_disk(error), wrote=True) from error
    finally:
        os.close(fd)
    return digest.hexdigest()


def _clear(fd: int, disk: Disk, content_bytes: int) -> None:
    """Discard the whole disk where it can, then make the content range and the disk's last MiB zero for sure."""
    if not is_block_device(disk.path):
        _clear_file(fd, disk.size_bytes)
        return
    with contextlib.suppress(OSError):  # a disk without discard; the zeros below are what counts
        fcntl.ioctl(fd, _BLKDISCARD, struct.pack("QQ", 0, disk.size_bytes))
    content_end = -(-content_bytes // _HEAD_BYTES) * _HEAD_BYTES
    _zero(fd, 0, min(content_end, disk.size_bytes))
    _zero(fd, max(0, disk.size_bytes - _HEAD_BYTES), disk.size_bytes)


def _clear_file(fd: int, size_bytes: int) -> None:
    """As :func:`_clear`, for a drive that a file stands for; one behind FUSE cannot be cut off and is written."""
    try:
        os.ftruncate(fd, 0)
        os.ftruncate(fd, size_bytes)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        for start in range(0, size_bytes, _HEAD_BYTES):
            os.pwrite(fd, _ZERO_BLOCK[: size_bytes - start], start)


def _zero(fd: int, start: int, end: int) -> None:
    while start < end:
        size = min(_ZERO_STEP_BYTES, end - start)
        fcntl.ioctl(fd, _BLKZEROOUT, struct.pack("QQ", start, size))
        start += size


def _write_content(disk: Disk, image: Image, source: ImageSource, report: Report) -> bytes:
    """Write everything after the first MiB, leaving zeros out, flush it, and return that first MiB unwritten."""
    fd = open_direct(disk.path, os.O_WRONLY)
    try:
        with open_content(image.format, source) as fill:
            head = _write_tail(fd, image, fill, report)
        os.fsync(fd)
    finally:
        os.close(fd)
    if any(head[OFFSET_BYTES : OFFSET_BYTES + AREA_BYTES]):
        found = f"data at byte {OFFSET_BYTES}"
        raise AgentError("write", "the image uses the place of the stamp", expected="zeros", found=found, wrote=True)
    return head


def _write_tail(fd: int, image: Image, fill: Fill, report: Report) -> bytes:
    buffer = aligned_buffer(_HEAD_BYTES)
    position = fill(buffer)
    head = bytes(buffer[:position])
    while count := fill(buffer):
        if position + count > image.content_size_bytes:
            raise _wrong_size(image, f"more than {image.content_size_bytes} bytes")
        if bytes(buffer[:count]) != _ZERO_BLOCK[:count]:
            padded = align_up(count)
            buffer[count:padded] = bytes(padded - count)
            _write_all(fd, buffer[:padded], position)
        position += count
        report(position, image.content_size_bytes)
    if position != image.content_size_bytes:
        raise _wrong_size(image, f"{position} bytes")
    return head


def _write_all(fd: int, data: memoryview, offset: int) -> None:
    while data:
        count = os.pwrite(fd, data, offset)
        data, offset = data[count:], offset + count


def _wrong_size(image: Image, found: str) -> AgentError:
    expected = f"{image.content_size_bytes} bytes"
    return AgentError("write", "the image's content has the wrong size", expected=expected, found=found, wrote=True)


def _drop_cache(fd: int, disk: Disk) -> None:
    if is_block_device(disk.path):
        fcntl.ioctl(fd, _BLKFLSBUF, 0)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
