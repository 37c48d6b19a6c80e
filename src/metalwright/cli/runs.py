"""A durable run on the terminal, from the question before the first write to the table at the end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer
from rich.table import Table

from metalwright.cli.confirmation import confirm_writes
from metalwright.cli.context import CliContext, print_json
from metalwright.cli.held import tell_held
from metalwright.cli.lost_disk import confirm_foreign
from metalwright.cli.plan import print_plan
from metalwright.cli.preconditions import check_preconditions
from metalwright.cli.progress import ProgressLines
from metalwright.cli.selection import overwritten
from metalwright.cli.tables import print_table
from metalwright.errors import MetalwrightError, UsageError
from metalwright.imaging.ordering import cache_dir
from metalwright.imaging.ramdisk import is_ramdisk_built
from metalwright.model.phase import PHASES, Phase
from metalwright.model.plan import Disruption, Plan
from metalwright.model.target import RebuildTarget
from metalwright.planning import check_allowed, check_still_holds, destructive_nodes
from metalwright.runner.known_goods import due_fallback, fallback_of
from metalwright.runner.limits import MaxFail
from metalwright.runner.plans import PlanRequest, issue_grants, observe_plan, ungranted
from metalwright.runner.provisioning import Kind, Outcome, Request, check_images, check_wanted, provision
from metalwright.runner.record import forget_failures
from metalwright.runner.taking import take_nodes
from metalwright.runner.target import at_targets
from metalwright.runner.wiping import disks_by_node
from metalwright.workspace import Workspace

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


@dataclass(frozen=True)
class Asked:
    """What was typed. ``targets`` are what nodes are brought to where git does not pin it."""

    names: tuple[str, ...]
    kind: Kind
    targets: tuple[RebuildTarget, ...] = ()
    overwrite: Sequence[str] = ()
    until: Phase = Phase.READY
    reviewed: Plan | None = None
    allow: Sequence[Disruption] = ()
    undrained: str | None = None
    no_way_back: str | None = None
    max_fail: MaxFail | None = None
    wave: int | None = None
    wipe: Sequence[str] = ()
    is_retry: bool = False
    yes: bool = False
    as_json: bool = False

    def __post_init__(self) -> None:
        """Raise UsageError for a reason without words: it would be all that the audit log has."""
        for option, reason in (("--undrained", self.undrained), ("--no-way-back", self.no_way_back)):
            if reason is not None and not reason.strip():
                raise UsageError(f"{option} wants a reason", where=option, expected="words that the audit log keeps")


def run_to_the_end(cli: CliContext, workspace: Workspace, asked: Asked) -> int:
    """Do it and tell what became of each node; returns the exit code. ``workspace`` is the site as git pins it."""
    outcome = carry_out(cli, workspace, asked)
    tell_outcome(cli, workspace, outcome, until=asked.until, as_json=asked.as_json)
    return 0 if outcome.is_ok else 1


def carry_out(cli: CliContext, workspace: Workspace, asked: Asked) -> Outcome:
    """Do it, and a rebuild whose acceptance fails once more with what was good before; nothing of the end is told.

    ``workspace`` is the site as git pins it.
    """
    fallbacks = _fallbacks(cli, workspace, asked)
    outcome = _run(cli, workspace, asked, fallbacks)
    if asked.kind == "rebuild":
        outcome = _overwrite_confirmed(cli, workspace, asked, fallbacks, outcome)
    again = [target for node in outcome.failures if (target := due_fallback(workspace.journal, node)) is not None]
    if again and asked.kind == "rebuild":
        try:
            outcome = merged(outcome, try_again(cli, workspace, asked, again))
        except MetalwrightError as error:
            cli.err.print(f"the second try did not begin (`metalwright resume` begins it): {error}", markup=False)
    return outcome


def _overwrite_confirmed(
    cli: CliContext, workspace: Workspace, asked: Asked, fallbacks: dict[str, RebuildTarget], outcome: Outcome
) -> Outcome:
    """Go on with the nodes whose foreign disk content a person has seen and lets be destroyed."""
    names = confirm_foreign(cli, outcome.failures, yes=asked.yes)
    if not names:
        return outcome
    second = replace(asked, names=names, overwrite=names, yes=True, is_retry=False)
    second = replace(second, targets=tuple(target for target in asked.targets if target.node in names))
    kept = {node: fallback for node, fallback in fallbacks.items() if node in names}
    try:
        after = _run(cli, workspace, replace(second, wipe=[node for node in asked.wipe if node in names]), kept)
    except MetalwrightError as error:
        cli.err.print(f"the overwriting did not begin; add --overwrite to the same command: {error}", markup=False)
        return outcome
    outcome.failures = {node: failure for node, failure in outcome.failures.items() if node not in names}
    return merged(outcome, after)


def try_again(cli: CliContext, workspace: Workspace, asked: Asked, targets: Sequence[RebuildTarget]) -> Outcome:
    """The second and last try of nodes that were not accepted. It was confirmed with the first."""
    for target in targets:
        told = target.describe(workspace.repository)
        cli.err.print(f"{target.node}: NOT ACCEPTED. Once more, and then no more, with {told}", markup=False)
    names = tuple(target.node for target in targets)
    second = replace(asked, names=names, targets=tuple(targets), yes=True, is_retry=False, wipe=())
    second = replace(second, overwrite=[node for node in asked.overwrite if node in names])
    outcome = _run(cli, workspace, second, {})
    for node in (node for node in names if node in outcome.failures):
        cli.err.print(f"{node}: the second try failed as well; nothing more is tried", markup=False)
    outcome.again = frozenset(names)
    return outcome


def tell_outcome(cli: CliContext, workspace: Workspace, outcome: Outcome, *, until: Phase, as_json: bool) -> None:
    """The table or the JSON at the end, and what has to happen with nodes that are held."""
    if as_json:
        print_json(_as_json(outcome))
    else:
        _print_outcome(cli, outcome)
    if until is Phase.READY:
        tell_held(cli, workspace, [node for node in outcome.nodes if node not in outcome.failures])


def _fallbacks(cli: CliContext, workspace: Workspace, asked: Asked) -> dict[str, RebuildTarget]:
    if asked.kind != "rebuild" or asked.until is not Phase.READY:
        return {}
    named = {target.node: target for target in asked.targets}
    found = {}
    for node in asked.names:
        pinned = RebuildTarget(node=node, blueprint=workspace.repository.node(node).blueprint, source="as git pins")
        fallback = fallback_of(workspace, named.get(node, pinned))
        if fallback is not None:
            found[node] = fallback
            told = fallback.describe(workspace.repository)
            cli.err.print(f"{node}: if its acceptance fails, once more with {told}", markup=False)
    return found


def _run(cli: CliContext, pinned: Workspace, asked: Asked, fallbacks: dict[str, RebuildTarget]) -> Outcome:
    workspace = at_targets(pinned, asked.targets)
    check_wanted(workspace, asked.names, asked.kind)
    may_overwrite = overwritten(asked.overwrite, asked.names)
    with take_nodes(workspace, asked.names) as taken:
        if asked.reviewed is not None:
            taken.require_all()
        arguments = tuple(sys.argv[1:])
        wipe = frozenset(asked.wipe) & frozenset(taken.nodes)
        request = Request(
            taken.nodes, asked.kind, may_overwrite, None, arguments, asked.until, asked.undrained, wipe, fallbacks,
            asked.no_way_back, asked.max_fail, asked.wave,
        )  # fmt: skip
        check_images(workspace, request)
        if taken.nodes:
            if asked.is_retry:
                forget_failures(workspace, taken.nodes)
            plan = _settle_plan(cli, workspace, request, asked)
            request = replace(request, plan=plan.digest)
        if request.reaches_disks and not is_ramdisk_built(cache_dir()):
            cli.err.print("building the deploy ramdisk (once, a minute or two) …")
        return provision(workspace, request, taken, ProgressLines(cli.err, workspace.journal.runs.usual_seconds()))


def _settle_plan(cli: CliContext, workspace: Workspace, request: Request, asked: Asked) -> Plan:
    """The plan as of now, confirmed or reviewed, with a grant for every disk that the request comes to write."""
    cli.err.print(f"looking at {len(request.nodes)} node(s) …")
    current, reviewed = (
        observe_plan(workspace, PlanRequest(request.nodes, request.kind, request.overwrite, request.wipe)),
        asked.reviewed,
    )
    if reviewed is not None:
        check_still_holds(reviewed, current)
        check_allowed(reviewed, asked.allow)
    if not request.reaches_disks:
        return current
    if reviewed is None and destructive_nodes(current) and not asked.as_json:
        print_plan(cli, current)
    if request.kind == "rebuild":
        check_preconditions(cli, workspace, request, current)
    wipes = disks_by_node(workspace, sorted(request.wipe))
    wanted = ungranted(workspace, current, request.kind, request.overwrite, wipes)
    if reviewed is None:
        confirm_writes(cli, wanted, yes=asked.yes, wipes=wipes)
    issue_grants(workspace, current, wanted, "plan" if reviewed is not None else "typed", request.overwrite, wipes)
    return current


def merged(first: Outcome, second: Outcome) -> Outcome:
    """What became of each node of either in the end; where both tried a node, the seconds of both count."""
    failures = {node: failure for node, failure in first.failures.items() if node not in second.again}
    seconds = dict(first.seconds)
    for node, phases in second.seconds.items():
        before = seconds.get(node, {})
        seconds[node] = {name: before.get(name, 0.0) + phases.get(name, 0.0) for name in {**before, **phases}}
    return Outcome({**first.runs, **second.runs}, seconds, {**failures, **second.failures}, first.again | second.again)


def _print_outcome(cli: CliContext, outcome: Outcome) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("node", "result", "seconds", "slowest phase", "why"):
        table.add_column(name, overflow="fold")
    for node in outcome.nodes:
        seconds, failure = outcome.seconds.get(node, {}), outcome.failures.get(node)
        slowest = max(seconds, key=lambda name: seconds[name], default="")
        told = f"{slowest} {seconds[slowest]:.0f} s" if slowest else ""
        good = "ok, by its second try" if node in outcome.again else "ok"
        result, why = (good, "") if failure is None else ("FAILED", failure.what)
        table.add_row(node, result, f"{sum(seconds.values()):.0f}", told, why)
    print_table(cli.out, table)


def _as_json(outcome: Outcome) -> dict[str, object]:
    return {
        "schema": 1,
        "nodes": [
            {
                "node": node,
                "run": outcome.runs.get(node),
                "result": "failed" if node in outcome.failures else "ok",
                "second_try": node in outcome.again,
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
