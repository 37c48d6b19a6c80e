"""The package's own data files, read once."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def rows_of(name: str, table: str) -> tuple[dict[str, Any], ...]:
    """The array of tables ``[[table]]`` of ``name``.toml of this package."""
    text = (resources.files(__package__) / f"{name}.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text).get(table, ()))
