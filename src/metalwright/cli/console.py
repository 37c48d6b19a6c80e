"""``metalwright console``: the serial console of a node: followed in the lab, else the command that opens it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from metalwright.cli.context import CliContext, print_json
from metalwright.errors import BmcAnswerError
from metalwright.model.rack import Node
from metalwright.redfish.consoles import ConsoleWay, console_ways
from metalwright.runner.bmc_session import open_bmc
from metalwright.simulator.lab import Lab
from metalwright.workspace import Workspace, open_workspace

LAB_DIRECTORY = "lab"
POLL_S = 0.2
TAIL_LINES = 50


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("console")(console)


def console(
    context: typer.Context,
    node: Annotated[str, typer.Argument(metavar="NODE", help="A node of the inventory.")],
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="Lines of the lab's log to begin with.")] = (
        TAIL_LINES
    ),
    follow: Annotated[bool, typer.Option("--follow/--no-follow", help="Go on until Ctrl-C (lab).")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the ways to the console as JSON.")] = False,
) -> None:
    """Show the serial console of a node of the lab, or print the command that opens it, from what the BMC offers.

    The password is the one of the BMC account; it is not printed.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as workspace:
        declared = workspace.repository.node(node)
        log = _lab_console(cli, declared)
        ways = [] if log is not None else asyncio.run(_ways(workspace, node))
    if as_json:
        print_json({"schema": 1, "node": node, "log": str(log) if log else None, "ways": [_plain(way) for way in ways]})
        return
    if log is not None:
        cli.err.print(f"console of the virtual machine, {log}{' (Ctrl-C ends)' if follow else ''}", markup=False)
        for line in _lines(log, lines, follow=follow):
            typer.echo(line)
        return
    if not ways:
        raise BmcAnswerError(
            "this BMC tells no way to the serial console",
            where=node,
            expected="SerialConsole of the system or manager, or a CommandShell, switched on",
            found="none",
            hint="switch on SSH or serial over LAN on the BMC, or use its web page",
        )
    for way in ways:
        typer.echo(way.command)
        for name, text in (("then type", way.then), ("leave with", way.leave), ("note", way.note)):
            if text:
                cli.err.print(f"  {name}: {text}", markup=False)


def _plain(way: ConsoleWay) -> dict[str, str]:
    return {"kind": way.kind, "command": way.command, "then": way.then, "leave": way.leave, "note": way.note}


def _lab_console(cli: CliContext, node: Node) -> Path | None:
    """The console log of the lab machine that is this node, where the site has a lab."""
    directory = cli.state_dir / LAB_DIRECTORY
    if not directory.exists():
        return None
    machines = Lab(directory).status().machines
    return next((Path(machine.console) for machine in machines if machine.serial == node.serial), None)


async def _ways(workspace: Workspace, node: str) -> list[ConsoleWay]:
    async with open_bmc(workspace, node) as session:
        system = await session.client.find("@system")
        manager = await session.client.find("@manager")
        user = session.login.credentials.username if session.login is not None else workspace.repository.site.bmc_user
        return console_ways(system, manager, session.place.host, user)


def _lines(log: Path, last: int, *, follow: bool) -> Iterator[str]:
    """Yield the last lines of a growing file, then what is added; control characters are shown as blanks."""
    with log.open("rb") as file:
        text = file.read().decode("utf-8", "replace")
        *whole, rest = text.split("\n")
        yield from (_clean(line) for line in whole[len(whole) - min(last, len(whole)) :])
        while follow:
            chunk = file.read().decode("utf-8", "replace")
            if not chunk:
                time.sleep(POLL_S)
                continue
            *whole, rest = (rest + chunk).split("\n")
            yield from (_clean(line) for line in whole)
    if rest:
        yield _clean(rest)


def _clean(line: str) -> str:
    return "".join(character if character.isprintable() or character == "\t" else " " for character in line).rstrip()
