"""A file over HTTP, sent by the kernel, whole or from where a broken transfer stopped."""

from __future__ import annotations

import asyncio
import os
import select
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Final

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.web_request import BaseRequest

THREADS: Final = 64
"""Transfers that have a thread of their own; further ones share the event loop."""

STALL_S: Final = 60.0
"""A reader that takes nothing for this long is given up."""

SMALL_BYTES: Final = 4 << 20
"""What is smaller, such as the ranges that BMCs read of a medium, is not worth a thread."""

_LOOK_EVERY_MS: Final = 500
_STEP_BYTES: Final = 16 << 20
_pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="send-file")
_free = threading.Semaphore(THREADS)


class RangedFile(web.FileResponse):
    """A :class:`aiohttp.web.FileResponse` for large files and broken connections.

    It knows entity tags in ``If-Range`` as well (RFC 9110, 13.1.5): the rest of a file is served to whoever has the
    beginning of the same one, and who has another gets it whole. ``sendfile`` runs in threads: from the event loop,
    each of many transfers waits for the loop's turn whenever its socket is full.
    """

    def __init__(self, path: Path, content_type: str = "application/octet-stream") -> None:
        super().__init__(path, headers={hdrs.CONTENT_TYPE: content_type})
        self._file = path

    async def prepare(self, request: BaseRequest) -> AbstractStreamWriter | None:
        """Leave ``Range`` out where ``If-Range`` names another file's tag."""
        tag = request.headers.get(hdrs.IF_RANGE, "")
        if tag.startswith(('"', "W/")) and tag != entity_tag(self._file):
            headers = [(name, value) for name, value in request.headers.items() if name.title() != hdrs.RANGE.title()]
            request = request.clone(headers=headers)
        return await super().prepare(request)

    async def _sendfile(self, request: BaseRequest, fobj: IO[Any], offset: int, count: int) -> AbstractStreamWriter:
        """Send headers as aiohttp does, then the body from a thread: in clear, worth one, and one is left."""
        is_plain = request.transport is not None and request.transport.get_extra_info("sslcontext") is None
        if not is_plain or count < SMALL_BYTES or not _free.acquire(blocking=False):
            return await super()._sendfile(request, fobj, offset, count)
        try:
            writer = await web.StreamResponse.prepare(self, request)
            transport = request.transport
            if writer is None or transport is None:
                raise ConnectionResetError("the reader is gone")
            if transport.get_write_buffer_size():  # the headers are not on their way yet, and must come first
                await asyncio.get_running_loop().sendfile(transport, fobj, offset, count)
            else:
                await _send_in_thread(transport.get_extra_info("socket").fileno(), fobj.fileno(), offset, count)
            await web.StreamResponse.write_eof(self)
        finally:
            _free.release()
        return writer


def entity_tag(path: Path) -> str | None:
    """Return the strong entity tag that is sent with the file, None when it is gone: its time and size."""
    try:
        found = os.stat(path)  # noqa: PTH116 - one call, in the event loop
    except OSError:
        return None
    return f'"{found.st_mtime_ns:x}-{found.st_size:x}"'


async def _send_in_thread(to_fd: int, from_fd: int, offset: int, count: int) -> None:
    """Send from copies of both descriptors, so that none of them is another file's when it is used late."""
    is_over = threading.Event()
    mine = os.dup(to_fd), os.dup(from_fd)
    sending = _pool.submit(_send, *mine, offset, count, is_over)
    try:
        await asyncio.wrap_future(sending)
    finally:
        is_over.set()
        if sending.cancelled():  # it never began
            _close(mine)


def _send(to_fd: int, from_fd: int, offset: int, count: int, is_over: threading.Event) -> None:
    """Send ``count`` bytes; closes both descriptors. Raises ConnectionResetError when it cannot be done."""
    waiting = select.poll()
    waiting.register(to_fd, select.POLLOUT)
    stalled_ms = 0
    try:
        while count and not is_over.is_set():
            try:
                sent = os.sendfile(to_fd, from_fd, offset, min(count, _STEP_BYTES))
            except BlockingIOError:
                stalled_ms = 0 if waiting.poll(_LOOK_EVERY_MS) else stalled_ms + _LOOK_EVERY_MS
                if stalled_ms >= STALL_S * 1000:
                    raise ConnectionResetError("the reader takes nothing") from None
                continue
            if sent == 0:
                raise ConnectionResetError("the file became shorter while it was sent")
            offset, count = offset + sent, count - sent
    finally:
        _close((to_fd, from_fd))


def _close(descriptors: tuple[int, int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
