"""A file over HTTP, sent by the kernel, whole or from where a broken transfer stopped."""

from __future__ import annotations

import os
from pathlib import Path

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.web_request import BaseRequest


class RangedFile(web.FileResponse):
    """A :class:`aiohttp.web.FileResponse` that knows entity tags in ``If-Range`` as well (RFC 9110, 13.1.5).

    The rest of a file is served to whoever has the beginning of the same one; who has another gets it whole.
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


def entity_tag(path: Path) -> str | None:
    """Return the strong entity tag that is sent with the file, None when it is gone: its time and size."""
    try:
        found = os.stat(path)  # noqa: PTH116 - one call, in the event loop
    except OSError:
        return None
    return f'"{found.st_mtime_ns:x}-{found.st_size:x}"'
