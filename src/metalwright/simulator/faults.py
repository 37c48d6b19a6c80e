"""Named faults: how a BMC misbehaves on demand.

A fault is data. Those about HTTP are *rules*: a match and what to do (:mod:`metalwright.simulator.rules`); the
service asks :meth:`Faults.bite` once for each request. The others are questions at the point where they can bite:
:meth:`Faults.take`. A new kind is one entry in :data:`KINDS` and one such question.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from metalwright.errors import LabError
from metalwright.simulator.rules import WRITES, Do, Expression, Incoming, When

KINDS: dict[str, str] = {
    "rule": "what `do` says happens to requests that fit `method`, `path` and `when`",
    "unreachable": "connections are closed without an answer",
    "slow": "answers come `seconds` late",
    "wrong-answer": "answers `status` with `body` and `content_type`, without doing anything",
    "drop-after-effect": "carries the request out, then closes the connection without an answer",
    "connection-silent": "accepts TCP connections and never says anything",
    "handshake-closed": "closes each connection after the client's first TLS message",
    "reset-ignored": "answers 204 to a reset and does nothing",
    "override-ignored": "accepts a boot override and forgets it at the next boot",
    "override-kept": "shows a boot override as used up or cleared, and boots from it again each time",
    "media-refused": "refuses every medium",
    "bios-ignored": "accepts BIOS attributes and does not apply them (`body`: only those of that list) at the reset",
    "bios-overwritten": "sets the BIOS attributes of `body` too when it applies others",
    "account-flag-ignored": "makes an account with the opposite of the Enabled that was asked for",
    "disabled-login-accepted": "lets a disabled account log in",
    "password-too-simple": "refuses every password with the vendor's own message about its complexity",
    "lockout-read-only": "refuses to change the lock-out settings (`status` 400), or ignores the change (200)",
    "clock-behind-ntp": "a read of the clock that NTP has not yet corrected",
    "address-ignored": "accepts a new address and stays where it is",
    "certificate-changed": "gets a new TLS certificate at once",
    "request-by-task": "answers GenerateCSR by a task; the monitor of that has the signing request in the end",
    "certificate-ignored": "accepts a new TLS certificate and goes on with the old one",
    "certificate-late": "shows an installed TLS certificate `seconds` later",
}

RULES = ("rule", "unreachable", "slow", "wrong-answer", "drop-after-effect")
"""Kinds that are about HTTP requests."""


class Fault(BaseModel):
    """One fault: ``name`` is a key of :data:`KINDS`.

    ``method`` and ``path`` (a regular expression searched in the path) narrow it to some requests; ``skip`` lets
    that many matches pass first; ``times`` is how often it bites, None for always; ``every`` lets it bite at the
    first of n matches only. ``when`` and ``do`` are for rules.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    method: str | None = None
    path: Expression | None = None
    skip: int = Field(default=0, ge=0)
    times: int | None = Field(default=None, ge=1)
    every: int = Field(default=1, ge=1)
    when: When = When()
    do: Do = Do()
    seconds: float = 0.0
    status: int = 500
    body: Any = None
    content_type: str = "application/json"

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if (self.name == "rule") != (self.do != Do()):
            what = "a rule without `do` does nothing" if self.name == "rule" else "only a rule takes `do`"
            raise ValueError(f"{what}: say what happens, for example `name: rule, do: {{status: 503}}`")
        return self

    def fits(self, method: str, path: str) -> bool:
        """Whether a request is one that this fault is about."""
        return (self.method is None or self.method == method) and (
            self.path is None or re.search(self.path, path) is not None
        )

    def act(self) -> Do:
        """What a fault about HTTP does, in the words of a rule."""
        if self.name == "unreachable":
            return Do(close="before")
        if self.name == "slow":
            return Do(delay_s=self.seconds)
        if self.name == "wrong-answer":
            return Do(status=self.status, body=self.body, content_type=self.content_type)
        if self.name == "drop-after-effect":
            return Do(close="after")
        return self.do


class _Armed:
    """A fault in force, with its counters."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.matches = 0
        self.left = fault.times
        self.seen_after = 0
        self.seen_before = 0

    def bites(self) -> bool:
        """Count one match and say whether it is one that bites."""
        self.matches += 1
        number = self.matches - self.fault.skip - 1
        if number < 0 or number % self.fault.every or self.left == 0:
            return False
        if self.left is not None:
            self.left -= 1
        return True

    def note(self, method: str, path: str) -> None:
        """Count a request for the conditions ``after`` and ``before``."""
        when = self.fault.when
        self.seen_after += when.after is not None and when.after.fits(method, path)
        self.seen_before += when.before is not None and when.before.fits(method, path)

    def fits(self, request: Incoming) -> bool:
        """Whether the fault is about this request."""
        if self.fault.name == "drop-after-effect" and request.method not in WRITES:
            return False
        return self.fault.fits(request.method, request.path) and self.fault.when.holds(
            request, self.seen_after, self.seen_before
        )


class Faults:
    """The faults in force on one machine. ``on_set`` is told about each new one."""

    def __init__(self, on_set: Callable[[Fault], None] | None = None) -> None:
        self._armed: list[_Armed] = []
        self._on_set = on_set

    def set(self, name: str, **details: Any) -> Fault:
        """Put one fault in force; raises :class:`LabError` for an unknown name or detail."""
        if name not in KINDS:
            raise LabError("no such fault", where=name, expected=", ".join(KINDS))
        try:
            fault = Fault.model_validate({"name": name, **details})
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            raise LabError(
                "the fault is not valid", where=".".join(map(str, first["loc"])), found=first["msg"]
            ) from error
        self._armed.append(_Armed(fault))
        if self._on_set is not None:
            self._on_set(fault)
        return fault

    def rule(self, method: str | None = None, path: str | None = None, **details: Any) -> Fault:
        """Put a rule in force; ``skip times every when`` are those of a fault, all else is what to ``do``."""
        outer = {key: details.pop(key) for key in ("skip", "times", "every", "when") if key in details}
        return self.set("rule", method=method, path=path, do=details, **outer)

    def clear(self) -> None:
        """Behave again."""
        self._armed = []

    def active(self) -> list[Fault]:
        """The faults that can still bite."""
        return [armed.fault for armed in self._armed]

    def take(self, name: str, method: str = "", path: str = "") -> Fault | None:
        """Use one bite of the first fault of this name that fits, or return None."""
        for armed in self._armed:
            if armed.fault.name == name and armed.fault.fits(method, path) and armed.bites():
                self._drop_used_up()
                return armed.fault
        return None

    def bite(self, request: Incoming) -> list[Fault]:
        """Use one bite of every rule that fits a request, in the order in which they were set."""
        if not self._armed:
            return []
        rules = [armed for armed in self._armed if armed.fault.name in RULES]
        found = [armed.fault for armed in rules if armed.fits(request) and armed.bites()]
        for armed in rules:
            armed.note(request.method, request.path)
        self._drop_used_up()
        return found

    def _drop_used_up(self) -> None:
        self._armed = [armed for armed in self._armed if armed.left != 0]
