"""The login of each BMC: the current one, the staged one during a change, and the factory's.

A change is: :meth:`BmcCredentials.stage` (durable), change on the BMC, log in with it,
:meth:`BmcCredentials.promote`. A kill anywhere in between leaves two candidates, tried in that order.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from metalwright.errors import SecretError
from metalwright.model.base import Frozen
from metalwright.model.site import FactoryCredential
from metalwright.secrets.passwords import PasswordRules, make_password
from metalwright.secrets.references import read_secret
from metalwright.secrets.stickers import Stickers
from metalwright.secrets.store import SecretStore
from metalwright.secrets.value import Secret

Origin = Literal["staged", "current", "factory"]

LATCH_KEY_NAME = "latch-key"


@dataclass(frozen=True)
class Candidate:
    """A login to try. ``credential_id`` names it in the latch and says nothing about the password.

    ``version`` counts the passwords that metalwright made for the node; 0 is the factory's.
    """

    credential_id: str
    user: str
    password: Secret
    origin: Origin
    version: int = 0
    made: date | None = None
    """When metalwright made the password; None for the factory's."""
    is_shared: bool = False
    """Whether it belongs to an account that others know too, since the BMC has none to give away."""


class _Login(Frozen):
    user: str
    password: str = Field(repr=False)
    version: int
    replaces: str | None = None
    made: date | None = None
    is_shared: bool = False


class _Record(Frozen):
    current: _Login | None = None
    staged: _Login | None = None


