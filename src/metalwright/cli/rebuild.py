"""``metalwright rebuild``, ``rollback`` and ``resume``: the way back to a known image, and on from an interruption."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from metalwright.cli.context import CliContext
from metalwright.cli.lost_disk import accept_new_disks
from metalwright.cli.runs import (
    AsJson,
    Asked,
    Overwrite,
    Retry,
    Undrained,
    Yes,
    carry_out,
    merged,
    run_to_the_end,
    tell_outcome,
    try_again,
)
from metalwright.cli.selection import select_nodes
from metalwright.errors import MetalwrightError
from metalwright.journal.writers import person
from metalwright.model.phase import Phase
from metalwright.review.policies import rebuild_refusal
from metalwright.runner.known_goods import due_fallback, plan_rollback
from metalwright.runner.plans import granted_overwrites, granted_wipes
from metalwright.runner.provisioning import Outcome
from metalwright.runner.provisioning import unfinished_nodes as find_unfinished
from metalwright.runner.target import Wish, at_targets, begun_targets, choose_target
from metalwright.runner.turn import failure_from
from metalwright.workspace import Workspace, open_workspace


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("rebuild")(rebuild_command)
    app.command("rollback")(rollback_command)
    app.command("resume")(resume_command)


def rebuild_command(
    context: typer.Context,
    nodes: Annotated[list[str], typer.Argument(help="Nodes to bring back to a known image.")],
    blueprint: Annotated[
        str | None, typer.Option(metavar="NAME@VERSION", help="Bring them to this blueprint instead.")
    ] = None,
    image: Annotated[str | None, typer.Option(metavar="NAME@VERSION", help="Write this image instead.")] = None,
    until: Annotated[Phase, typer.Option(help="Stop after this phase.")] = Phase.READY,
    overwrite: Overwrite = None,
    wipe: Annotated[
        bool,
        typer.Option("--wipe/--keep-data", help="Erase every disk first, with proof; or leave data disks alone."),
    ] = False,
    new_disk: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SERIAL",
            help="Serial number of a drive that replaced the system disk of the rack file; repeat for more.",
        ),
    ] = None,
    undrained: Undrained = None,
    retry: Retry = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> int:
    """Write a node's system disk again with what was last good on it; other disks are left alone.

    A node that may carry work is drained first by the site's hook (`hooks` in site.yaml), and given back when ready.

    The target is what it was last accepted with (journal, else known-good.lock), else an image that its blueprint
    lists as known good, else what git pins. A node that is not what git pins then is `held`: provision skips it until
    git pins the same, or `release`.

    A new system disk that the rack file does not name yet is shown, confirmed by its serial number (typed, or
    --new-disk), and written into the rack file for a review. A disk that is neither blank nor carries our stamp is
    overwritten only after its content was shown and `overwrite NODE` was typed, or with --overwrite NODE.

    With --wipe every fixed disk is erased before, each proven, and a signed record is kept; what cannot be proven
    erased fails. It is asked for when a node goes to another customer (`customer` in the rack file).
    """
    cli: CliContext = context.obj
    with ExitStack() as stack:
        workspace = stack.enter_context(open_workspace(cli.site))
        names = select_nodes(workspace.repository, nodes, None)
        refusal = rebuild_refusal(workspace.repository.policies, person())
        if refusal is not None:
            raise refusal
        if accept_new_disks(cli, workspace, names, new_disk or ()):
            workspace = stack.enter_context(open_workspace(cli.site))
        targets = tuple(choose_target(workspace, node, Wish(blueprint, image)) for node in names)
        for target in targets:
            cli.err.print(f"{target.node}: to {target.describe(workspace.repository)}", markup=False)
        asked = Asked(names, "rebuild", targets, overwrite or (), until, undrained=undrained)
        asked = replace(asked, wipe=names if wipe else ())
        return run_to_the_end(cli, workspace, replace(asked, is_retry=retry, yes=yes, as_json=as_json))


def resume_command(
    context: typer.Context,
    until: Annotated[Phase, typer.Option(help="Stop after this phase.")] = Phase.READY,
    yes: Yes = False,
    as_json: AsJson = False,
) -> int:
    """Take up every run that did not finish: the same as running its command again."""
    cli: CliContext = context.obj
    with open_workspace(cli.site) as workspace:
        again = [target for node in _names(workspace) if (target := due_fallback(workspace.journal, node)) is not None]
        unfinished = find_unfinished(workspace)
        if not unfinished and not again:
            cli.err.print("nothing to resume: every run has finished")
        outcome = Outcome()
        for kind, names in unfinished.items():
            asked = Asked(names, kind, until=until, yes=yes, as_json=as_json)
            outcome = merged(outcome, _taken_up(cli, names, partial(_go_on, cli, workspace, asked)))
        if again:
            asked = Asked(tuple(target.node for target in again), "rebuild", until=until, as_json=as_json)
            second_try = partial(try_again, cli, workspace, asked, again)
            outcome = merged(outcome, _taken_up(cli, asked.names, second_try))
        if as_json or outcome.nodes:
            tell_outcome(cli, workspace, outcome, until=until, as_json=as_json)
        return 0 if outcome.is_ok else 1


def _go_on(cli: CliContext, workspace: Workspace, asked: Asked) -> Outcome:
    """Go on with unfinished runs towards what they were begun for, with what was allowed then."""
    targets = begun_targets(workspace, asked.names)
    begun = at_targets(workspace, targets)
    overwrite = sorted(granted_overwrites(begun, asked.names, asked.kind))
    wipe = sorted(granted_wipes(begun, asked.names, asked.kind))
    return carry_out(cli, workspace, replace(asked, targets=targets, overwrite=overwrite, wipe=wipe))


def _taken_up(cli: CliContext, names: tuple[str, ...], take_up: Callable[[], Outcome]) -> Outcome:
    """What became of these nodes; what could not begin is said, and keeps no other run from being taken up."""
    try:
        return take_up()
    except MetalwrightError as error:
        cli.err.print(f"{' '.join(names)}: not taken up: {error}", markup=False)
        return Outcome(failures={node: failure_from(error) for node in names})


def rollback_command(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="A run; `metalwright journal` lists them.")],
    until: Annotated[Phase, typer.Option(help="Stop after this phase.")] = Phase.READY,
    overwrite: Overwrite = None,
    undrained: Undrained = None,
    retry: Retry = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> int:
    """Bring the nodes that a run changed back to what was accepted on them before it: a rebuild of all of them.

    Nodes that the run did not change, that another run changed since, or that have nothing to go back to are listed
    with the reason and left alone. It asks once, with the whole list.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as workspace:
        found = plan_rollback(workspace, run)
        for target in found.targets:
            cli.err.print(f"{target.node}: back to {target.describe(workspace.repository)}", markup=False)
        for node, why in found.skipped.items():
            cli.err.print(f"{node}: left alone: {why}", markup=False)
        names = tuple(target.node for target in found.targets)
        if not names:
            cli.err.print(f"nothing to roll back of run {run}", markup=False)
            return 0
        asked = Asked(names, "rebuild", found.targets, overwrite or (), until, undrained=undrained)
        return run_to_the_end(cli, workspace, replace(asked, is_retry=retry, yes=yes, as_json=as_json))


def _names(workspace: Workspace) -> tuple[str, ...]:
    return tuple(node.name for node in workspace.repository.nodes())
