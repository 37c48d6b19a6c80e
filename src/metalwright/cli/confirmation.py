"""The typed confirmation before disks are written: it names what goes, and a habit of pressing Enter does not pass."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import typer

from metalwright.cli.context import CliContext
from metalwright.errors import GrantError, UsageError
from metalwright.model.plan import NodePlan


def confirm_writes(
    cli: CliContext, nodes: Sequence[NodePlan], *, yes: bool, wipes: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Ask for the names of the nodes whose disks will be written; nothing is asked when there are none.

    Where a system answers, the name alone does not do: whoever mistook a healthy node for the broken one would only
    type the wrong name again.

    Raises:
        GrantError: not confirmed, or nobody there to ask.
    """
    if not nodes:
        return
    for item in nodes:
        disk = f"disk {item.disk_serial}" if item.disk_serial else "the one disk that fits the blueprint's rule"
        serial = item.identity.serial or item.identity.uuid
        cli.err.print(f"WILL BE WRITTEN: {item.node} (serial {serial}), {disk}, image sha256:{item.image_sha256[:12]}…")
        if item.living_system is not None:
            cli.err.print(
                f"STILL RUNS: {item.node} answers ({item.living_system}); its system will be lost", markup=False
            )
        for wiped in (wipes or {}).get(item.node, ()):
            cli.err.print(f"WILL BE ERASED: {item.node}, disk {wiped}, everything on it", markup=False)
    if yes:
        return
    names = " ".join(item.node for item in nodes)
    wanted = f"destroy running {names}" if any(item.living_system for item in nodes) else names
    if not sys.stdin.isatty():
        raise GrantError(
            "writing disks needs a confirmation, and nobody is there to ask",
            where=names,
            hint="add --yes, or give a reviewed plan with --plan FILE",
        )
    answer = typer.prompt(f"To write these disks, type: {wanted}", err=True)
    if " ".join(answer.split()) != wanted:
        raise GrantError("not confirmed; nothing was written", where=names, expected=wanted, found=answer)


def confirm_interruption(cli: CliContext, node: str, what: str, workload: str | None, *, yes: bool) -> None:
    """Ask for the node's name before something that stops a workload; nothing is asked where none can run.

    Raises:
        UsageError: not confirmed, or nobody there to ask.
    """
    if workload is None or yes:
        return
    cli.err.print(f"{what} of {node} may stop a workload: {workload}", markup=False)
    if not sys.stdin.isatty():
        raise UsageError(
            "this may stop a workload, and nobody is there to ask", where=node, found=workload, hint="add --yes"
        )
    answer = typer.prompt(f"To do it, type: {node}", err=True)
    if answer.strip() != node:
        raise UsageError("not confirmed; nothing was done", where=node, expected=node, found=answer)
