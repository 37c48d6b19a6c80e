"""Raw content from image file bytes, through the ``zstd`` program where the file is compressed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

from metalwright.imaging.agent.failures import AgentError

_PIPE_BYTES: Final = 1 << 20
_READ_BYTES: Final = 1 << 20
ImageSource = Path | Iterator[bytes]
Fill = Callable[[memoryview], int]
"""Fills a buffer with the next content and returns how much; less than the buffer only at the end."""


@contextlib.contextmanager
def open_content(image_format: str, source: ImageSource) -> Iterator[Fill]:
    """Give the raw content of a verified file, or of verified chunks.

    A failure of the chunks, or of the decompression, is raised when the content seems to end: only a fill of less than
    the buffer without an error means that the content is complete. Failures carry ``wrote=True``.
    """
    if image_format == "raw":
        yield _fill_from(_file_blocks(source) if isinstance(source, Path) else source)
    elif image_format == "raw.zst":
        with _zstd(source) as fill:
            yield fill
    else:
        raise AgentError("internal", "unknown image format", expected="raw, raw.zst", found=image_format, wrote=True)


def _file_blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            yield block


def _fill_from(blocks: Iterator[bytes]) -> Fill:
    rest = memoryview(b"")

    def fill(buffer: memoryview) -> int:
        nonlocal rest
        count = 0
        while count < len(buffer):
            if not rest and not (rest := memoryview(_next_block(blocks))):
                break
            part = rest[: len(buffer) - count]
            buffer[count : count + len(part)] = part
            rest, count = rest[len(part) :], count + len(part)
        return count

    return fill


def _next_block(blocks: Iterator[bytes]) -> bytes:
    try:
        return next(blocks, b"")
    except AgentError as error:
        error.wrote = True
        raise


@contextlib.contextmanager
def _zstd(source: ImageSource) -> Iterator[Fill]:
    with contextlib.ExitStack() as stack:
        stdin = stack.enter_context(source.open("rb")) if isinstance(source, Path) else subprocess.PIPE
        process = subprocess.Popen(
            ["zstd", "-dcq"], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        stack.callback(_end, process)
        feeder = _Feeder(process.stdin, source) if process.stdin and not isinstance(source, Path) else None
        if process.stdout is None or process.stderr is None:
            raise AgentError("internal", "zstd has no pipes", wrote=True)
        output, messages = process.stdout, process.stderr
        with contextlib.suppress(OSError):
            fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

        def fill(buffer: memoryview) -> int:
            count = _read_full(output.fileno(), buffer)
            if count < len(buffer):
                if feeder:
                    feeder.check()
                _check_exit(process.wait(), messages.read())
            return count

        yield fill


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()


def _check_exit(exit_code: int, message: bytes) -> None:
    if exit_code != 0:
        found = message.decode(errors="replace").strip()
        raise AgentError("write", "decompression failed", expected="a zstd stream", found=found, wrote=True)


def _read_full(fd: int, buffer: memoryview) -> int:
    """Read until the buffer is full or the stream ends."""
    count = 0
    while count < len(buffer) and (size := os.readv(fd, [buffer[count:]])):
        count += size
    return count


class _Feeder:
    """Writes chunks into the decompressor from a thread, and keeps what went wrong for the reader."""

    def __init__(self, pipe: IO[bytes], chunks: Iterator[bytes]) -> None:
        self._pipe = pipe
        self._chunks = chunks
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise what stopped the chunks, if anything did."""
        self._thread.join()
        if isinstance(self._failure, AgentError):
            self._failure.wrote = True
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            for chunk in self._chunks:
                view = memoryview(chunk)
                while view:
                    view = view[os.write(self._pipe.fileno(), view) :]
        except BrokenPipeError:
            pass  # the decompressor ended early: its exit code tells
        except BaseException as error:  # raised by check(), in the reading thread
            self._failure = error
        finally:
            with contextlib.suppress(OSError):
                self._pipe.close()
