"""``metalwright provision``, ``rebuild`` and ``resume``: the durable run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.table import Table

from metalwright.cli.confirmation import confirm_writes
from metalwright.cli.context import CliContext, print_json
from metalwright.cli.held import tell_held
from metalwright.cli.plan import print_plan
from metalwright.cli.preconditions import check_preconditions
from metalwright.cli.progress import ProgressLines
from metalwright.cli.selection import overwritten, select_nodes
from metalwright.errors import PlanError, UsageError
from metalwright.imaging.ordering import cache_dir
from metalwright.imaging.ramdisk import is_ramdisk_built
from metalwright.loading.files import MAX_FLEET_FILE_BYTES, read_bytes
from metalwright.model.phase import PHASES, Phase
from metalwright.model.plan import Disruption, Plan
from metalwright.planning import check_allowed, check_still_holds, destructive_nodes, verify_digest
from metalwright.runner.plans import PlanRequest, granted_overwrites, issue_grants, observe_plan, ungranted
from metalwright.runner.provisioning import Kind, Outcome, Request, check_images, check_wanted, left_alone, provision
from metalwright.runner.provisioning import unfinished_nodes as find_unfinished
from metalwright.runner.record import forget_failures
from metalwright.runner.taking import take_nodes
from metalwright.runner.target import Wish, as_begun, at_targets, choose_target
from metalwright.workspace import Workspace, open_workspace

Overwrite = Annotated[
    list[str] | None, typer.Option(help="Node whose foreign disk content may be destroyed; repeat for more.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before disks are written.")]
Retry = Annotated[
    bool, typer.Option("--retry", help="Act again although the same failed twice; kept in the audit log.")
]
Undrained = Annotated[
    str | None,
    typer.Option(metavar="REASON", help="Do not drain the nodes first; the reason is kept in the audit log."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("provision")(provision_command)
    app.command("rebuild")(rebuild_command)
    app.command("resume")(resume_command)


def provision_command(
    context: typer.Context,
    nodes: Annotated[list[str] | None, typer.Argument(help="Nodes to provision.")] = None,
    rack: Annotated[str | None, typer.Option(help="All nodes of a rack.")] = None,
    plan: Annotated[Path | None, typer.Option(help="Do exactly this reviewed plan, or refuse.")] = None,
    allow: Annotated[
        list[Disruption] | None, typer.Option(help="With --plan: a disruption that it may make; repeat for more.")
    ] = None,
    until: Annotated[Phase, typer.Option(help="Stop after this phase.")] = Phase.READY,
    overwrite: Overwrite = None,
    undrained: Undrained = None,
    retry: Retry = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> int:
    """Bring nodes to ready, phase by phase. Running it again is resuming it; a ready node is not changed.

    Disks are written only after a typed confirmation, --yes, or with a reviewed plan. A plan that holds reboots or
    written disks needs --allow reboot and --allow re-image.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as workspace:
        if plan is not None:
            reviewed = _read_plan(plan)
            names = tuple(item.node for item in reviewed.nodes)
            if nodes or rack:
                raise UsageError("a plan names its nodes", expected="either nodes or --plan FILE")
            return _run(
                cli, workspace, names, "provision", overwrite,
                until=until, reviewed=reviewed, allow=allow or (), undrained=undrained, is_retry=retry,
                as_json=as_json,
            )  # fmt: skip
        if allow:
            raise UsageError("--allow belongs to a plan", expected="--plan FILE with it")
        names = select_nodes(workspace.repository, nodes or [], rack)
        names = _without_left_alone(cli, workspace, names, nodes or [])
        return _run(
            cli, workspace, names, "provision", overwrite,
            until=until, undrained=undrained, is_retry=retry, yes=yes, as_json=as_json,
        )  # fmt: skip


