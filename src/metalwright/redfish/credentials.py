"""Who logs in, and the memory of refused logins.

A refused login is final: BMCs lock the account after a few wrong passwords, for everybody. The memory is a
:class:`LoginLatch` that the caller gives; it survives the process when the journal keeps it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass, field
from typing import Protocol

from metalwright.errors import UsageError

USER_VARIABLE = "METALWRIGHT_BMC_USER"
PASSWORD_VARIABLE = "METALWRIGHT_BMC_PASSWORD"  # noqa: S105 - the name of a variable, not a password


@dataclass(frozen=True, slots=True)
class Credentials:
    """User name and password of a BMC account; the password is never shown."""

    username: str
    password: str = field(repr=False)

    def identifier(self, hmac_key: bytes) -> str:
        """Return a name for this pair that tells nothing about it without ``hmac_key``: 32 hex digits."""
        text = f"{len(self.username)}:{self.username}{self.password}".encode()
        return hmac.new(hmac_key, text, hashlib.sha256).hexdigest()[:32]


def credentials_of_environment() -> Credentials | None:
    """The login in METALWRIGHT_BMC_USER and METALWRIGHT_BMC_PASSWORD, if they are set.

    Raises:
        UsageError: only one of them is set.
    """
    user, password = os.environ.get(USER_VARIABLE), os.environ.get(PASSWORD_VARIABLE)
    if user is None and password is None:
        return None
    if user is None or password is None:
        missing = USER_VARIABLE if user is None else PASSWORD_VARIABLE
        raise UsageError("half a login is set", where=missing, hint=f"set {USER_VARIABLE} and {PASSWORD_VARIABLE}")
    return Credentials(user, password)


class LoginLatch(Protocol):
    """Remembers which credential was refused by which BMC, across clients (and across processes, where persistent)."""

    @property
    def hmac_key(self) -> bytes:
        """The secret under which credential identifiers are made; the same for as long as the memory lives."""

    def is_latched(self, key: str, credential_id: str) -> bool:
        """Return whether the BMC ``key`` refused this credential before."""

    def latch(self, key: str, credential_id: str, reason: str) -> None:
        """Remember that the BMC ``key`` refused this credential."""

    def try_enter(self, key: str) -> bool:
        """Take the turn to log in at the BMC ``key``; False while somebody else has it.

        One at a time, so that whoever comes second knows of the first one's refusal before it sends anything.
        """

    def leave(self, key: str) -> None:
        """Give the turn back; nothing happens without one."""


class MemoryLatch:
    """A latch for one process, with a key made at start."""

    def __init__(self) -> None:
        self._hmac_key = os.urandom(32)
        self._refused: dict[tuple[str, str], str] = {}
        self._turns: set[str] = set()

    @property
    def hmac_key(self) -> bytes:
        """The secret of this process."""
        return self._hmac_key

    def is_latched(self, key: str, credential_id: str) -> bool:
        """Return whether ``latch`` was called with the same pair."""
        return (key, credential_id) in self._refused

    def latch(self, key: str, credential_id: str, reason: str) -> None:
        """Remember the pair."""
        self._refused[(key, credential_id)] = reason

    def try_enter(self, key: str) -> bool:
        """Take the turn among the clients of this process."""
        if key in self._turns:
            return False
        self._turns.add(key)
        return True

    def leave(self, key: str) -> None:
        """Give it back."""
        self._turns.discard(key)
