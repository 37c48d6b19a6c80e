"""What a client knows about one BMC while it talks to it, and the limits that it keeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from metalwright.model.site import RedfishSettings
from metalwright.redfish.adaptations import ForgetfulMemory, FormMemory
from metalwright.redfish.credentials import Credentials, LoginLatch, MemoryLatch
from metalwright.redfish.quirks import Behaviour
from metalwright.redfish.wire import JsonObject, Request

Clock = Callable[[], float]
"""Seconds on a clock that never goes back."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Time and repetition budgets. Seconds throughout."""

    connect_timeout_s: float = 30.0
    read_timeout_s: float = 60.0
    slow_paths: tuple[tuple[str, float], ...] = (("/UpdateService/FirmwareInventory", 180.0), ("/LogServices", 120.0))
    """Read timeouts of resources known to be slow: (part of the path, seconds). Slow is not down."""
    reads: int = 4
    """How often one read is sent at most."""
    precondition_tries: int = 3
    backoff_s: float = 0.5
    retry_after_max_s: float = 60.0
    write_retries: int = 6
    sessions_full_s: float = 60.0
    """How long to wait for a free place in the session table."""
    turn_s: float = 120.0
    """How long to wait while another process logs in at the same BMC."""
    renewals: int = 2
    """How often a session is renewed for one request; a BMC may let tokens die after a few requests."""
    deadline_s: float | None = None
    """Time for the whole life of an asyncio client, and for each question to a blocking one (a deploy may pause)."""
    in_flight: int = 4
    logout_timeout_s: float = 5.0
    pages: int = 200
    members: int = 4096
    """How many members one collection may have."""
    requests: int = 4000
    """How many requests one question may take, following links and members."""


def limits_of(settings: RedfishSettings) -> Limits:
    """The client limits that a site sets."""
    limits = Limits()
    return replace(
        limits,
        connect_timeout_s=settings.connect_timeout_s,
        read_timeout_s=settings.read_timeout_s,
        slow_paths=(*limits.slow_paths, *settings.slow_paths.items()),
        deadline_s=settings.bmc_deadline_s,
        in_flight=settings.requests_in_flight,
    )


@dataclass(slots=True)
class BmcState:
    """Everything that one client remembers about its BMC; changed only by the policy."""

    base_url: str
    key: str
    credentials: Credentials | None = None
    latch: LoginLatch = field(default_factory=MemoryLatch)
    limits: Limits = field(default_factory=Limits)
    clock: Clock = time.monotonic
    allow_http: bool = False
    expires_at: float | None = None
    forms: FormMemory = field(default_factory=ForgetfulMemory)
    behaviour: Behaviour = field(default_factory=Behaviour)
    root: JsonObject | None = None
    token: str | None = field(default=None, repr=False)
    session_uri: str | None = None
    basic: str | None = field(default=None, repr=False)
    other_secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """Passwords that this BMC has or had beside the one in use; it may quote them."""
    password_change_uri: str | None = None
    """Where the password must be changed before anything else is answered."""
    fingerprint: str | None = None
    """The certificate that the BMC must show, once that is known."""
    is_first_use: bool = False
    """Whether no certificate was pinned before."""
    paths_read: set[str] = field(default_factory=set)
    """Paths that were read with success, without trailing slash."""
    closed_paths: set[str] = field(default_factory=set)
    """Paths that stay closed to a fresh session of this user."""
    snapshot: dict[str, JsonObject] | None = field(default=None, repr=False)
    """While set: the resources read so far, so that one look at the BMC reads each of them once."""
    has_answered: bool = False
    is_gzip_needed: bool = False
    is_connection_reused: bool = True
    logins: int = 0

    @property
    def is_logged_in(self) -> bool:
        """Whether requests can be authenticated."""
        return self.token is not None or self.basic is not None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must never appear in an error."""
        password = self.credentials.password if self.credentials else ""
        return tuple(s for s in (password, self.token or "", self.basic or "", *self.other_secrets) if s)

    def start_clock(self) -> None:
        """Count the deadline from now on."""
        self.expires_at = None if self.limits.deadline_s is None else self.clock() + self.limits.deadline_s

    def remaining_s(self) -> float | None:
        """Return the seconds until the deadline, or None when there is none."""
        return None if self.expires_at is None else self.expires_at - self.clock()

    def read_timeout_for(self, request: Request) -> float:
        """Return the seconds that the BMC has for the answer to ``request``."""
        if request.timeout_s is not None:
            return request.timeout_s
        slow = [seconds for part, seconds in self.limits.slow_paths if part in request.path]
        return max([self.limits.read_timeout_s, *slow])

    def is_slow(self, request: Request) -> bool:
        """Return whether the request is about a resource that is known to be slow."""
        return any(part in request.path for part, _ in self.limits.slow_paths)

    def where(self, method: str, path: str) -> str:
        """Return how an error names an exchange: ``GET https://host:port/path``."""
        return f"{method} {path}" if "://" in path else f"{method} {self.base_url}{path}"

    def forget_session(self) -> None:
        """Drop what the BMC no longer accepts."""
        self.token = self.session_uri = self.basic = None
