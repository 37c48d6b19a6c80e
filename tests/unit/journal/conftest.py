"""A journal with a clock that tests move by hand.

It is a SQLite file; where METALWRIGHT_TEST_POSTGRESQL_URL names a database, every test runs in PostgreSQL as well.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url
from sqlalchemy.schema import CreateSchema

from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_sqlite, open_url

POSTGRESQL_URL = os.environ.get("METALWRIGHT_TEST_POSTGRESQL_URL")


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **how_far: float) -> datetime:
        self.now += timedelta(**how_far)
        return self.now


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    return tmp_path / ".metalwright"


@pytest.fixture(params=["sqlite", "postgresql"] if POSTGRESQL_URL else ["sqlite"])
def journal(request: pytest.FixtureRequest, state_dir: Path, clock: HandClock) -> Iterator[Journal]:
    if request.param == "sqlite":
        database = open_sqlite(state_dir / "journal.sqlite", clock)
    else:
        database = open_url(_url_of_a_new_schema(POSTGRESQL_URL or ""), clock)
    with Journal(database) as journal:
        yield journal


@pytest.fixture
def journal_file(journal: Journal, state_dir: Path) -> Path:
    """The journal's file, for tests that look into it or change it by hand."""
    path = state_dir / "journal.sqlite"
    if journal.where != str(path):
        pytest.skip("a journal in PostgreSQL has no file")
    return path


def _url_of_a_new_schema(server: str) -> str:
    schema = f"test_{secrets.token_hex(6)}"
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.execute(CreateSchema(schema))
    engine.dispose()
    url = make_url(server).update_query_dict({"options": f"-csearch_path={schema}"})
    return url.render_as_string(hide_password=False)
