"""Image bytes from the boot server, verified before anything uses them.

Plain HTTP may carry them, since their digests came over TLS. A broken transfer goes on where it stopped: ``Range``
asks for the rest, ``If-Range`` for the rest of the same file (RFC 9110, 13.1.5).
"""

from __future__ import annotations

import hashlib
import http.client
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from metalwright.imaging.agent.console import say
from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.records import Image

BLOCK_BYTES: Final = 1 << 20
_TIMEOUT_S: Final = 30.0
_BACK_OFF_S: Final = (0.05, 0.2, 0.5, 1.0, 2.0, 4.0)
Report = Callable[[int, int], None]


class ImageStream:
    """Reads the image file in order; resumes by range after a broken connection.

    ``give_up_s`` is how long it may come to nothing: each byte that arrives starts that time anew.
    """

    def __init__(self, image: Image, give_up_s: float) -> None:
        self._image = image
        self._give_up_s = give_up_s
        self._etag: str | None = None
        self._address = urlsplit(image.url)
        self._connection: http.client.HTTPConnection | None = None
        self._response: http.client.HTTPResponse | None = None
        self.position = 0

    def blocks(self, size_bytes: int) -> Iterator[bytes]:
        """Yield the next ``size_bytes`` bytes, at most ``BLOCK_BYTES`` at a time."""
        end, attempt = self.position + size_bytes, 0
        deadline = time.monotonic() + self._give_up_s
        while self.position < end:
            try:
                block = self._read(min(BLOCK_BYTES, end - self.position))
            except (OSError, http.client.HTTPException) as error:
                self.close()
                self._pause(attempt, deadline, error)
                attempt += 1
                continue
            attempt, deadline = 0, time.monotonic() + self._give_up_s
            self.position += len(block)
            yield block

    def _pause(self, attempt: int, deadline: float, error: Exception) -> None:
        """Wait before the next attempt. Raises :class:`AgentError` when it would be too late for one."""
        why = str(error) or type(error).__name__
        pause_s = _BACK_OFF_S[min(attempt, len(_BACK_OFF_S) - 1)]
        if time.monotonic() + pause_s > deadline:
            raise self._truncated(f"{self.position} bytes, then nothing for {self._give_up_s:.0f} s: {why}") from error
        if attempt == 0:
            say(f"the image transfer broke after {self.position} bytes ({why}); it goes on from there")
        time.sleep(pause_s)

    def close(self) -> None:
        """Close the connection; the next read opens a new one."""
        for part in (self._response, self._connection):
            if part is not None:
                part.close()
        self._connection = self._response = None

    def _read(self, size_bytes: int) -> bytes:
        if self._response is None:
            self._open()
        block = self._response.read(size_bytes) if self._response is not None else b""
        if not block:
            raise http.client.HTTPException(f"the connection ended after {self.position} bytes")
        return block

    def _open(self) -> None:
        """Ask for the rest of the file; ``_response`` is then at ``position``."""
        host = self._address.hostname or ""
        self._connection = http.client.HTTPConnection(host, self._address.port or 80, timeout=_TIMEOUT_S)
        self._connection.request("GET", self._address.path, headers=self._headers())
        self._response = response = self._connection.getresponse()
        if response.status in (http.client.NOT_FOUND, http.client.GONE):
            raise AgentError("refused", "the boot server does not serve the image any more", found=str(response.status))
        if response.status not in (http.client.OK, http.client.PARTIAL_CONTENT):
            raise http.client.HTTPException(f"HTTP {response.status}")
        self._check_same_file(response.headers.get("ETag"))
        begin = self._begin(response)
        self._check_size(begin + int(response.headers.get("Content-Length", "0")))
        self._skip(response, self.position - begin)

    def _headers(self) -> dict[str, str]:
        if not self.position:
            return {}
        same = {"If-Range": self._etag} if self._etag and not self._etag.startswith("W/") else {}
        return {"Range": f"bytes={self.position}-", **same}

    def _check_same_file(self, etag: str | None) -> None:
        """Refuse the rest of another file: what was fetched of the first one does not fit it."""
        if self.position and self._etag is not None and etag != self._etag:
            raise AgentError(
                "image-digest",
                "the image file was replaced while it was fetched",
                expected=f"ETag {self._etag}",
                found=f"ETag {etag}",
            )
        self._etag = etag

    def _begin(self, response: http.client.HTTPResponse) -> int:
        """Return where in the file the answer begins: where it was asked to, or at its start (no ranges there)."""
        if response.status == http.client.OK:
            return 0
        told = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
        if told != str(self.position):
            raise http.client.HTTPException(f"another range than from byte {self.position}")
        return self.position

    def _skip(self, response: http.client.HTTPResponse, size_bytes: int) -> None:
        while size_bytes > 0:
            skipped = len(response.read(min(BLOCK_BYTES, size_bytes)))
            if not skipped:
                raise http.client.HTTPException("the connection ended before the place where the transfer broke")
            size_bytes -= skipped

    def _check_size(self, served_bytes: int) -> None:
        if served_bytes < self._image.file_size_bytes:
            raise self._truncated(f"{served_bytes} bytes are served")
        if served_bytes > self._image.file_size_bytes:
            raise AgentError(
                "image-too-large",
                "the served image is larger than declared",
                expected=f"{self._image.file_size_bytes} bytes",
                found=f"{served_bytes} bytes",
            )

    def _truncated(self, found: str) -> AgentError:
        return AgentError(
            "image-truncated",
            "the image could not be fetched whole",
            expected=f"{self._image.file_size_bytes} bytes",
            found=found,
        )


def fetch_to_file(image: Image, path: Path, report: Report, give_up_s: float) -> None:
    """Fetch the whole image file to ``path`` and verify its digest; the file is removed when it is wrong."""
    digest, stream = hashlib.sha256(), ImageStream(image, give_up_s)
    try:
        with path.open("wb") as file:
            for block in stream.blocks(image.file_size_bytes):
                file.write(block)
                digest.update(block)
                report(stream.position, image.file_size_bytes)
        _check_digest("the image file", digest.hexdigest(), image.file_sha256)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        stream.close()


def fetch_verified_chunks(image: Image, give_up_s: float) -> Iterator[bytes]:
    """Yield the image file chunk by chunk, each one verified before it is handed on; never more than one in memory."""
    stream = ImageStream(image, give_up_s)
    whole = hashlib.sha256()
    try:
        for number, expected in enumerate(_chunk_digests(image)):
            size_bytes = min(image.chunk_bytes, image.file_size_bytes - stream.position)
            chunk = b"".join(stream.blocks(size_bytes))
            _check_digest(f"chunk {number} of the image file", hashlib.sha256(chunk).hexdigest(), expected)
            whole.update(chunk)
            yield chunk
        _check_digest("the image file", whole.hexdigest(), image.file_sha256)
    finally:
        stream.close()


def _chunk_digests(image: Image) -> tuple[str, ...]:
    expected_count = -(-image.file_size_bytes // image.chunk_bytes)
    if len(image.chunk_sha256) != expected_count:
        raise AgentError(
            "image-digest",
            "the image has the wrong number of chunk digests",
            expected=str(expected_count),
            found=str(len(image.chunk_sha256)),
        )
    return image.chunk_sha256


def _check_digest(what: str, found: str, expected: str) -> None:
    if found != expected:
        raise AgentError("image-digest", f"{what} has the wrong SHA-256", expected=expected, found=found)
