"""``metalwright accept`` and ``metalwright certificate``: the proof that a node may carry work."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from metalwright.acceptance.catalogue import disturbs
from metalwright.acceptance.validity import Validity
from metalwright.cli.confirmation import confirm_interruption
from metalwright.cli.context import CliContext, print_json
from metalwright.cli.tables import print_table
from metalwright.errors import AcceptanceError
from metalwright.loading import SitePaths
from metalwright.model.certificate import Certificate
from metalwright.model.wipe import WipeRecord
from metalwright.runner.accepting import Accepting
from metalwright.runner.certificates import authentic_certificate, authentic_wipe_record, validity
from metalwright.runner.draining import may_carry_work
from metalwright.runner.observe_bmc import BmcObserver
from metalwright.runner.taking import take_nodes
from metalwright.workspace import Workspace, open_workspace


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("accept")(accept)
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Certificates of accepted nodes.")
    group.callback()(lambda: None)
    group.command("verify")(verify)
    app.add_typer(group, name="certificate")


def accept(
    context: typer.Context,
    node: Annotated[str, typer.Argument(help="A node that was provisioned.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask, also where a workload may run.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the certificate.")] = False,
) -> int:
    """Run the acceptance tests of the node's blueprint now and issue a certificate; changes nothing on the node.

    Where its tests load the node or take its power away, and a workload may run, the node's name must be typed. Exit 1
    unless every required test passed.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as workspace:
        workspace.repository.node(node)
        with take_nodes(workspace, (node,)) as taken:
            taken.require_all()
            _confirm(cli, workspace, node, yes=yes)
            run = workspace.journal.runs.start("accept", sys.argv[1:]).id
            accepting = Accepting(workspace, node, run, BmcObserver(workspace, node), taken.locks[node])
            try:
                accepting.accept()
            except BaseException as error:  # also Ctrl-C: the run is over
                workspace.journal.runs.finish(run, "failed", str(error).partition("\n")[0])
                raise
            certificate = accepting.certificate()
            workspace.journal.runs.finish(run, "ok")
    if certificate is None:
        raise AcceptanceError("no certificate was issued", where=node, hint="see .metalwright/acceptance")
    _tell(cli, certificate, as_json, Validity())
    return 0 if certificate.verdict == "PASS" else 1


def _confirm(cli: CliContext, workspace: Workspace, node: str, *, yes: bool) -> None:
    if disturbs(workspace.blueprint(node)):
        work = "the journal says that it joined the pool" if may_carry_work(workspace, node) else None
        confirm_interruption(cli, node, "acceptance (its tests load or restart the node)", work, yes=yes)


def verify(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A certificate, or a record of .metalwright/wipes.")],
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not read the machine: its parts are not compared.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the certificate, and what voids it.")] = False,
) -> int:
    """Check a certificate: signature, content, expiry, changes of parts or recipe; or the record of an erased node.

    Parts and recipe are compared where the node is one of this site. Exit 1 unless it is authentic, its verdict is
    PASS, nothing voids it, and everything that was to be compared was.
    """
    cli: CliContext = context.obj
    record = authentic_wipe_record(SitePaths(cli.site), file)
    if record is not None:
        _tell_wipe(cli, record, as_json)
        return 0
    certificate = authentic_certificate(SitePaths(cli.site), file)
    found = _validity(cli, certificate, offline)
    _tell(cli, certificate, as_json, found)
    is_void = bool(found.void) or (bool(found.not_compared) and not offline)
    return 0 if certificate.verdict == "PASS" and not is_void else 1


def _validity(cli: CliContext, certificate: Certificate, offline: bool) -> Validity:
    """Nothing to compare with where there is no site, or the node is not of this one."""
    if not SitePaths(cli.site).site.exists():
        return Validity()
    with open_workspace(cli.site) as workspace:
        if certificate.node not in {node.name for node in workspace.repository.nodes()}:
            cli.err.print(f"{certificate.node} is no node of this site: recipe and parts were not compared")
            return Validity()
        observer = BmcObserver(workspace, certificate.node)
        return validity(workspace, certificate, None if offline else observer.report)


def _tell_wipe(cli: CliContext, record: WipeRecord, as_json: bool) -> None:
    if as_json:
        print_json(record)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("disk", "bytes", "erased by", "proof"):
        table.add_column(name, overflow="fold")
    for disk in record.disks:
        table.add_row(disk.serial, str(disk.size_bytes), disk.method, disk.proof)
    cli.out.print(table)
    whose = f"from customer {record.former or 'none'} to {record.customer or 'none'}"
    cli.out.print(f"{record.node}: erased in run {record.run}, {whose}, {record.issued:%Y-%m-%d}", markup=False)


def _tell(cli: CliContext, certificate: Certificate, as_json: bool, found: Validity) -> None:
    if as_json:
        print_json({**certificate.to_json(), "void": found.void, "not_compared": found.not_compared})
        return
    table = Table(box=None, pad_edge=False)
    for name in ("test", "verdict", "value", "floor", "why"):
        table.add_column(name, overflow="fold")
    for test in certificate.tests:
        unit = f" {test.unit}" if test.unit else ""
        value = f"{test.value:g}{unit}" if test.value is not None else ""
        floor = f"{test.floor:g}{unit}" if test.floor is not None else ""
        table.add_row(test.name, test.verdict, value, floor, test.why or "")
    print_table(cli.out, table)
    cli.out.print(
        f"{certificate.node}: {certificate.verdict}, issued {certificate.issued:%Y-%m-%d}, expires "
        f"{certificate.expires:%Y-%m-%d}"
    )
    power = certificate.power_w
    if power.idle is not None:
        shown = (("idle", power.idle), ("typical", power.typical), ("maximum", power.max))
        cli.out.print("power: " + ", ".join(f"{name} {watts:g} W" for name, watts in shown if watts is not None))
    for what in found.void:
        cli.out.print(f"void: {what}")
    for what in found.not_compared:
        cli.out.print(f"not compared: {what}")
