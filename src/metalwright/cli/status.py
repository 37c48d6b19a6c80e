"""``metalwright status``: where each node stands, since when, why, and what to do next."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.history import History, clock_time, open_history, print_columns
from metalwright.cli.times import print_times, run_times
from metalwright.cli.watch import Now, look, watch
from metalwright.errors import UsageError
from metalwright.journal.records import PhaseRecord
from metalwright.model.phase import NodeState

if TYPE_CHECKING:
    from metalwright.journal import Journal


@dataclass(frozen=True)
class NodeLine:
    """One node. ``worker`` is the run that works on it now; ``since`` is ISO 8601; ``None`` is unknown."""

    node: str
    state: str
    since: str | None
    phase: str | None
    phase_result: str | None
    why: str | None
    next: str | None
    run: str | None
    worker: str | None
    known_good: str | None


_EVERY_S = 2.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)


def status(
    context: typer.Context,
    nodes: Annotated[list[str] | None, typer.Argument(help="Only these nodes.", show_default=False)] = None,
    times: Annotated[
        bool, typer.Option("--times", help="Show where the time of each node's newest run went, and its budget.")
    ] = False,
    watching: Annotated[
        bool, typer.Option("--watch", help="Show it until Ctrl-C: a live table, or a line for each change.")
    ] = False,
    every: Annotated[
        float | None, typer.Option(min=0.1, help="With --watch: seconds between two looks; default: 2.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show where each node stands: state, phase, since when, why, and the next action.

    With --watch: also how long the phase under way has taken, and how long it usually takes.
    With --times: the seconds of each phase, beside the minutes that the blueprint allows (`rollback.minutes`).
    """
    cli: CliContext = context.obj
    if watching and (times or as_json):
        raise UsageError(
            "--watch shows what changes and goes with neither --times nor --json",
            where="--watch",
            hint="for another program: `metalwright status --json`, as often as it is needed",
        )
    if every is not None and not watching:
        raise UsageError("--every belongs to --watch", where="--every", hint="metalwright status --watch --every 5")
    with open_history(cli, for_reading=True) as history:
        if watching:
            _watch(cli, history, nodes or [], _EVERY_S if every is None else every)
            return
        if times:
            _show_times(history, nodes or [], as_json=as_json)
            return
        lines = _node_lines(history.journal, _wanted(history, nodes or []))
    if not history.is_complete:
        cli.err.print("note: some files of the site cannot be read; `metalwright check` says which")
    if as_json:
        print_json({"schema": 1, "taken": datetime.now(UTC).isoformat(), "nodes": [asdict(line) for line in lines]})
        return
    rows = [
        (line.node, line.state, line.phase or "-", (line.since or "-"), line.known_good or "-", _story(line))
        for line in lines
    ]
    print_columns(("node", "state", "phase", "since", "known good", "why and next"), rows)


def _watch(cli: CliContext, history: History, nodes: list[str], every_s: float) -> None:
    journal, wanted = history.journal, _wanted(history, nodes)
    usual = journal.runs.usual_seconds()

    def read() -> list[Now]:
        moment = datetime.now(UTC)
        lines = _node_lines(journal, wanted)
        return [look(journal, (line.node, line.state, _story(line)), usual, moment) for line in lines]

    watch(cli, every_s, read)


def _show_times(history: History, nodes: list[str], *, as_json: bool) -> None:
    found = [run_times(history.journal, node, history.budgets) for node in _wanted(history, nodes)]
    worked_on = [times for times in found if times is not None]
    if as_json:
        print_json({"schema": 1, "nodes": [times.to_json() for times in worked_on]})
        return
    for times in worked_on:
        print_times(times)
    if not worked_on:
        typer.echo("no run has worked on these nodes", err=True)


def _wanted(history: History, names: list[str]) -> list[str]:
    recorded = [status.node for status in history.journal.nodes.all()]
    known = list(dict.fromkeys([*history.declared, *recorded]))
    for name in names:
        if name not in known:
            raise UsageError(
                "no such node in the inventory or the journal", where=name, hint=f"known nodes: {', '.join(known)}"
            )
    return names or known


def _node_lines(journal: Journal, nodes: list[str]) -> list[NodeLine]:
    newest = journal.events.newest_by_node("drain", "undrained")
    return [node_line(journal, node, is_drained=newest.get(node) == "drain") for node in nodes]


def node_line(journal: Journal, node: str, *, is_drained: bool = False) -> NodeLine:
    """Return where a node stands, from the journal alone."""
    status = journal.nodes.get(node)
    state = NodeState.PLANNED if status is None else status.state
    phase = journal.runs.last_phase(node)
    lease = journal.leases.get(node)
    known = journal.nodes.known_good(node)
    worker = f"{lease.by} pid {lease.pid}, run {lease.run}" if lease is not None and lease.is_working else None
    return NodeLine(
        node=node,
        state=state.value,
        since=None if status is None else clock_time(status.since),
        phase=None if phase is None else phase.phase.value,
        phase_result=None if phase is None else phase.result,
        why=_why(phase, None if status is None else status.why),
        next=None if worker else _next_action(node, state, phase) or (_undrain(node) if is_drained else None),
        run=None if phase is None else phase.run,
        worker=worker,
        known_good=None if known is None else f"{known.record.blueprint} {known.record.image}",
    )


def _why(phase: PhaseRecord | None, state_why: str | None) -> str | None:
    if phase is not None and phase.result in ("failed", "waiting"):
        return phase.why
    return state_why


def _next_action(node: str, state: NodeState, phase: PhaseRecord | None) -> str | None:
    if state is NodeState.FAILED:
        hint = (phase.error or {}).get("hint") if phase is not None else None
        return f"{hint or 'repair the cause'}; then `metalwright provision {node}`"
    actions = {
        NodeState.PLANNED: "`metalwright discover`",
        NodeState.DISCOVERED: "claim it: put it into a rack file",
        NodeState.CLAIMED: f"`metalwright plan {node}`",
        NodeState.PROVISIONING: f"not finished: `metalwright provision {node}` goes on",
        NodeState.HELD: f"commit the repinned blueprint, or `metalwright release {node} --why …`",
        NodeState.QUARANTINED: f"repair it, then `metalwright release {node} --why …`",
    }
    return actions.get(state)


def _undrain(node: str) -> str:
    return f"it is still drained: `metalwright provision {node}` gives it back"


def _story(line: NodeLine) -> str:
    working = f"{line.worker} works on it" if line.worker else None
    return "; ".join(part for part in (line.why, working, line.next and f"next: {line.next}") if part) or "-"