class BmcCredentials:
    """Reads and changes the BMC logins in a secret store.

    ``base`` is the site directory of the references; ``units`` names the unit of each node as sticker lists do.
    """

    def __init__(
        self,
        store: SecretStore,
        *,
        factory: Sequence[FactoryCredential] = (),
        base: Path = Path(),
        units: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.store = store
        self.stickers = Stickers(store)
        self._units = dict(units or {})
        self._factory = tuple(factory)
        self._base = base
        self._latch_key: bytes | None = None

    @property
    def latch_key(self) -> bytes:
        """The secret under which credential ids are made, the same for everybody who shares the store."""
        if self._latch_key is None:
            self._latch_key = read_latch_key(self.store)
        return self._latch_key

    @property
    def turns_dir(self) -> Path:
        """Where the locks lie that make logins at one BMC come one after the other."""
        return self._base / ".metalwright" / "locks"

    def candidates(self, node: str, manufacturer: str | None = None) -> tuple[Candidate, ...]:
        """Return the logins to try on a node's BMC, in order; each is tried once.

        During a change these are two: the staged login and the one that it replaces. Else the current one, then that
        of the unit's sticker, then the factory's (those of other makers left out where ``manufacturer`` is known). A
        factory password that cannot be read is left out where there is another login.

        Raises:
            SecretError: the only login is a factory password that cannot be read.
        """
        record = self._read(node)
        own = [self._own(record.current, "current")] if record.current else []
        known = [*own, *self.of_unit(self._units.get(node, ()))]
        settled = [*known, *self._of_factory(manufacturer, unread=[] if known else None)]
        if record.staged is None:
            return tuple(settled)
        replaced = [item for item in settled if item.credential_id == record.staged.replaces]
        return (self._own(record.staged, "staged"), *(replaced or settled)[:1])

    def factory(
        self, manufacturer: str | None = None, unread: list[SecretError] | None = None
    ) -> tuple[Candidate, ...]:
        """Return the factory logins alone, for a BMC that belongs to no node yet.

        Raises:
            SecretError: a password cannot be read; with ``unread`` it is appended there, and the login left out.
        """
        return tuple(self._of_factory(manufacturer, unread))

    def own(self, node: str) -> tuple[Candidate, ...]:
        """Return the logins that metalwright made for a node: the staged one first, then the current one."""
        record = self._read(node)
        pairs: tuple[tuple[_Login | None, Origin], ...] = ((record.staged, "staged"), (record.current, "current"))
        return tuple(self._own(login, origin) for login, origin in pairs if login is not None)

    def of_unit(self, keys: Sequence[str]) -> tuple[Candidate, ...]:
        """Return the factory login of the unit with one of these :func:`unit_keys`, if a sticker list told it."""
        found = self.stickers.find(keys) if keys else None
        if found is None:
            return ()
        user, password = found
        return (Candidate(credential_id(self.latch_key, user, password), user, password, "factory"),)

    def current(self, node: str) -> Candidate | None:
        """Return the login that is known to work, or ``None`` when metalwright has not made one yet."""
        record = self._read(node)
        return self._own(record.current, "current") if record.current else None

    def stage(
        self,
        node: str,
        *,
        replaces: Candidate,
        user: str | None = None,
        rules: PasswordRules | None = None,
        is_shared: bool = False,
    ) -> Candidate:
        """Make a new password and keep it before the BMC hears of it; ``replaces`` is the login that works now.

        ``user`` is the account that gets it, by default the one that works now. A login that is staged already is
        returned as it is: it may be on the BMC.
        """
        with self.store.exclusive():
            record = self._read(node)
            if record.staged is None:
                version = record.current.version + 1 if record.current else 1
                staged = _Login(
                    user=user or replaces.user,
                    password=make_password(rules).reveal(),
                    version=version,
                    replaces=replaces.credential_id,
                    made=datetime.now(UTC).date(),
                    is_shared=is_shared,
                )
                record = record.model_copy(update={"staged": staged})
                self._write(node, record)
            return self._own(_present(record.staged, node), "staged")

    def promote(self, node: str, credential_id: str) -> Candidate:
        """The staged login was proven by logging in with it: it is the current one now. Safe to repeat."""
        with self.store.exclusive():
            record = self._read(node)
            if record.staged is not None and self._own(record.staged, "staged").credential_id == credential_id:
                record = _Record(current=record.staged.model_copy(update={"replaces": None}))
                self._write(node, record)
            current = self._own(_present(record.current, node), "current")
        if current.credential_id != credential_id:
            raise SecretError("the proven login is not the staged one", where=node, hint="read the candidates again")
        return current

    def share(self, node: str) -> None:
        """The current login belongs to an account that is not metalwright's own, and the BMC has no other to give."""
        with self.store.exclusive():
            record = self._read(node)
            if record.current is not None:
                current = record.current.model_copy(update={"is_shared": True})
                self._write(node, record.model_copy(update={"current": current}))

    def unstage(self, node: str) -> None:
        """The BMC refused the staged login for good (its password rules): forget it."""
        with self.store.exclusive():
            record = self._read(node)
            if record.staged is not None:
                self._write(node, record.model_copy(update={"staged": None}))

    def _own(self, login: _Login, origin: Origin) -> Candidate:
        password = Secret(login.password)
        return Candidate(
            credential_id(self.latch_key, login.user, password),
            login.user,
            password,
            origin,
            login.version,
            login.made,
            login.is_shared,
        )

    def _of_factory(self, manufacturer: str | None, unread: list[SecretError] | None = None) -> list[Candidate]:
        candidates = []
        for item in self._factory:
            if manufacturer and item.manufacturer and item.manufacturer.lower() != manufacturer.lower():
                continue
            try:
                password = read_secret(item.password, self._base)
            except SecretError as error:
                if unread is None:
                    raise
                unread.append(error)
                continue
            name = credential_id(self.latch_key, item.user, password)
            candidates.append(Candidate(name, item.user, password, "factory"))
        return candidates

    def _read(self, node: str) -> _Record:
        text = self.store.get(_name(node))
        if text is None:
            return _Record()
        try:
            return _Record.model_validate_json(text.reveal())
        except ValidationError:
            raise SecretError("the stored login cannot be read", where=_name(node), expected="a login record") from None

    def _write(self, node: str, record: _Record) -> None:
        self.store.put(_name(node), Secret(record.model_dump_json()))


def credential_id(latch_key: bytes, user: str, password: Secret) -> str:
    """Return the name of a login: 32 hex digits that say nothing about it without ``latch_key``."""
    text = f"{len(user)}:{user}{password.reveal()}".encode()
    return hmac.new(latch_key, text, hashlib.sha256).hexdigest()[:32]


def read_latch_key(store: SecretStore) -> bytes:
    """Return the key of the credential ids, made at first use."""
    known = store.get(LATCH_KEY_NAME)
    if known is None:
        with store.exclusive():
            known = store.get(LATCH_KEY_NAME) or make_password(PasswordRules(min_length=40, max_length=40))
            store.put(LATCH_KEY_NAME, known)
    return known.reveal().encode()


def _name(node: str) -> str:
    return f"bmc/{node}"


def _present(login: _Login | None, node: str) -> _Login:
    if login is None:
        raise SecretError("no login of that kind is stored", where=_name(node), hint="read the candidates again")
    return login
