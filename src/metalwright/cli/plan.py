"""``metalwright plan``: what would change, in order, with its cost; and the grant for what it destroys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from metalwright.cli.confirmation import confirm_writes
from metalwright.cli.context import CliContext, print_json
from metalwright.cli.selection import overwritten, select_nodes
from metalwright.cli.tables import print_table
from metalwright.errors import UsageError
from metalwright.estimation import interruption_of
from metalwright.loading import write_atomically
from metalwright.model.digests import canonical_json
from metalwright.model.plan import Change, Estimate, Interruption, NodePlan, Plan
from metalwright.runner.plans import PlanRequest, issue_grants, observe_plan, ungranted
from metalwright.runner.provisioning import Kind
from metalwright.runner.target import Wish, at_targets, choose_target
from metalwright.runner.wiping import disks_by_node
from metalwright.workspace import open_workspace


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan)


def plan(
    context: typer.Context,
    nodes: Annotated[list[str] | None, typer.Argument(help="Nodes to plan.")] = None,
    rack: Annotated[str | None, typer.Option(help="All nodes of a rack.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the plan as JSON.")] = None,
    grant: Annotated[bool, typer.Option("--grant", help="Allow the planned disks to be written, for 4 hours.")] = False,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Plan a rebuild: the disk is written again.")] = False,
    overwrite: Annotated[
        list[str] | None, typer.Option(help="Node whose foreign disk content may be destroyed; repeat for more.")
    ] = None,
    wipe: Annotated[bool, typer.Option("--wipe", help="With --rebuild: every disk is erased first.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --grant: do not ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Show every change that provision would make, disruptive or not, without changing anything.

    Observes BMC and operating system of each node. With --grant, what it destroys may then be written by plain
    pyinfra, or by provision.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as workspace:
        names = select_nodes(workspace.repository, nodes or [], rack)
        may_overwrite = overwritten(overwrite, names)
        kind: Kind = "rebuild" if rebuild else "provision"
        if rebuild:
            workspace = at_targets(workspace, [choose_target(workspace, node, Wish()) for node in names])
        if wipe and not rebuild:
            raise UsageError("--wipe belongs to a rebuild", expected="--rebuild with it")
        made = observe_plan(workspace, PlanRequest(names, kind, may_overwrite, frozenset(names if wipe else ())))
        if out is not None:
            write_atomically(out, canonical_json(made) + b"\n")
        if as_json:
            print_json(made)
        else:
            print_plan(cli, made)
        if grant:
            wipes = disks_by_node(workspace, names if wipe else ())
            wanted = ungranted(workspace, made, kind, may_overwrite, wipes)
            confirm_writes(cli, wanted, yes=yes, wipes=wipes)
            for item in issue_grants(workspace, made, wanted, "typed", may_overwrite, wipes):
                cli.err.print(f"granted: {item.node} may be written until {item.expires:%Y-%m-%d %H:%MZ} ({item.id})")
    return 0


def print_plan(cli: CliContext, made: Plan) -> None:
    """The plan as a table, one line a change."""
    table = Table(box=None, pad_edge=False)
    for name in ("node", "phase", "change", "from", "to", ""):
        table.add_column(name, overflow="fold")
    for item in made.nodes:
        for change in item.changes:
            mark = _interrupts(change)
            table.add_row(item.node, change.phase, change.what, _short(change.from_), _short(change.to), mark)
        for refusal in item.refusals:
            table.add_row(item.node, *refusal.split(": ", 1), "", "", "WOULD STOP")
        for unknown in item.unknown:
            table.add_row(item.node, *unknown.split(": ", 1), "", "", "unknown yet")
        if not (item.changes or item.refusals or item.unknown):
            table.add_row(item.node, "", "nothing to do", "", "", "")
    print_table(cli.out, table)
    for item in made.nodes:
        if item.is_destructive:
            cli.out.print(f"\n{item.node}: {_written(item)}", markup=False)
    for item in made.nodes:
        if item.estimate.phases:
            cli.out.print(f"\n{item.node}: {_cost(item.estimate)}", markup=False)
    reboots = sum(item.estimate.reboots or 0 for item in made.nodes)
    writes = sum(item.is_destructive for item in made.nodes)
    cli.out.print(f"\n{len(made.nodes)} node(s), {writes} disk(s) written, {reboots} reboot(s); plan {made.digest}")


def _interrupts(change: Change) -> str:
    """What the workload notices of one change."""
    interruption = interruption_of(change)
    if interruption is Interruption.NONE:
        return ""
    return f"DISRUPTIVE: {interruption}" if change.disruptive else interruption.value


def _cost(cost: Estimate) -> str:
    """Minutes by phase, from the journal; a phase that was never done on this class makes the whole unknown."""
    if all(item.minutes is None for item in cost.phases):
        return "takes an unknown time: none of its phases was ever done here on a node of this class"
    parts = [
        f"{item.phase} {_minutes(item.minutes)}" + (f" (median of {item.times})" if item.times else "")
        for item in cost.phases
    ]
    return f"takes {_minutes(cost.minutes)}: {', '.join(parts)}"


def _minutes(minutes: float | None) -> str:
    return "an unknown time" if minutes is None else f"about {minutes:g} min"


def _written(item: NodePlan) -> str:
    """Which disk of which machine is written, in the words of its sticker."""
    machine = item.identity
    keys = (("serial", machine.serial), ("UUID", machine.uuid), ("BMC MAC", machine.bmc_mac))
    told = ", ".join(f"{name} {value}" for name, value in keys if value is not None)
    disk = f"disk {item.disk_serial}" if item.disk_serial is not None else "the disk that the ramdisk finds by its rule"
    return f"writes {disk} of the machine with {told}"


def _short(text: str | None) -> str:
    if text is None:
        return ""
    return f"{text[:19]}…" if text.startswith("sha256:") else text
