"""``metalwright sel``: the event logs of one node, newest last, whoever made the BMC and wherever it keeps them."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.history import print_columns
from metalwright.errors import BmcAnswerError, UsageError
from metalwright.redfish.event_logs import LogEntry, order_of
from metalwright.runner.bmc_session import open_bmc
from metalwright.runner.calls import pyinfra_call
from metalwright.runner.pyinfra_process import run_pyinfra
from metalwright.runner.taking import take_nodes
from metalwright.workspace import Workspace, open_workspace

NEWEST = 100


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sel")(sel)


def sel(
    context: typer.Context,
    node: Annotated[str, typer.Argument(metavar="NODE", help="A node of the inventory.")],
    newest: Annotated[int, typer.Option("--newest", "-n", min=1, help="How many entries of each log.")] = NEWEST,
    clear: Annotated[bool, typer.Option("--clear", help="Clear the logs; they are kept as evidence first.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before clearing.")] = False,
    why: Annotated[str, typer.Option("--why", help="The reason for clearing; kept in the audit log.")] = (
        "no reason given"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the event logs of a node, newest entry last. Consoles, dumps and audit logs are left out.

    ``--clear`` empties them, after what was in them was written to ``.metalwright/evidence``.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as workspace:
        workspace.repository.node(node)
        if clear:
            _clear(cli, workspace, node, why, yes=yes)
        entries, problems = asyncio.run(_read(workspace, node, newest))
    for problem in problems:
        cli.err.print(problem, markup=False)
    if as_json:
        listed = [asdict(entry) for entry in entries]
        print_json({"schema": 1, "node": node, "entries": listed, "problems": problems})
        return
    rows = [(entry.at or "-", entry.log, entry.severity or "-", entry.message) for entry in entries]
    print_columns(("time", "log", "severity", "message"), rows)


async def _read(workspace: Workspace, node: str, newest: int) -> tuple[list[LogEntry], list[str]]:
    entries: list[LogEntry] = []
    async with open_bmc(workspace, node) as session:
        found = await session.client.find("@event-logs")
        problems: list[str] = list(found["problems"])
        for log in found["logs"]:
            entries += await session.client.event_log(log["name"], log["entries_uri"], newest, problems)
    if not found["logs"] and problems:
        raise BmcAnswerError(
            "no event log could be read",
            where=node,
            found="; ".join(problems),
            hint="try again; if it stays so, restart the BMC",
        )
    if not found["logs"]:
        problems.append(f"{node}: this BMC shows no event log")
    return sorted(entries, key=order_of), problems


def _clear(cli: CliContext, workspace: Workspace, node: str, why: str, *, yes: bool) -> None:
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("clearing event logs needs a confirmation", where=node, hint="add --yes")
        typer.confirm(f"Clear the event logs of {node}?", abort=True, err=True)
    with take_nodes(workspace, (node,)) as taken:
        taken.require_all()
        run = workspace.journal.runs.start("sel", sys.argv[1:])
        workspace.journal.events.act("event logs cleared", why=why, node=node, run=run.id)
        try:
            run_pyinfra(pyinfra_call(workspace, node, "clear_log", run=run.id, lock=taken.locks[node]))
        except BaseException as error:  # also Ctrl-C: the run is over
            workspace.journal.runs.finish(run.id, "failed", str(error).partition("\n")[0])
            raise
        workspace.journal.runs.finish(run.id, "ok")
    cli.err.print(f"{node}: event logs cleared; what was in them is in .metalwright/evidence/{run.id}", markup=False)
