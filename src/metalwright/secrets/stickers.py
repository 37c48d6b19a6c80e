"""The factory logins of single units, kept in the secret store under their serials and MACs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from metalwright.errors import SecretError
from metalwright.secrets.sticker_file import Sticker
from metalwright.secrets.store import SecretStore
from metalwright.secrets.value import Secret

STORE_NAME = "bmc-stickers"


@dataclass(frozen=True)
class Imported:
    """How many units came anew, got another login, and were known already."""

    new: int
    changed: int
    known: int


class Stickers:
    """All stickers are one secret: ``{"mac 52:54:…": ["ADMIN", "…"], "serial abc123": […]}``."""

    def __init__(self, store: SecretStore) -> None:
        self._store = store
        self._logins: dict[str, tuple[str, str]] | None = None

    def add(self, stickers: Iterable[Sticker]) -> Imported:
        """Keep the logins; a later list replaces what an earlier one said of a unit. Durable when this returns."""
        counts = {"new": 0, "changed": 0, "known": 0}
        with self._store.exclusive():
            logins = self._read()
            for sticker in stickers:
                login = (sticker.user, sticker.password.reveal())
                before = [logins.get(key) for key in sticker.keys]
                is_known = all(item == login for item in before)
                counts["known" if is_known else "changed" if any(before) else "new"] += 1
                logins |= dict.fromkeys(sticker.keys, login)
            self._store.put(STORE_NAME, Secret(json.dumps(logins)))
        self._logins = logins
        return Imported(**counts)

    @property
    def is_empty(self) -> bool:
        """Whether no unit's login is known."""
        if self._logins is None:
            self._logins = self._read()
        return not self._logins

    def find(self, keys: Iterable[str]) -> tuple[str, Secret] | None:
        """User and password of the unit with the first of these :func:`unit_keys` that is known."""
        if self._logins is None:
            self._logins = self._read()
        found = next((self._logins[key] for key in keys if key in self._logins), None)
        return None if found is None else (found[0], Secret(found[1]))

    def _read(self) -> dict[str, tuple[str, str]]:
        text = self._store.get(STORE_NAME)
        if text is None:
            return {}
        try:
            return {str(key): (str(user), str(password)) for key, (user, password) in json.loads(text.reveal()).items()}
        except (ValueError, TypeError, AttributeError):
            raise SecretError("the stored stickers cannot be read", where=STORE_NAME) from None
