"""``metalwright labels``: what a scheduler should know of the nodes."""

from __future__ import annotations

from typing import Annotated

import typer

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.exported import ExportDirectory, write_export
from metalwright.loading import SitePaths, load_site
from metalwright.orchestration import export_orchestration
from metalwright.topology import node_labels

group = typer.Typer(name="labels", help="Labels and topology of nodes, for schedulers.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(group)


@group.command("show")
def show_command(
    context: typer.Context,
    node: Annotated[str, typer.Argument(metavar="NODE", help="A node of the inventory.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the labels of a node: where it stands, what it is, and those of its blueprint (policy.labels)."""
    cli: CliContext = context.obj
    repository = load_site(cli.site)
    labels = node_labels(repository, repository.node(node))
    if as_json:
        print_json({"schema": 1, "node": node, "labels": labels})
        return
    for key, value in labels.items():
        typer.echo(f"{key}={value}")


@group.command("export")
def export_command(
    context: typer.Context,
    directory: ExportDirectory,
    short_names: Annotated[
        bool, typer.Option("--short-names", help="Kubernetes knows the nodes without the site's domain.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 2 if a file is out of date.")] = False,
) -> int:
    """Write labels for Kubernetes (a script of kubectl) and nodes.conf, gres.conf and topology.conf for Slurm.

    From the inventory and templates/orchestrator. The same inventory gives the same bytes. Nodes that are not wanted
    ready or held are left out.
    """
    cli: CliContext = context.obj
    files = export_orchestration(SitePaths(cli.site), load_site(cli.site), by_fqdn=not short_names)
    return write_export(directory, files, check=check)
