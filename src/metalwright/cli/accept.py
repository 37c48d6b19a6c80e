"""``metalwright accept`` and ``metalwright certificate``: the proof that a node may carry work."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from metalwright.acceptance.certificate import verify_certificate
from metalwright.acceptance.signing import trusted_keys
from metalwright.cli.context import CliContext, print_json
from metalwright.errors import AcceptanceError
from metalwright.loading import SitePaths
from metalwright.model.certificate import Certificate
from metalwright.runner.accepting import Accepting
from metalwright.runner.observe_bmc import BmcObserver
from metalwright.workspace import open_workspace


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
    as_json: Annotated[bool, typer.Option("--json", help="Print the certificate.")] = False,
) -> int:
    """Run the acceptance tests of the node's blueprint now and issue a certificate; changes nothing on the node.

    Exit 1 unless every required test passed.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as workspace:
        workspace.repository.node(node)
        accepting = Accepting(workspace, node, f"accept-{uuid.uuid4().hex[:8]}", BmcObserver(workspace, node))
        accepting.accept()
        certificate = accepting.certificate()
    if certificate is None:
        raise AcceptanceError("no certificate was issued", where=node, hint="see .metalwright/acceptance")
    _tell(cli, certificate, as_json)
    return 0 if certificate.verdict == "PASS" else 1


def verify(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A certificate.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the certificate.")] = False,
) -> int:
    """Check signature, content and expiry of a certificate. Exit 1 unless it is authentic and its verdict is PASS."""
    cli: CliContext = context.obj
    paths = SitePaths(cli.site)
    keys = trusted_keys([paths.root / "inventory" / "certificate-keys", paths.state / "certificate.pem"])
    certificate = verify_certificate(file, keys, now=datetime.now(UTC))
    _tell(cli, certificate, as_json)
    return 0 if certificate.verdict == "PASS" else 1


def _tell(cli: CliContext, certificate: Certificate, as_json: bool) -> None:
    if as_json:
        print_json(certificate)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("test", "verdict", "value", "floor", "why"):
        table.add_column(name, overflow="fold")
    for test in certificate.tests:
        unit = f" {test.unit}" if test.unit else ""
        value = f"{test.value:g}{unit}" if test.value is not None else ""
        floor = f"{test.floor:g}{unit}" if test.floor is not None else ""
        table.add_row(test.name, test.verdict, value, floor, test.why or "")
    cli.out.print(table)
    cli.out.print(
        f"{certificate.node}: {certificate.verdict}, issued {certificate.issued:%Y-%m-%d}, expires "
        f"{certificate.expires:%Y-%m-%d}"
    )
