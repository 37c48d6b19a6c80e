"""``metalwright addresses``: allocate, explain and export the addresses of nodes."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

import typer
from rich.table import Table

from metalwright.addressing import Explanation, boot_network, dhcp_network, explain, hosts_file
from metalwright.allocations import Reallocation, allocate_addresses, answering_addresses, reallocate
from metalwright.cli.context import CliContext, print_json
from metalwright.cli.tables import print_table
from metalwright.dhcp import render_dhcp
from metalwright.errors import UsageError
from metalwright.loading import SitePaths, load_site
from metalwright.runner.custody import unfinished_run
from metalwright.workspace import open_workspace

EXIT_DIFFERENCE = 2

group = typer.Typer(name="addresses", help="Addresses of nodes: allocate, explain, export.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(group)


@group.command("allocate")
def allocate_command(
    context: typer.Context,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 2 if out of date.")] = False,
    probe: Annotated[
        bool, typer.Option("--probe", help="Look first whether a new address answers on the network already.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Give every node its addresses in inventory/addresses.lock. No address that was given ever moves.

    With ``--probe``, an address that somebody uses is not given away; it is recorded as ``foreign-device``. What
    cannot be reached from here counts as free, and a note says so.
    """
    cli: CliContext = context.obj
    look = answering_addresses if probe else None
    if check:
        result = reallocate(load_site(cli.site), date.today(), look)
    else:
        result = allocate_addresses(
            cli.site, date.today(), lambda: cli.err.print("waiting for another allocation"), look
        )
    _print_result(cli, result, as_json=as_json, is_check=check)
    return EXIT_DIFFERENCE if check and result.has_changed else 0


def _print_result(cli: CliContext, result: Reallocation, *, as_json: bool, is_check: bool) -> None:
    if as_json:
        print_json({"schema": 1, "changed": result.has_changed, "changes": result.lines, "notes": result.notes})
        return
    for note in result.notes:
        cli.err.print(f"note: {note}", markup=False)
    for line in result.lines:
        typer.echo(line)
    if not result.has_changed:
        typer.echo("addresses.lock is up to date", err=True)
    elif is_check:
        typer.echo("addresses.lock is not up to date\n\nhint: metalwright addresses allocate", err=True)


@group.command("explain")
def explain_command(
    context: typer.Context,
    node: Annotated[str, typer.Argument(help="Name of the node.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show which addresses a node has, on which networks, and what decided them."""
    cli: CliContext = context.obj
    found = explain(load_site(cli.site), node)
    if as_json:
        print_json({"schema": 1, "node": node, "addresses": [item.to_json() for item in found]})
        return
    table = Table("purpose", "network", "address", "VLAN", "gateway", "why", box=None, pad_edge=False)
    for item in found:
        table.add_row(*_row(item))
    print_table(cli.out, table)


def _row(item: Explanation) -> tuple[str, ...]:
    vlan = "-" if item.vlan is None else str(item.vlan)
    return item.purpose, item.network, item.interface or "-", vlan, item.gateway or "-", item.why


@group.command("export")
def export_command(
    context: typer.Context,
    form: Annotated[
        Literal["hosts", "json", "kea", "dnsmasq"],
        typer.Option("--format", help="hosts (/etc/hosts), json, or a DHCP configuration for the BMCs' network."),
    ] = "hosts",
    interface: Annotated[
        str | None, typer.Option("--interface", help="Where the DHCP server listens; default: on every interface.")
    ] = None,
    whose: Annotated[
        Literal["bmc", "boot"], typer.Option("--for", help="Whose DHCP: BMCs, or nodes that boot from the network.")
    ] = "bmc",
    node: Annotated[
        list[str] | None, typer.Option("--node", help="With --for boot: this node too; can be given again.")
    ] = None,
) -> None:
    """Print all addresses in a form that other programs read.

    ``kea`` and ``dnsmasq`` are whole configurations for the out-of-band network: the BMC of each node gets its
    allocated address by its MAC, an unknown one gets an address of ``dhcp_pool``, so that ``discover`` can find it.
    With ``--for boot`` they are for the network that nodes boot from, and only nodes with a run in flight are in them
    (or all: ``network_boot.reservations`` in site.yaml).
    """
    cli: CliContext = context.obj
    if whose == "boot" and form not in ("kea", "dnsmasq"):
        raise UsageError("--for boot is about a DHCP server", where="--for", expected="--format kea or dnsmasq with it")
    if node and whose != "boot":
        raise UsageError("--node belongs to the network that nodes boot from", where="--node", expected="--for boot")
    repository = load_site(cli.site)
    if form in ("kea", "dnsmasq"):
        network = boot_network(repository, _may_boot(cli, node or [])) if whose == "boot" else dhcp_network(repository)
        for note in network.notes:
            cli.err.print(f"note: {note}", markup=False)
        typer.echo(render_dhcp(SitePaths(cli.site).templates, network, form, interface), nl=False)
        return
    if form == "hosts":
        typer.echo(hosts_file(repository), nl=False)
        return
    nodes = {
        node.name: [item.to_json() for item in explain(repository, node.name)]
        for node in repository.nodes()
        if node.state != "retired"
    }
    print_json({"schema": 1, "nodes": nodes})


def _may_boot(cli: CliContext, named: list[str]) -> set[str]:
    """The nodes that the DHCP server of the boot network is told of."""
    with open_workspace(cli.site) as workspace:
        nodes = [item.name for item in workspace.repository.nodes() if item.state != "retired"]
        if workspace.repository.site.network_boot.reservations == "all":
            return {*nodes, *named}
        return {name for name in nodes if unfinished_run(workspace.journal, name) is not None} | set(named)
