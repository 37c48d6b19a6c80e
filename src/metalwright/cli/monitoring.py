"""``metalwright monitoring``: alerts, and the files that Prometheus, Alertmanager and Grafana read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from metalwright.cli.context import CliContext, print_json
from metalwright.loading import load_site
from metalwright.monitoring import (
    ProgramVerdict,
    check_with_programs,
    export_monitoring,
    read_alerts,
    write_files,
)

EXIT_DIFFERENCE = 2

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
    cli.out.print(table)


@group.command("export")
def export_command(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Where the files are written.")],
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 2 if a file is out of date.")] = False,
) -> int:
    """Write what Prometheus, Alertmanager and Grafana read, from the inventory and templates/prometheus.

    prometheus.yml with targets/ (labels node, rack, leaf, rails, blueprint, role), rules/ with their tests,
    alertmanager.yml as an example, dashboards/. The same inventory gives the same bytes. Files that are there are
    replaced; others are left alone.
    """
    cli: CliContext = context.obj
    files = export_monitoring(cli.site, load_site(cli.site))
    stale = [name for name, text in sorted(files.items()) if _text(directory / name) != text]
    for name in stale:
        typer.echo(f"{'would write' if check else 'wrote'} {directory / name}")
    if not stale:
        typer.echo(f"{len(files)} files are up to date", err=True)
    if not check:
        write_files(directory, {name: files[name] for name in stale})
    return EXIT_DIFFERENCE if check and stale else 0


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


def _print_verdict(verdict: ProgramVerdict) -> None:
    typer.echo(f"{verdict.verdict:8}{verdict.command}")
    if verdict.verdict != "PASS":
        typer.echo(f"{verdict.told}\n", err=True)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return None
