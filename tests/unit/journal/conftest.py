"""A journal on disk with a clock that tests move by hand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_sqlite


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


@pytest.fixture
def journal(state_dir: Path, clock: HandClock) -> Iterator[Journal]:
    with Journal(open_sqlite(state_dir / "journal.sqlite", clock)) as journal:
        yield journal
