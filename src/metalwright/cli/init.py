"""``metalwright init``: a new site repository in which ``check`` passes."""

from __future__ import annotations

import shlex
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from metalwright.allocations import allocate_addresses
from metalwright.starter.site import create_site


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init")(init)


def init(directory: Annotated[Path, typer.Argument(help="A new or empty directory.")]) -> None:
    """Make a new site repository: inventory, blueprints, deploys, templates, runbooks, JSON Schemas."""
    files = create_site(directory)
    allocate_addresses(directory, date.today())
    typer.echo(f"{directory}: {len(files) + 1} files")
    check = shlex.join(["metalwright", "--site", str(directory), "check"])
    typer.echo(f"\nhint: edit {directory / 'inventory'}, then: {check}", err=True)
