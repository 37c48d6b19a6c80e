"""What both clients share: the address of a BMC, its certificate pin, and the state of the dialogue."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from metalwright.errors import UsageError
from metalwright.redfish.adaptations import ForgetfulMemory, FormMemory
from metalwright.redfish.credentials import Credentials, LoginLatch, MemoryLatch
from metalwright.redfish.links import Declared
from metalwright.redfish.pins import MemoryPins, PinStore
from metalwright.redfish.state import BmcState, Limits


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a BMC. ``url`` is ``https://host:port`` without a path."""

    scheme: str
    host: str
    port: int

    @property
    def url(self) -> str:
        """The base URL, with brackets around an IPv6 address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def origin_of(address: str, *, allow_http: bool = False) -> Origin:
    """Return the origin of ``https://HOST[:PORT]`` or ``HOST[:PORT]`` (https).

    Raises UsageError for anything else, and for http unless the caller allows it: over http anybody reads the password.
    """
    text = address if "://" in address else f"https://{address}"
    try:
        parts = urlsplit(text)
        port = (80 if parts.scheme == "http" else 443) if parts.port is None else parts.port
    except ValueError:
        port = 0
    if port == 0:
        shown = address.rpartition("@")[2]
        raise UsageError("this is not the address of a BMC", where=shown, expected="https://HOST[:PORT]")
    is_plain = not (parts.username or parts.password or parts.query or parts.path.strip("/"))
    if parts.scheme not in ("https", "http") or not parts.hostname or not is_plain:
        raise UsageError(
            "this is not the address of a BMC",
            where=parts.hostname or "(address)",
            expected="https://HOST[:PORT], without user, password or path",
        )
    if parts.scheme == "http" and not allow_http:
        raise UsageError(
            "http is refused: password and session would travel in clear",
            where=text,
            expected="https://",
            hint="only for emulators on the same machine: --insecure-http, for pyinfra METALWRIGHT_ALLOW_HTTP=1",
        )
    return Origin(parts.scheme, parts.hostname, port)


def split_target(base_url: str, target: str) -> tuple[str, str]:
    """Return (base URL, path) of what a Send is about: a path on this BMC, or a URL at another port of it."""
    if "://" not in target:
        return base_url, target
    scheme, rest = target.split("://", 1)
    authority, _, path = rest.partition("/")
    return f"{scheme}://{authority}", f"/{path}"


@dataclass(slots=True)
class Contact:
    """How to reach one BMC.

    ``key`` names the BMC in pins and latches (a node name, or by default its host:port); ``credentials`` None reads
    anonymously (the service root only, at most BMCs). ``declared`` tells which host is meant, where
    a BMC lists several.
    """

    address: str
    credentials: Credentials | None = None
    key: str = ""
    pins: PinStore = field(default_factory=MemoryPins)
    latch: LoginLatch = field(default_factory=MemoryLatch)
    limits: Limits = field(default_factory=Limits)
    allow_http: bool = False
    declared: Declared = field(default_factory=Declared)
    forms: FormMemory = field(default_factory=ForgetfulMemory)

    @property
    def origin(self) -> Origin:
        """The parsed address; raises UsageError."""
        return origin_of(self.address, allow_http=self.allow_http)

    def state(self) -> BmcState:
        """Return the state at the start of a dialogue; the deadline starts to run now."""
        origin = self.origin
        state = BmcState(
            base_url=origin.url,
            key=self.key or f"{origin.host}:{origin.port}",
            credentials=self.credentials,
            latch=self.latch,
            limits=self.limits,
            allow_http=self.allow_http,
            forms=self.forms,
        )
        state.start_clock()
        return state
