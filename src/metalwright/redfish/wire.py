"""What goes over the wire and what comes back: the words that policy and transports share.

The policy is written without I/O: a generator that yields *steps* (:class:`Peek`, :class:`Send`, :class:`Sleep`,
:class:`Enter`, :class:`Leave`) and receives *outcomes* (:class:`Peer`, :class:`Response`, :class:`TransportFailure`, or
``None`` after the other steps). A transport drives it and knows nothing about Redfish.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import SplitResult, urlsplit

T = TypeVar("T")
JsonObject: TypeAlias = dict[str, Any]
"""A decoded JSON object."""

MAX_BODY_BYTES = 64 * 1024**2
"""A longer body is taken for an endless one. The largest attribute registries seen have about 10 MB."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as the body of a request: its bare bytes, or with ``parameters`` Redfish's multipart push."""

    path: Path
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What a caller wants: ``path`` is a URI on the BMC, ``body`` a JSON object or None (never shown in a repr)."""

    method: str
    path: str
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    is_authenticated: bool = True
    timeout_s: float | None = None
    if_match: str | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Texts that must not appear in an error, even when the BMC quotes them."""
    is_harmless_twice: bool = False
    """Whether a write may be sent again when the connection broke before its answer (a login, a logout)."""
    upload: Upload | None = None
    """A file that is sent instead of ``body``; the blocking client's only."""

    @property
    def is_read(self) -> bool:
        """Whether repeating the request can do no harm."""
        return self.method in ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Peek:
    """Step: look at the certificate that the BMC shows, trusting nobody; no HTTP request is sent."""

    connect_timeout_s: float


@dataclass(frozen=True, slots=True)
class Send:
    """Step: send one HTTP request, follow no redirect, repeat nothing. ``target`` is a path or an absolute URL."""

    method: str
    target: str
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any] | None = field(repr=False)
    connect_timeout_s: float
    read_timeout_s: float
    upload: Upload | None = None


@dataclass(frozen=True, slots=True)
class Sleep:
    """Step: wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Enter:
    """Step: take the one login lock of this BMC."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Step: give the login lock back."""


class FailureKind(StrEnum):
    """Where an exchange broke. Only in the first six is it certain that the BMC saw no request."""

    CONNECT = "connect"
    CONNECT_TIMEOUT = "connect-timeout"
    CERTIFICATE = "certificate"
    TLS = "tls"
    NO_TLS = "no-tls"
    BAD_LINK = "bad-link"
    CLOSED = "closed"
    TIMEOUT = "timeout"
    ENDLESS = "endless"


UNSENT = frozenset(
    {
        FailureKind.CONNECT,
        FailureKind.CONNECT_TIMEOUT,
        FailureKind.CERTIFICATE,
        FailureKind.TLS,
        FailureKind.NO_TLS,
        FailureKind.BAD_LINK,
    }
)
"""Failures before a request was sent."""


@dataclass(frozen=True, slots=True)
class TransportFailure:
    """No HTTP answer came. ``detail`` is a short text for people, without any secret."""

    kind: FailureKind
    detail: str


@dataclass(frozen=True, slots=True)
class Peer:
    """What :class:`Peek` saw: the SHA-256 of the certificate, 64 lower-case hex digits, and the certificate (DER)."""

    fingerprint: str
    certificate: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP answer; header names are lower case, repeated headers stay repeated."""

    status: int
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    request: str = ""
    """``METHOD URL`` that a 202 answers: its task is followed elsewhere."""

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    def header(self, name: str) -> str | None:
        """Return the first value of the header ``name`` (lower case), or None."""
        return next((value for key, value in self.headers if key == name), None)

    def header_values(self, name: str) -> tuple[str, ...]:
        """Return every value of the header ``name`` (lower case), in order."""
        return tuple(value for key, value in self.headers if key == name)

    @property
    def content_type(self) -> str:
        """The media type without parameters, lower case; empty when the BMC gave none."""
        return (self.header("content-type") or "").split(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The body as text; undecodable bytes are replaced."""
        return self.body.decode("utf-8", "replace").removeprefix("\ufeff")

    def json(self) -> Any:
        """Return the decoded body, or None when it is empty, not JSON, or nested too deeply to be meant."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    def json_object(self) -> JsonObject | None:
        """Return the decoded body when it is a JSON object, else None."""
        value = self.json()
        return value if isinstance(value, dict) else None


def split_link(link: str) -> SplitResult | None:
    """Return the parts of a link that a BMC sent, or None when it is no URL at all."""
    try:
        parts = urlsplit(link)
        _ = parts.port  # raises as well
    except ValueError:
        return None
    return parts


def path_of(link: object) -> str | None:
    """Return path and query of a link that a BMC sent, wherever it claims to lead; None when there is none."""
    parts = split_link(link) if isinstance(link, str) else None
    if parts is None or not parts.path:
        return None
    return parts.path + (f"?{parts.query}" if parts.query else "")


Step: TypeAlias = Peek | Send | Sleep | Enter | Leave
Outcome: TypeAlias = Peer | Response | TransportFailure | None
Exchange: TypeAlias = Generator[Step, Outcome, T]
"""A dialogue with a BMC that ends in a ``T``."""
