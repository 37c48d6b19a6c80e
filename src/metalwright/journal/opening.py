"""Opening a journal: made once and whole, checked each time, never silently replaced by an empty one."""

from __future__ import annotations

import os
import secrets
import sqlite3
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, select, text
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, StaticPool

from metalwright import __version__
from metalwright.errors import JournalError
from metalwright.journal.database import DAMAGED_HINT, READ_ONLY, Clock, Database, journal_error, utc_now
from metalwright.journal.journal import Journal
from metalwright.journal.tables import SCHEMA_VERSION, Base, JournalRow
from metalwright.loading.files import is_writable, sync_directory
from metalwright.model.site import Site
from metalwright.secrets.references import read_secret

BUSY_TIMEOUT_S = 30
JOURNAL_FILE = "journal.sqlite"


def open_journal(site: Site, state_dir: Path, *, for_reading: bool = False) -> Journal:
    """Open the journal of a site: ``journal.sqlite`` in ``state_dir``, or the database that ``site.journal`` names.

    ``site.journal`` is a URL, or a reference to one (``env:…``, ``file:…``, ``command:…``) when it holds a password.
    ``for_reading``: a file that cannot be written will do, and where there is none an empty journal.
    """
    if site.journal is None:
        path = state_dir / JOURNAL_FILE
        return Journal(read_sqlite(path) if for_reading and not is_writable(state_dir) else open_sqlite(path))
    is_reference = site.journal.startswith(("env:", "file:", "command:"))
    return Journal(open_url(read_secret(site.journal, state_dir.parent).reveal() if is_reference else site.journal))


def open_sqlite(path: Path, clock: Clock = utc_now) -> Database:
    """Open the journal file, or make it (mode 0600) when there is none. A damaged file is refused, not replaced."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _make_sqlite(path, clock)
        if path.stat().st_size == 0:
            raise JournalError("the journal is empty", where=str(path), found="a file of 0 bytes", hint=DAMAGED_HINT)
    except OSError as error:
        raise JournalError("the journal cannot be opened", where=str(path), found=error.strerror) from error
    return _checked(Database(_sqlite_engine(path), str(path), clock))


def read_sqlite(path: Path, clock: Clock = utc_now) -> Database:
    """Open a journal file that cannot be written, as it is; an empty journal in memory when there is none."""
    if not path.exists():
        database = Database(create_engine("sqlite://", poolclass=StaticPool, hide_parameters=True), str(path), clock)
        with database.write("create") as connection:
            _create_tables(connection, clock)
        return _checked(database)
    has_writer = any(path.with_name(f"{path.name}-{log}").exists() for log in ("wal", "shm"))
    return _checked(
        Database(_sqlite_engine(path, {"mode": "ro"} if has_writer else {"immutable": "1"}), str(path), clock)
    )


def open_url(url: str, clock: Clock = utc_now) -> Database:
    """Open the journal in another database, for example ``postgresql+psycopg://…``; its tables are made once."""
    try:
        engine = create_engine(url, pool_pre_ping=True, hide_parameters=True)
    except ArgumentError as error:
        raise JournalError(
            "the journal's URL cannot be understood", where="site.yaml: journal", expected="postgresql+psycopg://…"
        ) from error
    except ModuleNotFoundError as error:
        raise JournalError(
            "the database driver is not installed",
            where=f"site.yaml: journal ({url.partition(':')[0]})",
            found=str(error),
            hint=f"install the Python package {error.name}; for PostgreSQL: metalwright[postgresql]",
        ) from error
    database = Database(engine, engine.url.render_as_string(hide_password=True), clock)
    with database.write("create") as connection:
        if not inspect(connection).has_table(JournalRow.__tablename__):
            _create_tables(connection, clock)
    return _checked(database)


def _sqlite_engine(path: Path, how: Mapping[str, str] = MappingProxyType({"mode": "rw"})) -> Engine:
    url = URL.create("sqlite+pysqlite", database=f"file:{quote(str(path))}", query={**how, "uri": "true"})
    connect_args = {"timeout": BUSY_TIMEOUT_S, "isolation_level": None, "check_same_thread": False}
    engine = create_engine(url, connect_args=connect_args, hide_parameters=True)
    event.listen(engine, "connect", _set_durability)
    event.listen(engine, "begin", _begin)
    return engine


def _set_durability(connection: sqlite3.Connection, entry: ConnectionPoolEntry) -> None:
    del entry
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin(connection: Connection) -> None:
    """Take the write lock at once, so that a transaction never fails half-way for want of it."""
    is_read = connection.get_execution_options().get(READ_ONLY, False)
    connection.exec_driver_sql("BEGIN" if is_read else "BEGIN IMMEDIATE")


def _make_sqlite(path: Path, clock: Clock) -> None:
    """Make the whole file under another name first; of two processes one wins, and a kill leaves no half journal."""
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size > 0:
        raise JournalError("the journal is gone but its log is there", where=str(log), hint=DAMAGED_HINT)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        _fill_draft(draft, clock)
        with suppress(FileExistsError):
            os.link(draft, path)
        sync_directory(path.parent)
    finally:
        draft.unlink()


def _fill_draft(draft: Path, clock: Clock) -> None:
    engine = _sqlite_engine(draft)
    try:
        with engine.connect() as connection:
            _driver(connection).execute("PRAGMA journal_mode=WAL")
        with engine.begin() as connection:
            _create_tables(connection, clock)
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise journal_error(error, str(draft), "create") from error
    finally:
        engine.dispose()


def _driver(connection: Connection) -> Any:
    """Return the driver's own connection: the journal mode cannot change inside a transaction."""
    return connection.connection.driver_connection


def _create_tables(connection: Connection, clock: Clock) -> None:
    Base.metadata.create_all(connection)
    connection.execute(
        insert(JournalRow).values(
            id=str(uuid.uuid4()), schema_version=SCHEMA_VERSION, created=clock(), tool_version=__version__
        )
    )


def _checked(database: Database) -> Database:
    try:
        _check(database)
        _add_new_tables(database)
    except JournalError:
        database.close()
        raise
    return database


def _add_new_tables(database: Database) -> None:
    """Make the tables that this version has and the journal does not: it was made by an earlier one."""
    with database.read() as connection:
        there = set(inspect(connection).get_table_names())
    missing = [table for table in Base.metadata.sorted_tables if table.name not in there]
    if missing:
        with database.write("add_tables") as connection:
            Base.metadata.create_all(connection, tables=missing)


def _check(database: Database) -> None:
    with database.read() as connection:
        if connection.dialect.name == "sqlite":
            _check_pages(connection, database.where)
        if not inspect(connection).has_table(JournalRow.__tablename__):
            raise JournalError("this is not a journal of metalwright", where=database.where, hint=DAMAGED_HINT)
        versions = connection.execute(select(JournalRow.schema_version)).scalars().all()
    if len(versions) != 1:
        raise JournalError("the journal has lost its identity", where=database.where, hint=DAMAGED_HINT)
    if versions[0] != SCHEMA_VERSION:
        raise JournalError(
            "the journal was made by another version of metalwright",
            where=database.where,
            expected=f"schema version {SCHEMA_VERSION}",
            found=f"schema version {versions[0]}",
            hint="use the metalwright version that wrote it, or a newer one",
        )


def _check_pages(connection: Connection, where: str) -> None:
    answer = connection.execute(text("PRAGMA quick_check(1)")).scalar()
    if answer != "ok":
        raise JournalError("the journal is damaged", where=where, found=str(answer), hint=DAMAGED_HINT)
