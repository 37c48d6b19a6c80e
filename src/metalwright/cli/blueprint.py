"""``metalwright blueprint``: versions of blueprints."""

from __future__ import annotations

from typing import Annotated

import typer

from metalwright.cli.context import CliContext
from metalwright.errors import UsageError
from metalwright.loading.blueprint_lock import read_blueprint_lock, release
from metalwright.loading.messages import nearest
from metalwright.loading.site_files import read_site_files

group = typer.Typer(name="blueprint", help="Versions of blueprints.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(group)


@group.callback()
def _group() -> None:
    """Keeps the name of a single sub-command."""


@group.command("release")
def release_blueprint(
    context: typer.Context, ref: Annotated[list[str], typer.Argument(help="NAME@VERSION, several allowed.")]
) -> None:
    """Record the bytes of a blueprint in blueprints.lock; from then on `check` refuses any change to the file."""
    cli: CliContext = context.obj
    files = read_site_files(cli.site)
    for item in ref:
        if item not in files.blueprints:
            raise UsageError("no such valid blueprint", where=item, hint=nearest(item, files.blueprints))
    before = read_blueprint_lock(cli.site)
    after = release(cli.site, ref)
    for item in ref:
        state = "was released before, unchanged" if item in before else "released"
        typer.echo(f"{item} {state}: {after[item]}")
