"""The preconditions of a rebuild on screen: one table, before anything is asked or done."""

from __future__ import annotations

from rich.table import Table

from metalwright.cli.context import CliContext
from metalwright.cli.tables import print_table
from metalwright.errors import PlanError
from metalwright.model.plan import Plan
from metalwright.runner.preconditions import preconditions
from metalwright.runner.provisioning import Request
from metalwright.workspace import Workspace


def check_preconditions(cli: CliContext, workspace: Workspace, request: Request, plan: Plan) -> None:
    """Print what was found, and refuse where one of them does not hold.

    Raises:
        PlanError: names the node and the precondition; nothing was done.
    """
    table = Table(box=None, pad_edge=False)
    for name in ("node", "before a rebuild", "", "found"):
        table.add_column(name, overflow="fold")
    found = [item for node in plan.nodes for item in preconditions(workspace, request, node)]
    for item in found:
        table.add_row(item.node, item.what, item.verdict, item.told)
    print_table(cli.err, table)
    broken = next((item for item in found if item.verdict == "NO"), None)
    if broken is not None:
        raise PlanError(
            f"a precondition of the rebuild does not hold: {broken.what}",
            where=broken.node,
            found=broken.told,
            hint="nothing was done; repair it, then the same command again",
        )
