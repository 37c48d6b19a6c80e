"""Named faults: how a BMC misbehaves on demand.

A fault is data; the service and the system ask :meth:`Faults.take` at the points where it can bite. A new kind is
one entry in :data:`KINDS` and one such question.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from metalwright.errors import LabError

KINDS: dict[str, str] = {
    "unreachable": "connections are closed without an answer",
    "slow": "answers come `seconds` late",
    "wrong-answer": "answers `status` with `body` and `content_type`, without doing anything",
    "drop-after-effect": "carries the request out, then closes the connection without an answer",
    "reset-ignored": "answers 204 to a reset and does nothing",
    "override-ignored": "accepts a boot override and forgets it at the next boot",
    "media-refused": "refuses every medium",
    "bios-ignored": "accepts BIOS attributes and does not apply them at the reset",
    "account-flag-ignored": "makes an account with the opposite of the Enabled that was asked for",
    "disabled-login-accepted": "lets a disabled account log in",
    "password-too-simple": "refuses every password with the vendor's own message about its complexity",
    "lockout-read-only": "refuses to change the lock-out settings (`status` 400), or ignores the change (200)",
    "clock-behind-ntp": "a read of the clock that NTP has not yet corrected",
    "address-ignored": "accepts a new address and stays where it is",
    "certificate-changed": "gets a new TLS certificate at once",
}


class Fault(BaseModel):
    """One fault: ``name`` is a key of :data:`KINDS`.

    ``method`` and ``path`` (a regular expression searched in the path) narrow it to some requests; ``skip`` lets
    that many matches pass first; ``times`` is how often it bites, None for always.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    method: str | None = None
    path: str | None = None
    skip: int = Field(default=0, ge=0)
    times: int | None = Field(default=None, ge=1)
    seconds: float = 0.0
    status: int = 500
    body: Any = None
    content_type: str = "application/json"

    def fits(self, method: str, path: str) -> bool:
        """Whether a request is one that this fault is about."""
        return (self.method is None or self.method == method) and (
            self.path is None or re.search(self.path, path) is not None
        )


class _Armed:
    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.skip = fault.skip
        self.left = fault.times


class Faults:
    """The faults in force on one machine. ``on_set`` is told about each new one."""

    def __init__(self, on_set: Callable[[Fault], None] | None = None) -> None:
        self._armed: list[_Armed] = []
        self._on_set = on_set

    def set(self, name: str, **details: Any) -> Fault:
        """Put one fault in force; raises :class:`LabError` for an unknown name."""
        if name not in KINDS:
            raise LabError("no such fault", where=name, expected=", ".join(KINDS))
        fault = Fault(name=name, **details)
        self._armed.append(_Armed(fault))
        if self._on_set is not None:
            self._on_set(fault)
        return fault

    def clear(self) -> None:
        """Behave again."""
        self._armed = []

    def active(self) -> list[Fault]:
        """The faults that can still bite."""
        return [armed.fault for armed in self._armed]

    def take(self, name: str, method: str = "", path: str = "") -> Fault | None:
        """Use one bite of the first fault of this name that fits, or return None."""
        for armed in self._armed:
            if armed.fault.name != name or not armed.fault.fits(method, path):
                continue
            if armed.skip > 0:
                armed.skip -= 1
                continue
            if armed.left is not None:
                armed.left -= 1
                if armed.left == 0:
                    self._armed.remove(armed)
            return armed.fault
        return None
