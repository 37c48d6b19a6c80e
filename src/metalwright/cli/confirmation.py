"""The typed confirmation before disks are written: it names what goes, and a habit of pressing Enter does not pass."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from metalwright.cli.context import CliContext
from metalwright.errors import GrantError
from metalwright.model.plan import NodePlan


def confirm_writes(cli: CliContext, nodes: Sequence[NodePlan], *, yes: bool) -> None:
    """Ask for the names of the nodes whose disks will be written; nothing is asked when there are none.

    Raises:
        GrantError: not confirmed, or nobody there to ask.
    """
    if not nodes:
        return
    for item in nodes:
        disk = f"disk {item.disk_serial}" if item.disk_serial else "the one disk that fits the blueprint's rule"
        serial = item.identity.serial or item.identity.uuid
        cli.err.print(f"WILL BE WRITTEN: {item.node} (serial {serial}), {disk}, image sha256:{item.image_sha256[:12]}…")
    if yes:
        return
    wanted = " ".join(item.node for item in nodes)
    if not sys.stdin.isatty():
        raise GrantError(
            "writing disks needs a confirmation, and nobody is there to ask",
            where=wanted,
            hint="add --yes, or give a reviewed plan with --plan FILE",
        )
    answer = typer.prompt(f"To write these disks, type: {wanted}", err=True)
    if " ".join(answer.split()) != wanted:
        raise GrantError("not confirmed; nothing was written", where=wanted, expected=wanted, found=answer)
