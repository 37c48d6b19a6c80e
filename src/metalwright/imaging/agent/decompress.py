"""Raw content from image file bytes, through the ``zstd`` program where the file is compressed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import threading
from collections.abc import Iterator
from typing import IO, Final

from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.fetch import BLOCK_BYTES

_PIPE_BYTES: Final = 1 << 20


def content_blocks(image_format: str, file_blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the raw content. A failure of ``file_blocks`` is raised here, with ``wrote=True``.

    The last blocks of a compressed image may be yielded before ``file_blocks`` failed: only a complete iteration means
    a complete content.
    """
    if image_format == "raw":
        yield from _raw_blocks(file_blocks)
    elif image_format == "raw.zst":
        yield from _zstd_blocks(file_blocks)
    else:
        raise AgentError("internal", "unknown image format", expected="raw, raw.zst", found=image_format)


def _raw_blocks(file_blocks: Iterator[bytes]) -> Iterator[bytes]:
    try:
        for chunk in file_blocks:
            for start in range(0, len(chunk), BLOCK_BYTES):
                yield chunk[start : start + BLOCK_BYTES]
    except AgentError as error:
        error.wrote = True
        raise


def _zstd_blocks(file_blocks: Iterator[bytes]) -> Iterator[bytes]:
    process = subprocess.Popen(
        ["zstd", "-dcq"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise AgentError("internal", "zstd has no pipes", wrote=True)
    failures: list[BaseException] = []
    feeder = threading.Thread(target=_feed, args=(process.stdin, file_blocks, failures), daemon=True)
    with contextlib.suppress(OSError):
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    feeder.start()
    try:
        while block := _read_full(process.stdout.fileno(), BLOCK_BYTES):
            yield block
        feeder.join()
        message = process.stderr.read().decode(errors="replace").strip()
        _check_outcome(failures, process.wait(), message)
    finally:
        process.kill()
        feeder.join()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


def _check_outcome(failures: list[BaseException], exit_code: int, message: str) -> None:
    if failures:
        if isinstance(failures[0], AgentError):
            failures[0].wrote = True
        raise failures[0]
    if exit_code != 0:
        raise AgentError("write", "decompression failed", expected="a zstd stream", found=message, wrote=True)


def _feed(pipe: IO[bytes], file_blocks: Iterator[bytes], failures: list[BaseException]) -> None:
    """Write all blocks into the decompressor; its early death shows in its exit code, not here."""
    try:
        for block in file_blocks:
            view = memoryview(block)
            while view:
                view = view[os.write(pipe.fileno(), view) :]
    except BrokenPipeError:
        pass
    except BaseException as error:  # handed to the reading thread, which raises it
        failures.append(error)
    finally:
        with contextlib.suppress(OSError):
            pipe.close()


def _read_full(fd: int, size_bytes: int) -> bytes:
    """Read until ``size_bytes`` are there or the stream ends."""
    parts, missing = [], size_bytes
    while missing and (part := os.read(fd, missing)):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
