"""``metalwright discover``: find BMCs and tell which nodes they are."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.discovery_run import SweepRun
from metalwright.cli.discovery_text import as_json as discovery_json
from metalwright.cli.discovery_text import print_discovery
from metalwright.errors import UsageError
from metalwright.model.phase import NodeState
from metalwright.model.rack import Node, Racked
from metalwright.model.repository import SiteRepository
from metalwright.model.site import RedfishSettings
from metalwright.redfish.discovery import Discovery, Target, conclude, latch_key_of, record, targets_of
from metalwright.redfish.discovery.ssdp import GROUP, search
from metalwright.redfish.discovery.ssdp import PORT as SSDP_PORT
from metalwright.redfish.discovery.sweep import DEFAULT_AT_ONCE
from metalwright.redfish.places import places_of
from metalwright.redfish.state import Limits, limits_of
from metalwright.workspace import Workspace, open_workspace

SWEEP_CONNECT_TIMEOUT_S = 5.0
EXIT_INTERRUPTED = 130
MAX_AGE_MINUTES = 10.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("discover")(discover)


def discover(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PREFIX|FILE|HOST",
            help="What to sweep: prefixes, hosts, files of them, lease files; default: the out-of-band networks.",
        ),
    ] = None,
    leases: Annotated[
        list[Path] | None,
        typer.Option("--leases", metavar="FILE", help="A lease file of Kea, dnsmasq or ISC dhcpd, or Kea's answer."),
    ] = None,
    ssdp: Annotated[bool, typer.Option("--ssdp", help="Ask the local network who is a Redfish service.")] = False,
    ssdp_group: Annotated[
        str,
        typer.Option("--ssdp-group", help="Where --ssdp asks: ADDRESS or ADDRESS:PORT; for IPv6 ff02::c%INTERFACE."),
    ] = GROUP,
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
    max_age: Annotated[
        float, typer.Option("--max-age", min=0, help="Minutes for which a machine that was read is not read again.")
    ] = MAX_AGE_MINUTES,
    fresh: Annotated[bool, typer.Option("--fresh", help="Read everything again: the same as --max-age 0.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Sweep addresses for BMCs and claim them for the nodes of the inventory.

    Every BMC is asked for its service root without login, then for its identity. Factory logins may be sent to a BMC
    whose certificate is not pinned yet, first that of its own sticker; the login of the environment only to hosts
    that you name; a node's own login only to the certificate pinned for it. The current address of a claimed BMC is
    recorded in the journal.

    Each machine is kept as soon as it is read: after Ctrl-C or a kill, the same command goes on where it stopped.

    Exit 0: done. 1: a BMC could not be read, or a machine cannot be given to one node.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as site:
        settings = site.repository.site.redfish
        words = targets or ([] if leases or ssdp else _out_of_band_prefixes(site.repository))
        found_port, now = port or settings.port, datetime.now(UTC)
        listed = targets_of(words, found_port, now, lease_files=leases or (), allow_http=insecure_http)
        for note in listed.notes:
            cli.err.print(note, markup=False)
        announced = _announced(cli.err, ssdp_group) if ssdp else []
        places = {target.place: target for target in (*announced, *listed.targets)}
        run = SweepRun(
            site,
            list(places.values()),
            _limits(settings, host_deadline),
            at_once,
            timedelta() if fresh else timedelta(minutes=max_age),
            cli.err,
        )
        is_interrupted = run.run()
        found = _record(site, conclude(site.repository.racked(), site.repository.blueprints, run.sightings))
        found = _without_unswept(site, found, list(places.values()))
    for item in found.claimed:
        if item.is_first_pin:
            name, fingerprint = item.claim.node.name, item.sighting.fingerprint
            cli.err.print(f"{name}: certificate sha256:{fingerprint} pinned at first use", markup=False)
    if as_json:
        print_json(discovery_json(found))
    else:
        print_discovery(cli.out, found)
    if is_interrupted:
        cli.err.print(
            f"interrupted: {len(run.sightings)} of {len(places)} addresses were looked at; "
            "the same command goes on with the rest",
            markup=False,
        )
        return EXIT_INTERRUPTED
    has_errors = bool(found.failures or found.conflicts) or any(item.error for item in found.claimed)
    return 1 if has_errors else 0


def _limits(settings: RedfishSettings, host_deadline_s: float | None) -> Limits:
    limits = limits_of(settings)
    return replace(
        limits,
        connect_timeout_s=min(limits.connect_timeout_s, SWEEP_CONNECT_TIMEOUT_S),
        deadline_s=host_deadline_s or limits.deadline_s,
    )


def _announced(err: Console, group: str) -> list[Target]:
    """Who answers an SSDP search; what is odd about an answer is told."""
    address, _, number = group.partition(":") if group.count(":") == 1 else (group, "", "")
    if number and not number.isdecimal():
        raise UsageError("this is no port", where=group, expected="ADDRESS or ADDRESS:PORT")
    answers = asyncio.run(search(address, int(number) if number else SSDP_PORT))
    for answer in answers:
        err.print(f"{answer.place} answers the SSDP search" + (f"; {answer.oddity}" if answer.oddity else ""))
    return [Target(answer.place) for answer in answers]


def _out_of_band_prefixes(repository: SiteRepository) -> list[str]:
    prefixes = [network.prefix for network in repository.networks if network.purpose == "oob-management"]
    if not prefixes:
        raise UsageError(
            "nothing to sweep", hint="name a prefix, a file or a host, or give the site an oob-management network"
        )
    return prefixes


def _without_unswept(site: Workspace, found: Discovery, targets: list[Target]) -> Discovery:
    """A node is missing only where it was looked for.

    That is at an address of its own, or, for one that was never seen, in any range or lease that was swept.
    """
    swept = {target.place.host for target in targets}
    has_range = any(not target.is_named for target in targets)
    book = site.journal.bmc_addresses

    def is_looked_for(node: Racked) -> bool:
        if any(place.host in swept for place in places_of(site.repository, book, node)):
            return True
        return has_range and book.get(node.name) is None

    missing = tuple(node for node in found.missing if is_looked_for(node))
    return replace(found, missing=missing, not_swept=tuple(node for node in found.missing if node not in missing))


def _record(site: Workspace, found: Discovery) -> Discovery:
    when = datetime.now(UTC)
    claimed = tuple(record(item, site.journal.pins, site.journal.bmc_addresses, when) for item in found.claimed)
    for item in claimed:
        node = item.claim.node.name
        is_node = isinstance(item.claim.node, Node)
        if item.error is None:
            sighting = item.sighting
            site.journal.refused_logins.hand_over(latch_key_of(sighting.target, sighting.fingerprint), node)
        if is_node and item.error is None and site.journal.nodes.get(node) is None:
            site.journal.nodes.set_state(node, NodeState.CLAIMED, "found by discover")
    return replace(found, claimed=claimed)
