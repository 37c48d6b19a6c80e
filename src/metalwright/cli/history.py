"""What the commands about the past share: the journal of a site whose other files may be wrong, and plain columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import typer

from metalwright.cli.context import CliContext
from metalwright.errors import InvalidFilesError
from metalwright.loading.site_files import SiteFiles, read_site_files

if TYPE_CHECKING:
    from metalwright.journal import Journal


@dataclass(frozen=True)
class History:
    """The journal, and the nodes that the inventory names. ``is_complete``: all rack files could be read.

    ``budgets``: blueprint → minutes that it allows for a rebuild (``rollback.minutes``), where it says so.
    """

    journal: Journal
    declared: tuple[str, ...]
    is_complete: bool
    budgets: Mapping[str, float] = field(default_factory=dict)


@contextmanager
def open_history(cli: CliContext, *, for_reading: bool = False) -> Iterator[History]:
    """Open the journal; of the site's files only ``site.yaml`` must be right, so that it works at 3 a.m. too.

    ``for_reading``: it works in a folder that is read-only, too.
    """
    from metalwright.journal import open_journal  # a database is loaded only by the commands that need one

    files = read_site_files(cli.site)
    if files.site is None:
        raise InvalidFilesError(files.errors)
    declared = tuple(node.name for rack in files.racks for node in rack.model.nodes)
    with open_journal(files.site.model, cli.state_dir, for_reading=for_reading) as journal:
        yield History(journal, declared, not files.errors, _budgets(files))


def _budgets(files: SiteFiles) -> dict[str, float]:
    found = {ref: blueprint.model.rollback.minutes for ref, blueprint in files.blueprints.items()}
    return {ref: minutes for ref, minutes in found.items() if minutes is not None}


def print_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table to stdout: aligned, never cut, readable without colour; the last column runs on."""
    lines = [[printable(cell) for cell in line] for line in (header, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header) - 1)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        typer.echo("  ".join([*cells, line[-1]]).rstrip())


def printable(text: str) -> str:
    """Return a text on one line without control characters: a BMC's own words must not drive a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def clock_time(moment: datetime | None) -> str:
    """Return a time to the second in UTC, or ``-``."""
    return "-" if moment is None else f"{moment:%Y-%m-%d %H:%M:%SZ}"
