"""``metalwright review``: what a change of the site repository does to which nodes, before it is merged."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import ValidationError

from metalwright.cli.context import CliContext
from metalwright.errors import LoadingError
from metalwright.loading import write_atomically
from metalwright.loading.files import MAX_FLEET_FILE_BYTES, read_bytes
from metalwright.model.review import ObservedSnapshot
from metalwright.review.markdown import render_markdown
from metalwright.review.sarif import render_sarif
from metalwright.reviewing import Circumstances, review_revisions

EXIT_FINDINGS = 2


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("review")(review)


def review(
    context: typer.Context,
    revisions: Annotated[str, typer.Argument(metavar="BASE..HEAD", help="Two revisions, such as origin/main..HEAD.")],
    output: Annotated[Literal["markdown", "json", "sarif"], typer.Option("--format", help="How to print it.")] = (
        "markdown"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write it to a file as well.")] = None,
    observed: Annotated[
        Path | None, typer.Option(help="Snapshot of the fleet: what `metalwright status --json` printed.")
    ] = None,
    approved_by: Annotated[
        list[str] | None,
        typer.Option(help="Who approved: NAME, or NAME@COMMIT, which counts only for that head; repeat for more."),
    ] = None,
    may_remove: Annotated[int | None, typer.Option(min=0, help="Nodes that this change may remove.")] = None,
) -> int:
    """Say what a change will do to which machines: reboots, disks written, GPUs out of service, addresses.

    Compares HEAD with where it parted from BASE; reads git only, no machine. Exit 0: nothing is refused and every
    policy is met. Exit 2: something is refused, or a policy is not met or open.
    """
    cli: CliContext = context.obj
    given = Circumstances(
        now=datetime.now(UTC),
        approved_by=tuple(approved_by) if approved_by is not None else None,
        observed=_read_snapshot(observed) if observed is not None else None,
        may_remove=may_remove,
    )
    made = review_revisions(cli.site, revisions, given)
    if as_json or output == "json":
        text = made.model_dump_json(by_alias=True, indent=2) + "\n"
    else:
        text = render_sarif(made) if output == "sarif" else render_markdown(made)
    if out is not None:
        write_atomically(out, text)
    typer.echo(text, nl=False)
    return EXIT_FINDINGS if made.has_findings else 0


def _read_snapshot(path: Path) -> ObservedSnapshot:
    try:
        snapshot = ObservedSnapshot.model_validate_json(read_bytes(path, root=None, max_bytes=MAX_FLEET_FILE_BYTES))
    except ValidationError as error:
        raise LoadingError(
            "the snapshot cannot be read",
            where=str(path),
            found=str(error).splitlines()[0],
            hint="metalwright status --json > observed.json",
        ) from error
    if snapshot.taken.tzinfo is None:
        raise LoadingError("the snapshot does not say in which time zone it was taken", where=str(path))
    return snapshot
