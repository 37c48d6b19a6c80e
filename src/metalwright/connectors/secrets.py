"""Secrets on their way through the connector: resolved at the last moment, replaced in everything that comes back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Protocol

from metalwright.errors import SecretError
from metalwright.redfish.credentials import PASSWORD_VARIABLE, Credentials, credentials_of_environment
from metalwright.secrets.bmc_credentials import BmcCredentials, Candidate
from metalwright.secrets.passwords import PasswordRules
from metalwright.secrets.value import Secret

MEDIA_URL = "media-url"
STAGED_PASSWORD = "staged-password"  # noqa: S105 - the name of a reference, not a password

_MEDIUM_PATH = re.compile(r"(?<=/m/)[A-Za-z0-9_-]{20,}(?=/)")
_REFERENCE = re.compile(r"\{secret:([a-z0-9-]+)\}")


class BmcSecrets(Protocol):
    """The credentials of one BMC, kept by the site's secret store (or the environment)."""

    def candidates(self, manufacturer: str | None = None) -> Sequence[Credentials]:
        """Return the credentials worth trying, best first; each is tried once."""

    def worked(self, credentials: Credentials) -> None:
        """The BMC accepted this one."""

    def state(self) -> dict[str, Any]:
        """Return what is known without secrets: ``user``, ``origin`` (of what worked) and ``is_staged``."""

    def stage(self, min_length: int | None, max_length: int | None, *, user: str | None, is_shared: bool) -> None:
        """Make a new password durable for ``user`` (default: who works now). Raises SecretError."""

    def unstage(self) -> None:
        """The BMC refused the staged password: it is on no account."""

    def share(self) -> None:
        """The current login is for good that of an account which is not metalwright's own."""

    def working(self) -> Credentials | None:
        """Return the credential that this connection logged in with."""

    def factory(self, user: str) -> Sequence[Credentials]:
        """Return the passwords that the account ``user`` may have left the factory with."""

    def staged(self) -> Credentials | None:
        """Return the staged credential, or None."""

    def promote(self) -> None:
        """Make the staged password the one in force. Raises SecretError when none is staged."""


class EnvironmentSecrets:
    """Credentials from ``METALWRIGHT_BMC_USER`` and ``METALWRIGHT_BMC_PASSWORD``; nothing can be staged."""

    def candidates(self, manufacturer: str | None = None) -> Sequence[Credentials]:
        """Return the pair of the environment, or nothing when it is not set. Raises UsageError for half a pair."""
        del manufacturer
        credentials = credentials_of_environment()
        return (credentials,) if credentials is not None else ()

    def worked(self, credentials: Credentials) -> None:
        """Nothing to remember."""

    def state(self) -> dict[str, Any]:
        """The environment's own user."""
        credentials = credentials_of_environment()
        user = credentials.username if credentials is not None else None
        return {"user": user, "origin": "environment", "is_staged": False, "is_shared": False, "made": None}

    def stage(self, min_length: int | None, max_length: int | None, *, user: str | None, is_shared: bool) -> None:
        """Refuse: a password that is kept nowhere locks everybody out."""
        del min_length, max_length, user, is_shared
        raise SecretError(
            "a new BMC password needs a place to be kept",
            where=PASSWORD_VARIABLE,
            hint="use a node of the inventory: its site has a secret store",
        )

    def unstage(self) -> None:
        """Nothing is ever staged."""

    def share(self) -> None:
        """Refuse, as ``stage`` does."""
        self.promote()

    def working(self) -> Credentials | None:
        """The pair of the environment."""
        return next(iter(self.candidates()), None)

    def factory(self, user: str) -> Sequence[Credentials]:
        """None is known."""
        del user
        return ()

    def staged(self) -> Credentials | None:
        """Nothing is ever staged."""
        return None

    def promote(self) -> None:
        """Refuse, as ``stage`` does."""
        self.stage(None, None, user=None, is_shared=False)


