"""``metalwright power``: the power of one node, changed by the same deploy that plain pyinfra runs."""

from __future__ import annotations

import asyncio
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from metalwright.cli.confirmation import confirm_interruption
from metalwright.cli.context import CliContext, print_json
from metalwright.errors import AddressError
from metalwright.journal.locks import NodeLock
from metalwright.model.phase import NodeState
from metalwright.runner.bmc_session import open_bmc
from metalwright.runner.calls import pyinfra_call
from metalwright.runner.observe_os import look_at_os
from metalwright.runner.pyinfra_process import run_pyinfra
from metalwright.runner.taking import take_nodes
from metalwright.workspace import Workspace, open_workspace

GRACE_S = 120.0


class PowerAction(StrEnum):
    """What can be asked for."""

    STATUS = "status"
    ON = "on"
    OFF = "off"
    RESTART = "restart"
    CYCLE = "cycle"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("power")(power)


def power(
    context: typer.Context,
    node: Annotated[str, typer.Argument(metavar="NODE", help="A node of the inventory.")],
    action: Annotated[PowerAction, typer.Argument(help="What to do.")] = PowerAction.STATUS,
    force: Annotated[bool, typer.Option("--force", help="Take the power away when the system does not stop.")] = False,
    grace: Annotated[float, typer.Option("--grace", min=0, help="Seconds that the system has to stop.")] = GRACE_S,
    why: Annotated[str, typer.Option("--why", help="The reason; kept in the audit log.")] = "no reason given",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask, also where a workload may run.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show or change the power of a node; what was asked for is proven by what the BMC shows afterwards.

    ``off`` and ``restart`` ask the operating system and wait; ``--force`` takes the power away when it does not stop.
    ``cycle`` asks nobody. Where a workload may run, the node's name must be typed. Event log, sensors and boot state
    are kept in ``.metalwright/evidence`` before anything that disturbs the host.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as workspace:
        workspace.repository.node(node)
        if action is not PowerAction.STATUS:
            _change(cli, workspace, node, action, _data(action, grace, force=force), why, yes=yes)
        seen = asyncio.run(_look(workspace, node))
    if as_json:
        print_json({"schema": 1, "node": node, **seen})
        return
    told = [f"power is {seen['power'] or 'unknown'}"]
    told += [f"last reset {seen['last_reset']}"] if seen["last_reset"] else []
    told += [f"boot: {seen['boot_progress']}"] if seen["boot_progress"] else []
    typer.echo(f"{node}: {', '.join(told)}")


def _data(action: PowerAction, grace_s: float, *, force: bool) -> dict[str, str]:
    """The host data of ``deploys/power.py``."""
    return {"power": action.value, "grace_s": f"{grace_s:g}", "then": "force" if force else "fail"}


def _change(
    cli: CliContext, workspace: Workspace, node: str, action: PowerAction, data: dict[str, str], why: str, *, yes: bool
) -> None:
    with take_nodes(workspace, (node,)) as taken:
        taken.require_all()
        if action is not PowerAction.ON:
            confirm_interruption(cli, node, f"power {action}", _workload(workspace, node), yes=yes)
        run = workspace.journal.runs.start("power", sys.argv[1:])
        workspace.journal.events.act(f"power {action}", why=why, node=node, run=run.id, detail=dict(data))
        try:
            _deploy(workspace, node, run.id, taken.locks[node], data)
        except BaseException as error:  # also Ctrl-C: the run is over
            workspace.journal.runs.finish(run.id, "failed", str(error).partition("\n")[0])
            raise
        workspace.journal.runs.finish(run.id, "ok")


def _deploy(workspace: Workspace, node: str, run: str, lock: NodeLock, data: dict[str, str]) -> None:
    run_pyinfra(pyinfra_call(workspace, node, "power", run=run, lock=lock, data=data))


def _workload(workspace: Workspace, node: str) -> str | None:
    """Why a workload may run on the node, in words, or None where none can."""
    status = workspace.journal.nodes.get(node)
    if status is not None and status.state in (NodeState.READY, NodeState.HELD):
        return f"the journal says {status.state} since {status.since:%Y-%m-%d %H:%M}Z"
    try:
        system = look_at_os(workspace, node)
    except AddressError as error:
        return f"nobody can tell whether a system runs: {error.what}"
    return None if system.kind == "silent" else f"an operating system answers ({system.detail or system.kind})"


async def _look(workspace: Workspace, node: str) -> dict[str, Any]:
    async with open_bmc(workspace, node) as session:
        system = await session.client.find("@system")
    progress = system.get("BootProgress")
    state = progress.get("LastState") if isinstance(progress, dict) else None
    return {
        "power": system.get("PowerState"),
        "last_reset": system.get("LastResetTime"),
        "boot_progress": state if state != "None" else None,
    }
