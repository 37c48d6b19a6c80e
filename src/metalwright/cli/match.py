"""``metalwright match``: machines against their blueprints."""

from __future__ import annotations

import asyncio
import uuid
from typing import Annotated

import typer

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.match_text import print_match
from metalwright.errors import MetalwrightError
from metalwright.journal.holding import hold_node
from metalwright.matching import match as match_report
from metalwright.model.finding import MatchResult
from metalwright.model.rack import Node
from metalwright.redfish.access import NodeBmcs
from metalwright.redfish.discovery.sweep import READ_AT_ONCE
from metalwright.redfish.garbage import rarely_collected
from metalwright.redfish.inventory import ALL_PARTS
from metalwright.workspace import Workspace, open_workspace

EXIT_FINDINGS = 2
PARTS = ALL_PARTS - {"firmware"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("match")(match)


def match(
    context: typer.Context,
    nodes: Annotated[list[str], typer.Argument(metavar="NODE", help="Nodes of the inventory.")],
    restart_bmc: Annotated[
        bool, typer.Option("--restart-bmc", help="Where parts are missing: restart the BMC once and look again.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Compare what the BMCs say with what the blueprints want.

    FAIL is a contradiction, with slot, expected, found and the part that would do. DEFERRED is unknown to the BMC;
    the finding says who will tell. Some BMCs list a part only after their own restart: --restart-bmc. Exit 0: nothing
    failed. 2: something did. 1: a BMC could not be read.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as site:
        bmcs = NodeBmcs(site)
        wanted = [site.repository.node(name) for name in dict.fromkeys(nodes)]
        with rarely_collected():
            outcomes = asyncio.run(_match_all(bmcs, wanted))
        if restart_bmc:
            outcomes = [_again(cli, site, bmcs, outcome) for outcome in outcomes]
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
    limit = asyncio.Semaphore(READ_AT_ONCE)

    async def one(node: Node) -> MatchResult | MetalwrightError:
        async with limit:
            try:
                report = await bmcs.read(node, parts=PARTS)
            except MetalwrightError as error:
                return error
        return match_report(bmcs.site.repository.blueprint_of(node.name), report, node)

    return list(await asyncio.gather(*(one(node) for node in nodes)))


def _again(
    cli: CliContext, site: Workspace, bmcs: NodeBmcs, outcome: MatchResult | MetalwrightError
) -> MatchResult | MetalwrightError:
    """The outcome after one restart of the BMC, where parts were missing; nobody else may be at work on the node."""
    if not isinstance(outcome, MatchResult) or not _missing(outcome):
        return outcome
    node, what = site.repository.node(outcome.node), "; ".join(_missing(outcome))
    try:
        with hold_node(site.journal, site.paths.state, node.name, f"match-{uuid.uuid4().hex[:8]}"):
            site.journal.events.act("restart the BMC", node=node.name, why=f"match found parts missing: {what}")
            cli.err.print(f"{node.name}: {what}; restarting its BMC once", markup=False)
            report = asyncio.run(bmcs.read_after_restart(node, PARTS))
    except MetalwrightError as error:
        return error
    return match_report(site.repository.blueprint_of(node.name), report, node)


def _missing(result: MatchResult) -> list[str]:
    """What is not there at all, in words: what is wrong does not get right by a restart."""
    return [
        f"{item.found}, expected {item.expected}"
        for item in result.findings
        if item.code.endswith(("-count", "-missing")) and item.verdict == "FAIL"
    ]
