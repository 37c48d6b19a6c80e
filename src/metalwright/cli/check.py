"""``metalwright check``: every file, lock and cross reference, offline."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any

import typer

from metalwright.checking import examine
from metalwright.cli.context import CliContext, print_json
from metalwright.errors import LoadingError
from metalwright.loading.repository import SiteReading

EXIT_FINDINGS = 2


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check")(check)


def check(
    context: typer.Context,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Check the site repository: every file, lock and cross reference, with no network and no hardware.

    Exit 0: valid. Exit 2: something is wrong; everything is listed, each with file:line:column. A note says what could
    not be judged here, and what would change that; it never fails, not even under --strict.
    """
    cli: CliContext = context.obj
    reading = examine(cli.site, date.today())
    if as_json:
        print_json(_as_json(reading))
    else:
        _print(cli, reading)
    return EXIT_FINDINGS if reading.errors or (strict and reading.warnings) else 0


def _print(cli: CliContext, reading: SiteReading) -> None:
    for error in reading.errors:
        typer.echo(f"error: {error}\n")
    for warning in reading.warnings:
        typer.echo(f"warning: {warning}\n")
    for note in reading.notes:
        typer.echo(f"note: {note}\n")
    if reading.repository is None:
        typer.echo(f"{_count(len(reading.errors), 'error')} in {cli.site / 'inventory'} and its neighbours", err=True)
        return
    repository = reading.repository
    notes = f", {_count(len(reading.notes), 'note')}" if reading.notes else ""
    nodes, racks, blueprints = len(repository.nodes()), len(repository.racks), len(repository.blueprints)
    typer.echo(
        f"{repository.site.name}: {_count(racks, 'rack')}, {_count(nodes, 'node')}, "
        f"{_count(blueprints, 'blueprint')}, {_count(len(reading.warnings), 'warning')}{notes}: valid"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _as_json(reading: SiteReading) -> dict[str, Any]:
    return {
        "schema": 1,
        "valid": reading.repository is not None,
        "files": reading.files,
        "errors": _problems(reading.errors),
        "warnings": _problems(reading.warnings),
        "notes": _problems(reading.notes),
    }


def _problems(errors: Sequence[LoadingError]) -> list[dict[str, Any]]:
    return [_problem(error) for error in errors]


def _problem(error: LoadingError) -> dict[str, Any]:
    place = re.fullmatch(r"(?P<file>.*?)(?::(?P<line>\d+):(?P<column>\d+))?", error.where)
    found = place.groupdict() if place is not None else {"file": error.where, "line": None, "column": None}
    return {
        "file": found["file"],
        "line": int(found["line"]) if found["line"] else None,
        "column": int(found["column"]) if found["column"] else None,
        "what": error.what,
        "expected": error.expected,
        "found": error.found,
        "hint": error.hint,
    }