def rebuild_command(
    context: typer.Context,
    nodes: Annotated[list[str], typer.Argument(help="Nodes to bring back to a known image.")],
    blueprint: Annotated[
        str | None, typer.Option(metavar="NAME@VERSION", help="Bring them to this blueprint instead.")
    ] = None,
    image: Annotated[str | None, typer.Option(metavar="NAME@VERSION", help="Write this image instead.")] = None,
    until: Annotated[Phase, typer.Option(help="Stop after this phase.")] = Phase.READY,
    overwrite: Overwrite = None,
    undrained: Undrained = None,
    retry: Retry = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> int:
    """Write a node's system disk again with what was last good on it; other disks are left alone.

    A node that may carry work is drained first by the site's hook (`hooks` in site.yaml), and given back when ready.

    The target is what it was last accepted with (journal, else known-good.lock), else an image that its blueprint
    lists as known good, else what git pins. A node that is not what git pins then is `held`: provision skips it until
    git pins the same, or `release`. A disk that does not carry our stamp any more (a destroyed one) needs
    --overwrite NODE.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as workspace:
        names = select_nodes(workspace.repository, nodes, None)
        targets = [choose_target(workspace, node, Wish(blueprint, image)) for node in names]
        for target in targets:
            cli.err.print(f"{target.node}: to {target.describe(workspace.repository)}", markup=False)
        aimed = at_targets(workspace, targets)
        return _run(
            cli, aimed, names, "rebuild", overwrite,
            until=until, undrained=undrained, is_retry=retry, yes=yes, as_json=as_json,
        )  # fmt: skip


def resume_command(
    context: typer.Context,
    until: Annotated[Phase, typer.Option(help="Stop after this phase.")] = Phase.READY,
    yes: Yes = False,
    as_json: AsJson = False,
) -> int:
    """Take up every run that did not finish: the same as running its command again."""
    cli: CliContext = context.obj
    with open_workspace(cli.site) as workspace:
        unfinished = find_unfinished(workspace)
        if not unfinished:
            cli.err.print("nothing to resume: every run has finished")
            return 0
        codes = []
        for kind, names in unfinished.items():
            aimed = as_begun(workspace, names)
            overwrite = sorted(granted_overwrites(aimed, names, kind))
            codes.append(_run(cli, aimed, names, kind, overwrite, until=until, yes=yes, as_json=as_json))
        return max(codes)


def _run(
    cli: CliContext,
    workspace: Workspace,
    names: tuple[str, ...],
    kind: Kind,
    overwrite: Sequence[str] | None,
    *,
    until: Phase = Phase.READY,
    reviewed: Plan | None = None,
    allow: Sequence[Disruption] = (),
    undrained: str | None = None,
    is_retry: bool = False,
    yes: bool = False,
    as_json: bool = False,
) -> int:
    check_wanted(workspace, names, kind)
    may_overwrite = overwritten(overwrite, names)
    with take_nodes(workspace, names) as taken:
        if reviewed is not None:
            taken.require_all()
        request = Request(taken.nodes, kind, may_overwrite, None, tuple(sys.argv[1:]), until, undrained)
        check_images(workspace, request)
        if taken.nodes:
            if is_retry:
                forget_failures(workspace, taken.nodes)
            plan = _settle_plan(cli, workspace, request, reviewed, allow, yes=yes, as_json=as_json)
            request = replace(request, plan=plan.digest)
        if request.reaches_disks and not is_ramdisk_built(cache_dir()):
            cli.err.print("building the deploy ramdisk (once, a minute or two) …")
        outcome = provision(workspace, request, taken, ProgressLines(cli.err))
    if as_json:
        print_json(_as_json(outcome))
    else:
        _print_outcome(cli, outcome)
    if until is Phase.READY:
        tell_held(cli, workspace, [node for node in outcome.nodes if node not in outcome.failures])
    return 0 if outcome.is_ok else 1


def _settle_plan(
    cli: CliContext,
    workspace: Workspace,
    request: Request,
    reviewed: Plan | None,
    allow: Sequence[Disruption],
    *,
    yes: bool,
    as_json: bool,
) -> Plan:
    """The plan as of now, confirmed or reviewed, with a grant for every disk that the request comes to write."""
    cli.err.print(f"looking at {len(request.nodes)} node(s) …")
    current = observe_plan(workspace, PlanRequest(request.nodes, request.kind, request.overwrite))
    if reviewed is not None:
        check_still_holds(reviewed, current)
        check_allowed(reviewed, allow)
    if not request.reaches_disks:
        return current
    if reviewed is None and destructive_nodes(current) and not as_json:
        print_plan(cli, current)
    if request.kind == "rebuild" and request.nodes:
        check_preconditions(cli, workspace, request, current)
    wanted = ungranted(workspace, current, request.kind, request.overwrite)
    if reviewed is None:
        confirm_writes(cli, wanted, yes=yes)
    issue_grants(workspace, current, wanted, "plan" if reviewed is not None else "typed", request.overwrite)
    return current


def _without_left_alone(
    cli: CliContext, workspace: Workspace, names: tuple[str, ...], named: Sequence[str]
) -> tuple[str, ...]:
    """Leave out the nodes of a rack that nobody may work on; one that was named is refused later, with the reason."""
    alone = {name: why for name in names if name not in named and (why := left_alone(workspace, name)) is not None}
    for name, why in alone.items():
        cli.err.print(f"skipped: {name} is to be left alone ({why})")
    return tuple(name for name in names if name not in alone)


def _read_plan(path: Path) -> Plan:
    try:
        plan = Plan.model_validate_json(read_bytes(path, root=None, max_bytes=MAX_FLEET_FILE_BYTES))
    except ValidationError as error:
        raise PlanError("the plan cannot be read", where=str(path), found=str(error).splitlines()[0]) from error
    verify_digest(plan)
    return plan


def _print_outcome(cli: CliContext, outcome: Outcome) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("node", "result", "seconds", "slowest phase", "why"):
        table.add_column(name, overflow="fold")
    for node in outcome.nodes:
        seconds, failure = outcome.seconds.get(node, {}), outcome.failures.get(node)
        slowest = max(seconds, key=lambda name: seconds[name], default="")
        told = f"{slowest} {seconds[slowest]:.0f} s" if slowest else ""
        result, why = ("ok", "") if failure is None else ("FAILED", failure.what)
        table.add_row(node, result, f"{sum(seconds.values()):.0f}", told, why)
    cli.out.print(table)


def _as_json(outcome: Outcome) -> dict[str, object]:
    return {
        "schema": 1,
        "nodes": [
            {
                "node": node,
                "run": outcome.runs.get(node),
                "result": "failed" if node in outcome.failures else "ok",
                "phases": [
                    {"name": phase, "seconds": outcome.seconds[node][phase]}
                    for phase in PHASES
                    if phase in outcome.seconds.get(node, {})
                ],
                "failure": _failure_json(outcome, node),
            }
            for node in outcome.nodes
        ],
    }


def _failure_json(outcome: Outcome, node: str) -> dict[str, str | None] | None:
    failure = outcome.failures.get(node)
    if failure is None:
        return None
    return {
        "code": failure.code,
        "what": failure.what,
        "expected": failure.expected,
        "found": failure.found,
        "hint": failure.hint,
    }
