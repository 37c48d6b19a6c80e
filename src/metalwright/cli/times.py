"""Where the time of a node's newest run went, phase by phase, beside the minutes that its blueprint allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import typer

from metalwright.cli.history import print_columns
from metalwright.model.phase import PHASES

if TYPE_CHECKING:
    from metalwright.journal import Journal


@dataclass(frozen=True)
class RunTimes:
    """One node in its newest run; ``seconds`` by phase, every attempt counted, a phase under way left out.

    ``budget_minutes`` is ``rollback.minutes`` of the run's blueprint; None where it says nothing.
    """

    node: str
    run: str
    kind: str
    blueprint: str
    seconds: dict[str, float]
    budget_minutes: float | None

    @property
    def total_s(self) -> float:
        """All phases together."""
        return sum(self.seconds.values())

    def to_json(self) -> dict[str, object]:
        """As plain values, with the total."""
        return {**asdict(self), "total_s": round(self.total_s, 1)}


def run_times(journal: Journal, node: str, budgets: Mapping[str, float]) -> RunTimes | None:
    """The times of the newest run of a node; None when it was never worked on."""
    last = journal.runs.last_of_node(node)
    if last is None:
        return None
    seconds: dict[str, float] = {}
    for record in journal.runs.phases_of(run=last.run, node=node):
        if record.finished is not None:
            spent = (record.finished - record.started).total_seconds()
            seconds[record.phase.value] = round(seconds.get(record.phase.value, 0.0) + spent, 1)
    kind = journal.runs.get(last.run).kind
    return RunTimes(node, last.run, kind, last.blueprint, seconds, budgets.get(last.blueprint))


def print_times(times: RunTimes) -> None:
    """Print one table: phase, seconds, share, and a bar; then the total beside the budget."""
    typer.echo(f"{times.node}: run {times.run} ({times.kind}, {times.blueprint})")
    rows = []
    for phase in PHASES:
        spent = times.seconds.get(phase.value)
        if spent is not None:
            share = spent / times.total_s if times.total_s else 0.0
            rows.append((phase.value, f"{spent:.1f}", f"{share:.0%}", "#" * round(20 * share)))
    print_columns(("phase", "seconds", "share", ""), rows)
    typer.echo(f"total {times.total_s:.0f} s{_against_budget(times)}")


def _against_budget(times: RunTimes) -> str:
    if times.budget_minutes is None:
        return "; the blueprint names no budget (rollback.minutes)"
    budget_s = times.budget_minutes * 60
    told = "within" if times.total_s <= budget_s else "OVER"
    return f", {told} the blueprint's budget of {budget_s:.0f} s (rollback.minutes)"
