"""Transactions on the journal's database, and how its errors reach a person.

A write is one transaction, durable when the ``with`` block has ended. Writes nest: an inner one joins the outer one,
so that several stores change together or not at all.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from metalwright.errors import JournalError
from metalwright.journal.killing import kill_point

Clock = Callable[[], datetime]

READ_ONLY = "metalwright_read_only"
"""Execution option of connections that only read."""


def utc_now() -> datetime:
    """Return the time now, aware UTC."""
    return datetime.now(UTC)


class Database:
    """An engine with the journal's rules. ``where`` names it in errors and holds no password."""

    def __init__(self, engine: Engine, where: str, clock: Clock = utc_now) -> None:
        self.engine = engine
        self.where = where
        self.clock = clock
        self._writing: ContextVar[Connection | None] = ContextVar("writing", default=None)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection that sees one state; inside a write it sees what was written so far."""
        current = self._writing.get()
        if current is not None:
            yield current
            return
        with self._translated("read"), self.engine.connect() as raw:
            connection = raw.execution_options(**{READ_ONLY: True})
            with connection.begin():
                yield connection

    @contextmanager
    def write(self, name: str, detail: str = "") -> Iterator[Connection]:
        """Give a connection whose changes are kept, all together, when the block ends without an exception.

        Passes the kill points ``<name>.before`` and ``<name>.after``, which ``detail`` tells apart from others of the
        name. Raises JournalError; nothing was changed then.
        """
        current = self._writing.get()
        if current is not None:
            yield current
            return
        kill_point(f"{name}.before", detail)
        with self._translated(name), self.engine.begin() as connection:
            token = self._writing.set(connection)
            try:
                yield connection
            finally:
                self._writing.reset(token)
        kill_point(f"{name}.after", detail)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def _translated(self, name: str) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, json.JSONDecodeError) as error:
            raise journal_error(error, self.where, name) from error


def journal_error(error: Exception, where: str, name: str) -> JournalError:
    """Return the JournalError that says what the database's error means for a person."""
    original = getattr(error, "orig", None) or error
    text = str(original).strip().splitlines()[0] if str(original).strip() else type(original).__name__
    what, hint = _meaning(text.lower())
    return JournalError(f"{what} ({name})", where=where, found=text, hint=hint)


def _meaning(text: str) -> tuple[str, str]:
    if "locked" in text:
        return "the journal is busy", "another process holds it; run the command again"
    if "full" in text or "disk i/o" in text or "no space" in text:
        return "the journal cannot be written", "free space on its disk, then run the same command again"
    if "not a database" in text or "malformed" in text or "no such table" in text or "expecting value" in text:
        return "the journal cannot be read", DAMAGED_HINT
    if "readonly" in text or "unable to open" in text or "permission" in text:
        return "the journal cannot be opened for writing", "check owner and mode of the file and its directory"
    return "the journal's database refused", "nothing was changed; run the same command again when it is repaired"


DAMAGED_HINT = (
    "nothing was touched; restore the file from a backup, or move it aside to start a new history: "
    "nodes are then observed again and nothing is overwritten without a grant"
)
