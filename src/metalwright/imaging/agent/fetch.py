"""Image bytes from the boot server, verified before anything uses them.

Plain HTTP may carry them, since their digests came over TLS. A broken transfer is resumed where it stopped.
"""

from __future__ import annotations

import hashlib
import http.client
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.records import Image

BLOCK_BYTES: Final = 1 << 20
_TIMEOUT_S: Final = 30.0
_ATTEMPTS_WITHOUT_A_BYTE: Final = 5
Report = Callable[[int, int], None]


class ImageStream:
    """Reads the image file in order; resumes by range after a broken connection."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._address = urlsplit(image.url)
        self._connection: http.client.HTTPConnection | None = None
        self._response: http.client.HTTPResponse | None = None
        self.position = 0

    def blocks(self, size_bytes: int) -> Iterator[bytes]:
        """Yield the next ``size_bytes`` bytes, at most ``BLOCK_BYTES`` at a time."""
        end, failed_attempts = self.position + size_bytes, 0
        while self.position < end:
            try:
                block = self._read(min(BLOCK_BYTES, end - self.position))
            except (OSError, http.client.HTTPException) as error:
                failed_attempts += 1
                self.close()
                if failed_attempts >= _ATTEMPTS_WITHOUT_A_BYTE:
                    raise self._truncated(str(error) or type(error).__name__) from error
                time.sleep(0.2 * failed_attempts)
                continue
            failed_attempts = 0
            self.position += len(block)
            yield block

    def close(self) -> None:
        """Close the connection; the next read opens a new one."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._response = None

    def _read(self, size_bytes: int) -> bytes:
        if self._response is None:
            self._response = self._open()
        block = self._response.read(size_bytes)
        if not block:
            raise http.client.HTTPException(f"the connection ended after {self.position} bytes")
        return block

    def _open(self) -> http.client.HTTPResponse:
        host = self._address.hostname or ""
        self._connection = http.client.HTTPConnection(host, self._address.port or 80, timeout=_TIMEOUT_S)
        headers = {"Range": f"bytes={self.position}-"} if self.position else {}
        self._connection.request("GET", self._address.path, headers=headers)
        response = self._connection.getresponse()
        expected_status = http.client.PARTIAL_CONTENT if self.position else http.client.OK
        if response.status in (http.client.NOT_FOUND, http.client.GONE):
            raise AgentError("refused", "the boot server does not serve the image any more", found=str(response.status))
        if response.status != expected_status:
            raise http.client.HTTPException(f"HTTP {response.status}")
        self._check_size(self.position + int(response.headers.get("Content-Length", "0")))
        return response

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


def fetch_to_file(image: Image, path: Path, report: Report) -> None:
    """Fetch the whole image file to ``path`` and verify its digest; the file is removed when it is wrong."""
    digest, stream = hashlib.sha256(), ImageStream(image)
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


def fetch_verified_chunks(image: Image) -> Iterator[bytes]:
    """Yield the image file chunk by chunk, each one verified before it is handed on; never more than one in memory."""
    stream = ImageStream(image)
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