class StoredSecrets:
    """The credentials of a node's BMC in the site's store, and those of the environment after them."""

    def __init__(self, store: BmcCredentials, node: str, *, max_length: int = 20) -> None:
        self._store = store
        self._node = node
        self._max_length = max_length
        self._by_pair: dict[Credentials, Candidate] = {}
        self._working: Candidate | None = None

    def candidates(self, manufacturer: str | None = None) -> Sequence[Credentials]:
        """Return the store's candidates in its order, then the environment's pair."""
        for candidate in self._store.candidates(self._node, manufacturer):
            self._by_pair[Credentials(candidate.user, candidate.password.reveal())] = candidate
        given = [pair for pair in EnvironmentSecrets().candidates() if pair not in self._by_pair]
        for pair in given:
            name = pair.identifier(self._store.latch_key)
            self._by_pair[pair] = Candidate(name, pair.username, Secret(pair.password), "factory")
        return tuple(self._by_pair)

    def worked(self, credentials: Credentials) -> None:
        """Remember which one it is: a new password replaces it."""
        self._working = self._by_pair.get(credentials)

    def state(self) -> dict[str, Any]:
        """Where the working credential comes from, and whether a change is half done."""
        working = self._working
        return {
            "user": working.user if working else None,
            "origin": working.origin if working else None,
            "is_staged": self.staged() is not None,
            "is_shared": working.is_shared if working else False,
            "made": working.made.isoformat() if working and working.made else None,
        }

    def stage(self, min_length: int | None, max_length: int | None, *, user: str | None, is_shared: bool) -> None:
        """Make a password within the bounds of BMC and site, and keep it.

        One that is staged already was tried before the credential that works, and refused: it is on no account, and
        nobody may send it again, so another takes its place.
        """
        if self._working is None:
            raise SecretError("no credential opens this BMC, so there is none to replace", where=self._node)
        if self._working.origin != "staged":
            self._store.unstage(self._node)
        rules = _rules(min_length, min(max_length or self._max_length, self._max_length))
        self._store.stage(self._node, replaces=self._working, rules=rules, user=user, is_shared=is_shared)

    def unstage(self) -> None:
        """Forget the staged password."""
        self._store.unstage(self._node)

    def share(self) -> None:
        """Keep that the current login is a shared account's."""
        self._store.share(self._node)
        self._working = self._store.current(self._node)

    def working(self) -> Credentials | None:
        """The credential that was accepted."""
        working = self._working
        return Credentials(working.user, working.password.reveal()) if working else None

    def factory(self, user: str) -> Sequence[Credentials]:
        """The factory's passwords for that user, whatever the maker."""
        found = [item for item in self._store.factory() if item.user == user]
        return tuple(Credentials(item.user, item.password.reveal()) for item in found)

    def staged(self) -> Credentials | None:
        """Return the staged login."""
        found = next((item for item in self._store.candidates(self._node) if item.origin == "staged"), None)
        return Credentials(found.user, found.password.reveal()) if found else None

    def promote(self) -> None:
        """Make the staged login the current one; it was proven by logging in."""
        staged = self.staged()
        if staged is None:
            raise SecretError("no password is staged for this BMC", where=self._node)
        self._working = self._store.promote(self._node, staged.identifier(self._store.latch_key))


def _rules(min_length: int | None, max_length: int | None) -> PasswordRules:
    """Return the generator's rules within what the BMC announces."""
    rules = PasswordRules()
    return PasswordRules(min_length=max(rules.min_length, min_length or 0), max_length=max_length or rules.max_length)


class SecretValues:
    """The secrets that this connection resolved, by name; hides them in whatever is shown."""

    def __init__(self, secrets: BmcSecrets) -> None:
        self._secrets = secrets
        self._known: dict[str, str] = {}

    def value(self, name: str) -> str:
        """Return the secret ``name``. Raises SecretError when there is none."""
        if name == STAGED_PASSWORD:
            staged = self._secrets.staged()
            if staged is not None:
                self._known[name] = staged.password
        if name not in self._known:
            raise SecretError("no such secret for this BMC", where=f"{{secret:{name}}}", hint=_HINTS.get(name))
        return self._known[name]

    def keep(self, name: str, value: str) -> None:
        """Know a secret from now on."""
        self._known[name] = value

    @property
    def texts(self) -> tuple[str, ...]:
        """All resolved secrets."""
        return tuple(self._known.values())

    def fill(self, value: Any) -> Any:
        """Return ``value`` with every ``{secret:NAME}`` replaced by the secret."""
        if isinstance(value, Mapping):
            return {key: self.fill(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if isinstance(value, str):
            return _REFERENCE.sub(lambda match: self.value(match.group(1)), value)
        return value

    def hide(self, text: str) -> str:
        """Return ``text`` with every known secret replaced by its reference."""
        for name, secret in sorted(self._known.items(), key=lambda item: -len(item[1])):
            if secret:
                text = text.replace(secret, f"{{secret:{name}}}")
        return _MEDIUM_PATH.sub(lambda match: medium_mark(sha256(match.group().encode()).hexdigest()), text)


def medium_mark(secret_sha256: str) -> str:
    """Return what stands for the unguessable part of a medium's URL wherever it is shown: its SHA-256."""
    return f"{{sha256:{secret_sha256}}}"


_HINTS = {
    MEDIA_URL: "the boot medium is prepared by `metalwright provision NODE`, which then runs this deploy",
    STAGED_PASSWORD: "stage one first: the deploy deploys/credentials.py does",
}
