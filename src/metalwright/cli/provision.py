"""``metalwright provision``: the durable run that makes nodes what git says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from metalwright.cli.context import CliContext
from metalwright.cli.runs import AsJson, Asked, Overwrite, Retry, Undrained, Yes, run_to_the_end
from metalwright.cli.selection import select_nodes
from metalwright.errors import PlanError, UsageError
from metalwright.loading.files import MAX_FLEET_FILE_BYTES, read_bytes
from metalwright.model.phase import Phase
from metalwright.model.plan import Disruption, Plan
from metalwright.planning import verify_digest
from metalwright.runner.limits import MaxFail
from metalwright.runner.provisioning import left_alone
from metalwright.workspace import Workspace, open_workspace


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("provision")(provision_command)


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
    no_way_back: Annotated[
        str | None, typer.Option(metavar="WHY", help="Go on though a node's last good image is gone; audited.")
    ] = None,
    max_fail: Annotated[
        str | None,
        typer.Option(
            metavar="N|N%", help="Stop the other nodes at their next safe point once more than so many failed."
        ),
    ] = None,
    wave: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Finish so many nodes before the next are begun.")
    ] = None,
    retry: Retry = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> int:
    """Bring nodes to ready, phase by phase. Running it again is resuming it; a ready node is not changed.

    Disks are written only after a typed confirmation, --yes, or with a reviewed plan. A plan that holds reboots or
    written disks needs --allow reboot and --allow re-image.
    """
    cli: CliContext = context.obj
    most = MaxFail.of_text(max_fail) if max_fail is not None else None
    with open_workspace(cli.site) as workspace:
        if plan is not None:
            reviewed = _read_plan(plan)
            names = tuple(item.node for item in reviewed.nodes)
            if nodes or rack:
                raise UsageError("a plan names its nodes", expected="either nodes or --plan FILE")
            asked = Asked(names, "provision", reviewed=reviewed, allow=allow or ())
        else:
            if allow:
                raise UsageError("--allow belongs to a plan", expected="--plan FILE with it")
            names = select_nodes(workspace.repository, nodes or [], rack)
            asked = Asked(_without_left_alone(cli, workspace, names, nodes or []), "provision", yes=yes)
        asked = replace(asked, overwrite=overwrite or (), until=until, undrained=undrained, no_way_back=no_way_back)
        asked = replace(asked, max_fail=most, wave=wave)
        return run_to_the_end(cli, workspace, replace(asked, is_retry=retry, as_json=as_json))


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
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise PlanError(
            "this is no plan",
            where=str(path),
            expected="a file that `metalwright plan -o FILE` of this version wrote",
            found=f"{place}: {first['msg']}" if place else first["msg"],
            hint="make it again: metalwright plan NODE -o FILE",
        ) from error
    verify_digest(plan)
    return plan
