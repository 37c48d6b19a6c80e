"""``metalwright drift``: where machines are not as git wants them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.selection import select_nodes
from metalwright.errors import UsageError
from metalwright.loading import SitePaths
from metalwright.model.drift import NodeDrift
from metalwright.runner.drift import observe_drift
from metalwright.runner.replacing import write_replacements
from metalwright.workspace import open_workspace

EXIT_DIFFERENCE = 2


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("drift")(drift)


def drift(
    context: typer.Context,
    nodes: Annotated[list[str] | None, typer.Argument(metavar="NODE", help="Nodes of the inventory.")] = None,
    rack: Annotated[str | None, typer.Option(help="All nodes of a rack.")] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Write what a replaced part changed into the rack files of these nodes.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Compare machines with git: identity, hardware, network, firmware, BIOS, accounts, image, packages and files.

    Nothing is changed. For each layer that differs it says when a run of ours last finished there. Exit 0: no
    difference. 2: something differs. 1: something could not be read, which is no proof that it is as it should be.

    --accept writes the serial numbers and MAC addresses of replaced parts into the rack file, shows the change and how
    to commit it. It commits nothing, and refuses what could as well be another machine.
    """
    cli: CliContext = context.obj
    if accept and (rack is not None or as_json):
        raise UsageError(
            "--accept goes with neither --rack nor --json",
            expected="the names of the nodes whose parts were replaced",
            hint="each replaced part is one decision; look with --rack, accept by name",
        )
    with open_workspace(cli.site) as workspace:
        seen = observe_drift(workspace, select_nodes(workspace.repository, nodes or [], rack))
    if as_json:
        print_json({"schema": 1, "nodes": seen})
    else:
        for item in seen:
            _print(item)
    if accept:
        _accept(cli, seen)
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
        group = None
        for difference in item.differences:
            if difference.layer == layer:
                if difference.group not in (None, group):
                    typer.echo(f"    {difference.group}")
                group = difference.group
                values = f": {difference.found or 'nothing'}, wanted {difference.wanted}" if difference.wanted else ""
                typer.echo(f"    {'  ' if group else ''}{difference.what}{values}")
    for line in item.unknown:
        typer.echo(f"  unknown: {line}")
    for change in item.replaced:
        typer.echo(
            f"  replaced? {change.what}: {change.was} → {change.becomes}; `metalwright drift {item.node} --accept`"
        )
    for reason in item.not_accepted:
        typer.echo(f"  not for --accept: {reason}")


def _accept(cli: CliContext, seen: tuple[NodeDrift, ...]) -> None:
    """Write, show, and say what is left for a person to do."""
    files, nodes = [], []
    for item in seen:
        if not item.replaced:
            typer.echo(f"{item.node}: no replaced part that could be accepted; nothing was written", err=True)
            continue
        written = write_replacements(SitePaths(cli.site), item.node, item.replaced)
        files.append(str(written.path))
        nodes.append(item.node)
        typer.echo(f"\n{written.diff}")
    if files:
        typer.echo("\n" + "\n".join(_next_steps(cli.site, list(dict.fromkeys(files)), nodes)), err=True)


def _next_steps(site: Path, files: list[str], nodes: list[str]) -> list[str]:
    git = "git" if site == Path() else f"git -C {shlex.quote(str(site))}"
    names = shlex.join(files)
    return [
        "hint: compare with the labels of the parts, then let somebody review it:",
        f"  {git} switch --create {shlex.quote('-'.join(['replaced', *nodes]))}",
        f"  {git} add {names}",
        f"  {git} commit --message {shlex.quote('Replaced parts of ' + ', '.join(nodes))}",
        f"to take it back: {git} checkout -- {names}",
    ]
