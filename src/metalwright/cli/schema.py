"""``metalwright schema``: JSON Schemas for editors and other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metalwright.errors import UsageError
from metalwright.loading.messages import nearest
from metalwright.loading.schemas import SCHEMA_NAMES, render_schema, write_schemas


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(
    name: Annotated[str | None, typer.Argument(help=f"One of {', '.join(SCHEMA_NAMES)}.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write all of them into this directory.")] = None,
) -> None:
    """Print a JSON Schema, or write all of them; without arguments list their names."""
    if out is not None:
        if name is not None:
            raise UsageError("a name and --out do not go together", hint="--out DIR writes all schemas")
        for path in write_schemas(out):
            typer.echo(str(path))
    elif name is None:
        typer.echo("\n".join(SCHEMA_NAMES))
    elif name in SCHEMA_NAMES:
        typer.echo(render_schema(name), nl=False)
    else:
        raise UsageError("no such schema", where=name, hint=nearest(name, SCHEMA_NAMES))
