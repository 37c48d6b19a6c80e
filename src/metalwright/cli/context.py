"""What every command gets: the site directory and how to print. stdout is data, stderr is progress and logs."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from pydantic import BaseModel

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH = 400
"""Columns of a table that another program reads: rows are never folded."""


@dataclass(frozen=True)
class CliContext:
    """Global options. ``state_dir`` is the git-ignored directory for journal, locks and secrets."""

    site: Path
    debug: bool

    @property
    def state_dir(self) -> Path:
        """``<site>/.metalwright``."""
        return self.site / ".metalwright"

    @property
    def out(self) -> Console:
        """Tables and data, on stdout."""
        return _console(soft_wrap=True, highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)

    @property
    def err(self) -> Console:
        """Progress and notes, on stderr."""
        return _console(stderr=True, soft_wrap=True, highlight=False)


def _console(**options: Any) -> Console:
    """A console; rich is loaded when something is printed with it."""
    made: Console = import_module("rich.console").Console(**options)
    return made


def print_json(value: Any) -> None:
    """Write a value or model (or a list of models) to stdout as indented JSON with stable key order."""
    typer.echo(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
