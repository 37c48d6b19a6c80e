"""``metalwright cancel``, ``takeover``, ``quarantine`` and ``release``: what people decide about a node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from metalwright.cli.context import CliContext
from metalwright.cli.history import clock_time, open_history
from metalwright.errors import UsageError

if TYPE_CHECKING:
    from metalwright.journal.journal import Journal

Node = Annotated[str, typer.Argument(help="The node.")]
Why = Annotated[str, typer.Option("--why", help="The reason; kept in the audit log and shown by `status`.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (cancel, takeover, quarantine, release):
        app.command(command.__name__)(command)


def cancel(context: typer.Context, node: Node, why: Why) -> None:
    """Ask the run that works on a node to stop; its other nodes go on.

    It stops before its next act or in a wait, but not while a disk is being written. A run that died is closed, so
    that `resume` does not take it up.
    """
    from metalwright.runner import custody

    with _opened(context, node) as (cli, journal):
        done = custody.cancel(journal, cli.state_dir, node, why)
    if done.worker is None:
        typer.echo(f"{node}: run {done.run} is closed; nobody worked on it", err=True)
    else:
        typer.echo(f"{node}: asked {done.worker} to stop at the next safe point; `status {node}` shows it", err=True)


def takeover(context: typer.Context, node: Node, why: Why) -> None:
    """Take a node from a run that died elsewhere without letting go of it.

    A ramdisk of that run is refused its first write from then on. Make sure that the run is dead: its machine is
    off, or its process has ended.
    """
    from metalwright.runner import custody

    with _opened(context, node) as (cli, journal):
        lease = custody.take_over(journal, cli.state_dir, node, why)
    if lease is None:
        typer.echo(f"{node}: no run holds it", err=True)
        return
    told = f"{lease.by} pid {lease.pid}, run {lease.run}, since {clock_time(lease.since)}"
    typer.echo(f"{node}: taken from {told}; it is free now", err=True)


def quarantine(context: typer.Context, node: Node, why: Why) -> None:
    """Set a node aside: nothing provisions or rebuilds it until `release`."""
    from metalwright.runner import custody

    with _opened(context, node) as (cli, journal):
        custody.quarantine(journal, cli.state_dir, node, why)
    typer.echo(f"{node}: quarantined; `metalwright release {node} --why …` ends it", err=True)


def release(context: typer.Context, node: Node, why: Why) -> None:
    """Let a held or quarantined node be worked on again; the next `provision` makes it what git says.

    A node that was ready when it was quarantined is ready again.
    """
    from metalwright.runner import custody

    with _opened(context, node) as (cli, journal):
        before, now = custody.release(journal, cli.state_dir, node, why)
    if now == "ready":
        proof = f"`metalwright accept {node}` proves it again, which a changed part needs"
        typer.echo(f"{node}: no longer {before}, ready as it was before; {proof}", err=True)
    else:
        typer.echo(f"{node}: no longer {before}; next: `metalwright plan {node}`", err=True)


@contextmanager
def _opened(context: typer.Context, node: str) -> Iterator[tuple[CliContext, Journal]]:
    """The journal, for a node that the inventory or the journal knows.

    Raises:
        UsageError: nobody knows the node.
    """
    cli: CliContext = context.obj
    with open_history(cli) as history:
        if node not in history.declared and history.journal.nodes.get(node) is None:
            known = ", ".join(history.declared)
            raise UsageError("no such node in the inventory or the journal", where=node, hint=f"known nodes: {known}")
        yield cli, history.journal
