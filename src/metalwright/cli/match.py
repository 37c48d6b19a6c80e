"""``metalwright match``: machines against their blueprints."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.match_text import print_match
from metalwright.errors import MetalwrightError
from metalwright.matching import match as match_report
from metalwright.model.finding import MatchResult
from metalwright.model.rack import Node
from metalwright.redfish.access import NodeBmcs
from metalwright.redfish.discovery.sweep import DEFAULT_AT_ONCE
from metalwright.redfish.garbage import rarely_collected
from metalwright.redfish.inventory import ALL_PARTS
from metalwright.workspace import open_workspace

EXIT_FINDINGS = 2


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("match")(match)


def match(
    context: typer.Context,
    nodes: Annotated[list[str], typer.Argument(metavar="NODE…", help="Nodes of the inventory.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Compare what the BMCs say with what the blueprints want.

    FAIL is a contradiction, with slot, expected, found and the part that would do. DEFERRED is unknown to the BMC;
    the finding says who will tell. Exit 0: nothing failed. 2: something did. 1: a BMC could not be read.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as site:
        bmcs = NodeBmcs(site.repository, site.journal, site.bmc_credentials)
        wanted = [site.repository.node(name) for name in dict.fromkeys(nodes)]
        with rarely_collected():
            outcomes = asyncio.run(_match_all(bmcs, wanted))
        for note in bmcs.notes:
            cli.err.print(note, markup=False)
    results = [outcome for outcome in outcomes if isinstance(outcome, MatchResult)]
    errors = [outcome for outcome in outcomes if isinstance(outcome, MetalwrightError)]
    if as_json:
        print_json({"schema": 1, "nodes": results})
    else:
        for result in results:
            print_match(cli.out, result)
    for error in errors:
        typer.echo(f"error: {error}\n", err=True)
    if errors:
        return 1
    return EXIT_FINDINGS if any(result.verdict == "FAIL" for result in results) else 0


async def _match_all(bmcs: NodeBmcs, nodes: list[Node]) -> list[MatchResult | MetalwrightError]:
    limit = asyncio.Semaphore(DEFAULT_AT_ONCE)

    async def one(node: Node) -> MatchResult | MetalwrightError:
        async with limit:
            try:
                report = await bmcs.read(node, parts=ALL_PARTS - {"firmware"})
            except MetalwrightError as error:
                return error
        return match_report(bmcs.repository.blueprint_of(node.name), report, node)

    return list(await asyncio.gather(*(one(node) for node in nodes)))
