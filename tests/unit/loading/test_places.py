"""Places are looked up for a message only: reading a large site must not parse every file a second, slower time."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalwright.loading import read_site
from metalwright.loading.models import Loaded

ROOT = Path(__file__).parents[3]


def test_a_valid_site_asks_for_no_place_in_a_rack_or_a_blueprint(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    find = Loaded.where

    def where(self: Loaded, *loc: str | int, key: bool = False) -> str:  # type: ignore[type-arg]  # of any model
        asked.append(str(self.path))
        return find(self, *loc, key=key)

    monkeypatch.setattr(Loaded, "where", where)
    reading = read_site(ROOT)
    assert reading.errors == ()
    told = [str(warning.where).partition(":")[0] for warning in reading.warnings]
    assert sorted(path for path in asked if not path.endswith("networks.yaml")) == sorted(told)
