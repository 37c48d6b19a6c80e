"""``metalwright lab``: virtual machines with BMCs of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.tables import print_table
from metalwright.errors import LabError
from metalwright.simulator.lab import Lab
from metalwright.simulator.spec import read_lab_spec
from metalwright.simulator.status import LabStatus

LAB_FILE = "lab.json"
LAB_DIRECTORY = "lab"


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Virtual machines with BMCs, for trying out.")
    group.command("up")(up)
    group.command("down")(down)
    group.command("status")(status)
    app.add_typer(group, name="lab")


def up(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Option(help="Lab file; default .metalwright/lab.json of the site.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Start the BMCs of the lab's machines; the machines are off until somebody powers them on through Redfish."""
    cli: CliContext = context.obj
    path = file or cli.state_dir / LAB_FILE
    if not path.exists():
        raise LabError(
            "there is no lab file",
            where=str(path),
            hint="`make demo KEEP=1` makes a site with a lab; --file names another lab file",
        )
    _tell(cli, _lab(cli).up(read_lab_spec(path)), as_json)


def down(
    context: typer.Context,
    wipe: Annotated[bool, typer.Option("--wipe", help="Remove disks and state of the machines as well.")] = False,
) -> None:
    """Stop the lab and its machines."""
    cli: CliContext = context.obj
    _lab(cli).down(wipe=wipe)
    cli.err.print("the lab is down" + (", its disks are gone" if wipe else ""))


def status(
    context: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Show the machines: power, boots, media, where BMC and SSH answer, the console's log."""
    cli: CliContext = context.obj
    if not (cli.state_dir / LAB_DIRECTORY).exists():
        raise LabError("there is no lab here", where=str(cli.site), hint="`metalwright lab up` starts one")
    _tell(cli, _lab(cli).status(), as_json)


def _lab(cli: CliContext) -> Lab:
    return Lab(cli.state_dir / LAB_DIRECTORY)


def _tell(cli: CliContext, seen: LabStatus, as_json: bool) -> None:
    if as_json:
        print_json({"schema": 1, **seen.model_dump(mode="json")})
        return
    table = Table(box=None, pad_edge=False)
    for name in ("machine", "serial", "power", "BMC", "SSH", "boots", "console"):
        table.add_column(name, overflow="fold")
    for machine in seen.machines:
        boots = ", ".join(f"{what} ×{count}" for what, count in machine.boots.items()) or "none"
        table.add_row(
            machine.name, machine.serial, machine.power, machine.bmc_url, " ".join(machine.ssh), boots, machine.console
        )
    print_table(cli.out, table)
