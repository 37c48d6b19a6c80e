"""Files that people name by path or URL: checksum files, signatures and images, read within bounds."""

from __future__ import annotations

import hashlib
import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from metalwright import __version__
from metalwright.errors import ImageError

MINIMUM_IMAGE_BYTES: Final = 1 << 20
_BLOCK_BYTES: Final = 1 << 20
_TIMEOUT_S: Final = 60.0
_SMALL_BYTES: Final = 1 << 20
_PAGES: Final = ("text/html", "application/xhtml+xml")

_TYPED: Final = "open the address in a browser; the page often says where the file went"
_IS_IMAGE: Final = "is it the image itself? --checksums and --signature want the small file beside it"
_AGAIN: Final = "run the command again; behind a proxy set http_proxy and https_proxy"
_PATH: Final = "look at the path, and whether you may read the file"


class Fetched(NamedTuple):
    """What was copied: its size, and a digest for each algorithm that was asked for."""

    size_bytes: int
    digests: dict[str, str]


def name_of(source: str) -> str:
    """The file name in a path or URL. Raises :class:`ImageError` for what is no URL."""
    if not is_url(source):
        return Path(source).name
    try:
        return unquote(urlsplit(source).path).rpartition("/")[2]
    except ValueError as error:
        raise ImageError(
            "this is no URL", where=source, expected="http(s)://HOST/PATH", found=str(error), hint=_TYPED
        ) from error


def is_url(source: str) -> bool:
    """Whether this is fetched with HTTP."""
    return source.lower().startswith(("http://", "https://"))


def read_text(source: str) -> str:
    """A small text by path or URL, such as a checksum file. Raises :class:`ImageError`."""
    with _opened(source, "text") as (stream, _):
        data = stream.read(_SMALL_BYTES + 1)
    if len(data) > _SMALL_BYTES:
        raise ImageError(
            "the file is too large", where=source, expected="a text of at most 1 MiB", found="more", hint=_IS_IMAGE
        )
    if b"\0" in data:
        raise ImageError(
            "this is no text", where=source, expected="a checksum file or a signature", found="NUL bytes",
            hint=_IS_IMAGE,
        )  # fmt: skip
    return data.decode("utf-8", errors="replace")


def fetch(source: str, target: Path, algorithms: frozenset[str]) -> Fetched:
    """Copy a file or URL to ``target``, zeros as holes, and digest it on the way.

    Raises:
        ImageError: not there, a page instead of an image, or fewer bytes than were announced.
    """
    digests = {name: hashlib.new(name) for name in sorted(algorithms)}
    size_bytes = 0
    with _opened(source, "image") as (stream, announced_bytes), target.open("wb") as file:
        while block := stream.read(_BLOCK_BYTES):
            for digest in digests.values():
                digest.update(block)
            if block.count(0) == len(block):
                file.seek(len(block), 1)
            else:
                file.write(block)
            size_bytes += len(block)
        file.truncate(size_bytes)
    if announced_bytes is not None and size_bytes != announced_bytes:
        raise ImageError(
            "the image did not come whole", where=source, expected=f"{announced_bytes} bytes",
            found=f"{size_bytes} bytes", hint="run the command again",
        )  # fmt: skip
    return Fetched(size_bytes, {name: digest.hexdigest() for name, digest in digests.items()})


@contextmanager
def _opened(source: str, what: str) -> Iterator[tuple[IO[bytes], int | None]]:
    """A stream and the number of bytes that the server announced."""
    if not is_url(source):
        with _open_file(Path(source), what) as file:
            yield file, None
        return
    name_of(source)
    request = urllib.request.Request(source, headers={"User-Agent": f"metalwright/{__version__}"})  # noqa: S310 - http(s) by is_url
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:  # noqa: S310 - http(s) by is_url
            _check_answer(source, response, what)
            length = response.headers.get("Content-Length")
            yield response, int(length) if length is not None and length.isdigit() else None
    except urllib.error.HTTPError as error:
        raise ImageError(
            f"the server does not give the {what}", where=source, found=f"HTTP {error.code}", hint=_TYPED
        ) from error
    except urllib.error.URLError as error:
        raise ImageError(f"the {what} cannot be fetched", where=source, found=str(error.reason), hint=_AGAIN) from error
    except (TimeoutError, ConnectionError, ssl.SSLError, http.client.HTTPException) as error:
        raise ImageError(
            f"the {what} cannot be fetched", where=source, found=str(error) or type(error).__name__, hint=_AGAIN
        ) from error


def _open_file(path: Path, what: str) -> IO[bytes]:
    try:
        if not path.is_file():
            found = "something that is no regular file" if path.exists() else "nothing"
            raise ImageError(
                f"the {what} file cannot be read", where=str(path), expected="a file", found=found, hint=_PATH
            )
        return path.open("rb")
    except OSError as error:
        raise ImageError(
            f"the {what} file cannot be read", where=str(path), found=error.strerror, hint=_PATH
        ) from error


def _check_answer(source: str, response: http.client.HTTPResponse, what: str) -> None:
    if source.lower().startswith("https:") and not (response.geturl() or source).lower().startswith("https:"):
        raise ImageError(
            "the server leads from HTTPS to a connection in clear", where=source, found=str(response.geturl()),
            hint="name that address itself, if you trust it: the digest is compared all the same",
        )  # fmt: skip
    kind = (response.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
    if kind in _PAGES:
        raise ImageError(f"the server gives an HTML page in place of the {what}", where=source, found=kind, hint=_TYPED)
    length = response.headers.get("Content-Length") or ""
    if what == "image" and length.isdigit() and int(length) < MINIMUM_IMAGE_BYTES:
        raise ImageError(
            "this is too small for an image", where=source, expected=f"at least {MINIMUM_IMAGE_BYTES} bytes",
            found=f"{length} bytes", hint=_TYPED,
        )  # fmt: skip
