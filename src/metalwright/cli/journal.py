"""``metalwright journal``: the runs, or everything that happened to a node or in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.history import History, clock_time, open_history, print_columns
from metalwright.errors import UsageError
from metalwright.journal.records import Event, PhaseRecord, Run

if TYPE_CHECKING:
    from metalwright.journal import Journal


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("journal")(journal)


def journal(
    context: typer.Context,
    node: Annotated[str | None, typer.Argument(help="Show what happened to this node.")] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="ID", help="Show what happened in this run.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the history: without arguments the runs; else each phase and event of a node or run, oldest first."""
    cli: CliContext = context.obj
    with open_history(cli, for_reading=True) as history:
        if node is None and run is None:
            _show_runs(history.journal, as_json)
        else:
            _refuse_unknown(history, node)
            _show_story(history.journal, node, run, as_json)


def _refuse_unknown(history: History, node: str | None) -> None:
    """An empty history would read as if a node of this name had never been touched.

    Raises:
        UsageError: neither the inventory nor the journal knows the node.
    """
    journal = history.journal
    if node is None or node in history.declared or journal.nodes.get(node) is not None:
        return
    if not journal.runs.phases_of(run=None, node=node) and not journal.events.of(run=None, node=node):
        known = ", ".join(history.declared)
        raise UsageError("no such node in the inventory or the journal", where=node, hint=f"known nodes: {known}")


def _show_runs(journal: Journal, as_json: bool) -> None:
    runs = journal.runs.newest()
    if as_json:
        print_json({"schema": 1, "journal": journal.id, "runs": [_run_json(journal, run) for run in runs]})
        return
    rows = [
        (run.id, run.kind, clock_time(run.started), run.by, run.result or "unfinished", _node_results(journal, run))
        for run in runs
    ]
    print_columns(("run", "kind", "started", "by", "result", "nodes"), rows)


def _show_story(journal: Journal, node: str | None, run: str | None, as_json: bool) -> None:
    head = None if run is None else journal.runs.get(run)
    phases = journal.runs.phases_of(run=run, node=node)
    events = journal.events.of(run=run, node=node)
    if as_json:
        runs = [] if head is None else [_run_json(journal, head)]
        print_json({"schema": 1, "journal": journal.id, "runs": runs, "phases": phases, "events": events})
        return
    if head is not None:
        typer.echo(f"{head.kind} by {head.by}: {' '.join(head.arguments)}".rstrip(": "))
        typer.echo(f"commit {head.commit or 'unknown'}{' with changes' if head.is_dirty else ''}\n")
    timed = [*((phase.started, _phase_line(phase)) for phase in phases), *((e.at, _event_line(e)) for e in events)]
    lines = [(clock_time(moment), *line) for moment, line in sorted(timed, key=lambda item: item[0])]
    print_columns(("time", "run", "node", "what", "result"), lines)


def _phase_line(phase: PhaseRecord) -> tuple[str, str, str, str]:
    what = phase.phase.value if phase.attempt == 1 else f"{phase.phase.value} (attempt {phase.attempt})"
    seconds = "" if phase.finished is None else f" in {(phase.finished - phase.started).total_seconds():.1f} s"
    result = f"{phase.result or 'begun, no outcome'}{seconds}{f': {phase.why}' if phase.why else ''}"
    return phase.run, phase.node, what, result


def _event_line(event: Event) -> tuple[str, str, str, str]:
    by = f" (by {event.who}{f', plan {event.plan}' if event.plan else ''})" if event.is_act else ""
    return event.run or "-", event.node or "-", event.what, f"{event.why or ''}{by}".strip()


def _node_results(journal: Journal, run: Run) -> str:
    return ", ".join(f"{item.node}: {item.state}" for item in journal.runs.nodes_of(run.id))


def _run_json(journal: Journal, run: Run) -> dict[str, Any]:
    return {**run.to_json(), "nodes": [item.to_json() for item in journal.runs.nodes_of(run.id)]}
