"""``metalwright locate``: light the server's LED, so that the right one is pulled out of the rack."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from metalwright.cli.context import CliContext, print_json
from metalwright.errors import IdentityError
from metalwright.model.rack import Node
from metalwright.redfish.access import NodeBmcs, identity_failures, report_of
from metalwright.redfish.inventory import read_identities
from metalwright.redfish.locating import Indicator, set_indicator
from metalwright.workspace import open_workspace


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("locate")(locate)


def locate(
    context: typer.Context,
    node: Annotated[str, typer.Argument(metavar="NODE", help="A node of the inventory.")],
    off: Annotated[bool, typer.Option("--off", help="Switch the light off again.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Light the LED of a server, and read back that it shines.

    The BMC must be that of the node: a light on the wrong machine gets the wrong machine pulled out. Exit 1: the BMC
    has no light, refuses it, or is another machine's.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as site:
        declared = site.repository.node(node)
        indicator = asyncio.run(_locate(NodeBmcs(site), declared, lit=not off))
        site.journal.events.note("light switched off" if off else "light switched on", node=node)
        rack = site.repository.rack_of(node)
    if as_json:
        print_json(
            {
                "schema": 1,
                "node": node,
                "lit": indicator.is_lit,
                "uri": indicator.uri,
                indicator.name: indicator.value,
            }
        )
        return
    place = f"rack {rack.name}" + (f", unit {declared.unit}" if declared.unit is not None else "")
    shines = "on" if indicator.is_lit else "off"
    typer.echo(f"{node} ({place}): the light is {shines} ({indicator.name}: {indicator.value})")


async def _locate(bmcs: NodeBmcs, node: Node, *, lit: bool) -> Indicator:
    async with bmcs.opened(node) as session:
        client = session.client
        report = report_of(node, await read_identities(client, address=session.place.host))
        failures = identity_failures(node, report)
        if failures:
            raise IdentityError(
                "another machine answers at this address; its light was left alone",
                where=node.name,
                found="; ".join(failures),
                hint="metalwright discover finds where the BMC of this node is now",
            )
        systems = await client.collection("/redfish/v1/Systems")
        uri = next(uri for uri in systems.uris if uri.rstrip("/").rpartition("/")[2] == report.system.id)
        return await set_indicator(client, uri, lit=lit)
