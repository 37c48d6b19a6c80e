"""``metalwright monitoring``: alerts, and the files that Prometheus, Alertmanager and Grafana read."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.exported import ExportDirectory, write_export, write_files
from metalwright.cli.tables import print_table
from metalwright.errors import UsageError
from metalwright.loading import load_site, write_atomically
from metalwright.monitoring import (
    ProgramVerdict,
    check_with_programs,
    export_monitoring,
    read_alerts,
)
from metalwright.runner.bmc_metrics import sweep_bmcs
from metalwright.runner.metrics_server import MetricsServer
from metalwright.secrets.value import redact
from metalwright.workspace import open_workspace

group = typer.Typer(
    name="monitoring", help="What watches the fleet: alerts, Prometheus, dashboards.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(group)


@group.command("alerts")
def alerts_command(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the alerts of the site: severity, what is wrong, what to do, which runbook."""
    cli: CliContext = context.obj
    found = read_alerts(cli.site)
    if as_json:
        listed = [{"subject": file.subject, **alert.to_json()} for file in found.files for alert in file.alerts]
        print_json({"schema": 1, "alerts": listed})
        return
    table = Table("alert", "severity", "meaning", "runbook", box=None, pad_edge=False)
    for alert in found:
        table.add_row(alert.alert, alert.severity, alert.meaning, alert.runbook)
    print_table(cli.out, table)


@group.command("export")
def export_command(
    context: typer.Context,
    directory: ExportDirectory,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 2 if a file is out of date.")] = False,
) -> int:
    """Write what Prometheus, Alertmanager and Grafana read, from the inventory and templates/prometheus.

    prometheus.yml with targets/ (labels node, rack, leaf, rails, blueprint, role), rules/ with their tests,
    alertmanager.yml as an example, dashboards/. The same inventory gives the same bytes. Files that are there are
    replaced; others are left alone.
    """
    cli: CliContext = context.obj
    files = export_monitoring(cli.site, load_site(cli.site))
    return write_export(directory, files, check=check)


@group.command("check")
def check_command(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Let promtool and amtool judge the rendered files, where they are installed.

    promtool also runs the test of each alert: silent while all is well, firing on its fault. Exit 1: one failed.
    NOT-RUN: the program is not installed here.
    """
    cli: CliContext = context.obj
    with tempfile.TemporaryDirectory(prefix="metalwright-monitoring-") as place:
        write_files(Path(place), export_monitoring(cli.site, load_site(cli.site)))
        verdicts = check_with_programs(Path(place))
    if as_json:
        print_json({"schema": 1, "checks": [verdict.__dict__ for verdict in verdicts]})
    else:
        for verdict in verdicts:
            _print_verdict(verdict)
    return 1 if any(verdict.verdict == "FAIL" for verdict in verdicts) else 0


@group.command("bmc-metrics")
def bmc_metrics_command(
    context: typer.Context,
    nodes: Annotated[list[str] | None, typer.Argument(metavar="NODE", help="Nodes; default: all in use.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write a text file for node_exporter instead, whole or not at all."),
    ] = None,
    listen: Annotated[str | None, typer.Option("--listen", help="Serve HOST:PORT/metrics until Ctrl-C.")] = None,
    interval: Annotated[float, typer.Option("--interval", min=10, help="With --listen: seconds between sweeps.")] = 300,
    events: Annotated[int, typer.Option("--events", min=0, help="Newest entries of each event log; 0: none.")] = 50,
) -> None:
    """Ask the BMCs for temperatures, fans, power supplies, power and events, and print them for Prometheus.

    What a BMC does not tell has no series, and one that does not answer only says that it does not. BMCs without a
    pinned certificate are not asked; a refused password is not sent again. With them come the node's state, the end of
    its certificate and what its blueprint expects. Reads only.
    """
    cli: CliContext = context.obj
    if listen is not None:
        if nodes or out:
            raise UsageError("--listen serves all nodes", where="--listen", hint="leave out NODE and --out")
        _serve(cli, listen, interval, events)
        return
    with open_workspace(cli.site) as workspace:
        sweep = sweep_bmcs(workspace, tuple(nodes or ()), newest_events=events)
    for note in sweep.notes:
        cli.err.print(redact(note), markup=False)
    text = sweep.text(sweep.at)
    if out is not None:
        write_atomically(out, text)
    else:
        typer.echo(text, nl=False)


def _serve(cli: CliContext, listen: str, interval_s: float, newest_events: int) -> None:
    host, _, port = listen.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal() and int(port) <= 65535):
        raise UsageError(
            "this is not an address to listen on", where=listen, expected="HOST:PORT, with a port of at most 65535"
        )
    server = MetricsServer(
        cli.site,
        interval_s=interval_s,
        newest_events=newest_events,
        tell=lambda note: cli.err.print(note, markup=False),
    )
    asyncio.run(_until_signal(server, host.strip("[]"), int(port)))


async def _until_signal(server: MetricsServer, host: str, port: int) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await server.run(host, port, stop)


def _print_verdict(verdict: ProgramVerdict) -> None:
    typer.echo(f"{verdict.verdict:8}{verdict.command}")
    if verdict.verdict != "PASS":
        typer.echo(f"{verdict.told}\n", err=True)
