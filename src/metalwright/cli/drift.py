"""``metalwright drift``: where machines are not as git wants them."""

from __future__ import annotations

from typing import Annotated

import typer

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.selection import select_nodes
from metalwright.model.drift import NodeDrift
from metalwright.runner.drift import observe_drift
from metalwright.workspace import open_workspace

EXIT_DIFFERENCE = 2


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("drift")(drift)


def drift(
    context: typer.Context,
    nodes: Annotated[list[str] | None, typer.Argument(metavar="NODE…", help="Nodes of the inventory.")] = None,
    rack: Annotated[str | None, typer.Option(help="All nodes of a rack.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Compare machines with git: identity, hardware, network, firmware, BIOS, accounts, image, packages and files.

    Nothing is changed. For each layer that differs it says when a run of ours last finished there. Exit 0: no
    difference. 2: something differs. 1: something could not be read, which is no proof that it is as it should be.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as workspace:
        seen = observe_drift(workspace, select_nodes(workspace.repository, nodes or [], rack))
    if as_json:
        print_json({"schema": 1, "nodes": seen})
    else:
        for item in seen:
            _print(item)
    if any(item.differences for item in seen):
        return EXIT_DIFFERENCE
    return 1 if any(item.unknown for item in seen) else 0


def _print(item: NodeDrift) -> None:
    count = len(item.differences)
    typer.echo(
        f"{item.node} ({item.blueprint}): {count} difference(s)" if count else f"{item.node}: no difference seen"
    )
    if item.is_git_newer:
        typer.echo("  git changed since this node was accepted: `metalwright plan` shows what is still to be applied")
    touched = {touch.layer: touch for touch in item.touched}
    for layer in dict.fromkeys(difference.layer for difference in item.differences):
        touch = touched.get(layer)
        told = f"ours last on {touch.at} by {touch.by}, run {touch.run}" if touch else "never touched by a run of ours"
        typer.echo(f"  {layer} ({told})")
        for difference in item.differences:
            if difference.layer == layer:
                values = f": {difference.found or 'nothing'}, wanted {difference.wanted}" if difference.wanted else ""
                typer.echo(f"    {difference.what}{values}")
    for line in item.unknown:
        typer.echo(f"  unknown: {line}")
