"""``metalwright inspect``: what a BMC says is in a machine."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.console import Console

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.report_text import print_report
from metalwright.errors import BmcAuthError
from metalwright.model.report import HardwareReport
from metalwright.redfish.access import NodeBmcs
from metalwright.redfish.client import Contact
from metalwright.redfish.credentials import PASSWORD_VARIABLE, USER_VARIABLE
from metalwright.redfish.inventory import read_reports
from metalwright.redfish.logins import logged_in, login_of_environment
from metalwright.redfish.pins import pins_of_environment
from metalwright.redfish.state import Limits
from metalwright.workspace import open_workspace

URL_DEADLINE_S = 300.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("inspect")(inspect)


def inspect(
    context: typer.Context,
    target: Annotated[str, typer.Argument(metavar="NODE|URL", help="A node, or https://HOST[:PORT] of any BMC.")],
    insecure_http: Annotated[bool, typer.Option("--insecure-http", help="Allow http:// (emulators only).")] = False,
    deadline: Annotated[float, typer.Option("--deadline", help="Seconds for a URL's BMC.", min=1)] = URL_DEADLINE_S,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: a list, one report per host system.")] = False,
) -> None:
    """Read the hardware inventory of one BMC.

    A URL needs no inventory: the login comes from METALWRIGHT_BMC_USER and METALWRIGHT_BMC_PASSWORD. Its certificate
    is taken as it is and said, or must be the one whose SHA-256 is in METALWRIGHT_BMC_FINGERPRINT. A BMC without host
    (a DPU, a switch, a power shelf) gives an empty list. Exit 1: it could not be read.
    """
    cli: CliContext = context.obj
    if "://" in target:
        reports = asyncio.run(_read_url(cli.err, target, deadline, insecure_http))
    else:
        reports = _read_node(cli, target)
    if as_json:
        print_json(reports)
        return
    for report in reports:
        print_report(cli.out, report)
    if not reports:
        cli.err.print("the BMC manages no host system", markup=False)


def _read_node(cli: CliContext, name: str) -> list[HardwareReport]:
    with open_workspace(cli.site) as site:
        bmcs = NodeBmcs(site)
        report = asyncio.run(bmcs.read(site.repository.node(name)))
        for note in bmcs.notes:
            cli.err.print(note, markup=False)
    return [report]


async def _read_url(err: Console, url: str, deadline_s: float, allow_http: bool) -> list[HardwareReport]:
    """The certificate is taken as it is, and said; somebody named this very BMC for the login of the environment."""
    login = login_of_environment()
    contact = Contact(
        url, key=url, pins=pins_of_environment(url), limits=Limits(deadline_s=deadline_s), allow_http=allow_http
    )
    try:
        async with logged_in(contact, [login] if login is not None else []) as (client, _):
            if client.is_first_use:
                err.print(f"{contact.origin.url}: certificate sha256:{client.fingerprint} (not pinned)", markup=False)
            return await read_reports(client, address=contact.origin.host)
    except BmcAuthError as error:
        if login is None:
            error.hint = f"set {USER_VARIABLE} and {PASSWORD_VARIABLE}"
        raise
