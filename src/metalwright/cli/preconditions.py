"""The preconditions of a rebuild on screen, a line each, before anything is asked or done."""

from __future__ import annotations

from metalwright.cli.context import CliContext
from metalwright.errors import PlanError
from metalwright.model.plan import Plan
from metalwright.runner.preconditions import Precondition, preconditions
from metalwright.runner.provisioning import Request
from metalwright.workspace import Workspace


def check_preconditions(cli: CliContext, workspace: Workspace, request: Request, plan: Plan) -> None:
    """Print what was found, and refuse where one of them does not hold.

    Raises:
        PlanError: names the node and the precondition; nothing was done.
    """
    found: list[Precondition] = []
    for node in plan.nodes:
        cli.err.print(f"before the rebuild of {node.node}:", markup=False)
        for item in preconditions(workspace, request, node):
            cli.err.print(f"  {item.verdict:<5} {item.what:<18} {item.told}", markup=False)
            found.append(item)
    broken = next((item for item in found if item.verdict == "NO"), None)
    if broken is not None:
        raise PlanError(
            f"a precondition of the rebuild does not hold: {broken.what}",
            where=broken.node,
            found=broken.told,
            hint="nothing was done; repair it, then the same command again",
        )
