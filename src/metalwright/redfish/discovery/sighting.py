"""What was found at one target."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from metalwright.model.report import HardwareReport
from metalwright.redfish.discovery.targets import Target
from metalwright.redfish.inventory import Hostless

Outcome = Literal["identified", "no-host", "nothing", "no-redfish", "no-login", "login-refused", "deadline", "failed"]
"""``nothing``: no listener. ``no-login``: a BMC, but there is no login that may be sent to it."""

FAILURES: frozenset[Outcome] = frozenset({"login-refused", "deadline", "failed"})


@dataclass(frozen=True)
class Sighting:
    """The outcome at one target. ``root`` is what the service root says to anybody; ``seconds`` is how long it took.

    ``read_at`` is set where an earlier sweep read the machine and this one did not read it again.
    """

    target: Target
    outcome: Outcome
    reports: tuple[HardwareReport, ...] = ()
    root: RootFacts | None = None
    fingerprint: str | None = None
    is_first_use: bool = False
    login: str | None = None
    error: str | None = None
    seconds: float = 0.0
    read_at: datetime | None = None
    hostless: Hostless | None = None
    """What a BMC without a host is (outcome ``no-host``)."""

    @property
    def machines(self) -> tuple[HardwareReport, ...]:
        """Everything that can be claimed: the hosts, or the BMC's own equipment."""
        return self.reports if self.hostless is None else (self.hostless.report,)

    @property
    def is_failure(self) -> bool:
        """Whether somebody must look: a BMC that did not let itself be read, or a named host without one."""
        is_named_and_silent = self.target.is_named and self.outcome in ("nothing", "no-redfish", "no-login")
        return self.outcome in FAILURES or is_named_and_silent


@dataclass(frozen=True)
class RootFacts:
    """The anonymous part of a service root."""

    vendor: str | None = None
    product: str | None = None
    redfish_version: str | None = None
    uuid: str | None = None

    @classmethod
    def of(cls, root: dict[str, Any]) -> RootFacts:
        """Read a service root; what is no text is unknown."""
        names = ("Vendor", "Product", "RedfishVersion", "UUID")
        values = [value if isinstance(value := root.get(name), str) and value.strip() else None for name in names]
        return cls(*values)
