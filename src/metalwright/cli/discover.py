"""``metalwright discover``: find BMCs and tell which nodes they are."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.discovery_text import as_json as discovery_json
from metalwright.cli.discovery_text import print_discovery, sighting_line
from metalwright.errors import UsageError
from metalwright.model.phase import NodeState
from metalwright.model.repository import SiteRepository
from metalwright.redfish.access import limits_of
from metalwright.redfish.discovery import Discovery, Sighting, Target, conclude, record, sweep, targets_of
from metalwright.redfish.discovery.knowledge import SiteKnowledge
from metalwright.redfish.discovery.sweep import DEFAULT_AT_ONCE
from metalwright.redfish.state import Limits
from metalwright.workspace import Workspace, open_workspace

SWEEP_CONNECT_TIMEOUT_S = 5.0
EXIT_INTERRUPTED = 130


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("discover")(discover)


def discover(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PREFIX|FILE|HOST]…", help="What to sweep; default: the out-of-band networks."),
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65535, help="Redfish port where none is given.")
    ] = None,
    insecure_http: Annotated[bool, typer.Option("--insecure-http", help="Allow http:// (emulators only).")] = False,
    host_deadline: Annotated[
        float | None, typer.Option("--host-deadline", min=0.1, help="Seconds that one BMC may take.")
    ] = None,
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, help="BMCs looked at at the same time.")
    ] = DEFAULT_AT_ONCE,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Sweep addresses for BMCs and claim them for the nodes of the inventory.

    Every BMC is asked for its service root without login, then for its identity. Factory logins may be sent to a BMC
    whose certificate is not pinned yet; the login of the environment only to hosts that you name; a node's own login
    only to the certificate pinned for it. The current address of a claimed BMC is recorded in the journal.

    Exit 0: done. 1: a BMC could not be read, or a machine cannot be given to one node.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as site:
        settings = site.repository.site.redfish
        words = targets or _out_of_band_prefixes(site.repository)
        places = targets_of(words, port or settings.port, allow_http=insecure_http)
        limits = limits_of(settings)
        limits = replace(
            limits,
            connect_timeout_s=min(limits.connect_timeout_s, SWEEP_CONNECT_TIMEOUT_S),
            deadline_s=host_deadline or limits.deadline_s,
        )
        sightings: list[Sighting] = []
        is_interrupted = _sweep(cli.err, site, places, limits, at_once, sightings)
        found = _record(site, conclude(site.repository.nodes(), site.repository.blueprints, sightings))
    for item in found.claimed:
        if item.is_first_pin:
            name, fingerprint = item.claim.node.name, item.sighting.fingerprint
            cli.err.print(f"{name}: certificate sha256:{fingerprint} pinned at first use", markup=False)
    if as_json:
        print_json(discovery_json(found))
    else:
        print_discovery(cli.out, found)
    if is_interrupted:
        cli.err.print(f"interrupted: {len(sightings)} of {len(places)} addresses were looked at", markup=False)
        return EXIT_INTERRUPTED
    has_errors = bool(found.failures or found.conflicts) or any(item.error for item in found.claimed)
    return 1 if has_errors else 0


def _out_of_band_prefixes(repository: SiteRepository) -> list[str]:
    prefixes = [network.prefix for network in repository.networks if network.purpose == "oob-management"]
    if not prefixes:
        raise UsageError(
            "nothing to sweep", hint="name a prefix, a file or a host, or give the site an oob-management network"
        )
    return prefixes


def _sweep(
    err: Console, site: Workspace, places: tuple[Target, ...], limits: Limits, at_once: int, found: list[Sighting]
) -> bool:
    """Fill ``found`` as sightings come; returns whether somebody pressed Ctrl-C, and what was found stays."""
    knowledge = SiteKnowledge(site.repository, site.journal, site.bmc_credentials)
    err.print(f"sweeping {len(places)} addresses", markup=False)

    async def run() -> None:
        async for sighting in sweep(places, knowledge, limits, at_once):
            found.append(sighting)
            if sighting.outcome != "nothing" or sighting.is_failure:
                err.print(f"[{len(found)}/{len(places)}] {sighting_line(sighting)}", markup=False)

    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        return True
    return False


def _record(site: Workspace, found: Discovery) -> Discovery:
    when = datetime.now(UTC)
    claimed = tuple(record(item, site.journal.pins, site.journal.bmc_addresses, when) for item in found.claimed)
    for item in claimed:
        node = item.claim.node.name
        if item.error is None and site.journal.nodes.get(node) is None:
            site.journal.nodes.set_state(node, NodeState.CLAIMED, "found by discover")
    return replace(found, claimed=claimed)
