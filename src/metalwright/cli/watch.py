"""``metalwright status --watch``: the nodes as they are now, until Ctrl-C; a live table, or a line for each change."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer
from rich.live import Live
from rich.table import Table

from metalwright.cli.context import CliContext
from metalwright.cli.history import printable
from metalwright.model.phase import Phase

if TYPE_CHECKING:
    from metalwright.journal import Journal

COLUMNS = ("node", "state", "phase", "for", "usually", "now")


@dataclass(frozen=True)
class Now:
    """One node at this moment. ``phase``, ``seconds`` and ``usual_s`` are of the phase under way; None: none is."""

    node: str
    state: str
    phase: str | None
    seconds: float | None
    usual_s: float | None
    now: str

    @property
    def cells(self) -> tuple[str, ...]:
        """As text, one for each column."""
        told = (self.node, self.state, self.phase or "-", _duration(self.seconds), _duration(self.usual_s), self.now)
        return tuple(printable(cell) for cell in told)

    @property
    def news(self) -> tuple[str, ...]:
        """What makes a new line where lines are printed: everything that is no running number."""
        return self.node, self.state, self.phase or "-", "".join(c for c in self.now if not c.isdigit())


def look(journal: Journal, line: tuple[str, str, str], usual: Mapping[Phase, float], moment: datetime) -> Now:
    """One node now; ``line`` is its name, its state and what ``status`` tells of it."""
    node, state, story = line
    phase = journal.runs.last_phase(node)
    lease = journal.leases.get(node)
    if phase is None or phase.finished is not None or lease is None or not lease.is_working:
        return Now(node, state, None, None, None, story)
    seconds = (moment - phase.started).total_seconds()
    told = _progress(journal, node, phase.run, moment) if phase.phase is Phase.IMAGE else None
    return Now(node, state, phase.phase.value, seconds, usual.get(phase.phase), told or f"run {phase.run}")


def watch(cli: CliContext, every_s: float, read: Callable[[], Sequence[Now]]) -> None:
    """Show what ``read`` returns again and again; Ctrl-C ends it and is no failure."""
    try:
        if sys.stdout.isatty():
            _live(cli, every_s, read)
        else:
            _lines(every_s, read)
    except KeyboardInterrupt:
        return


def _live(cli: CliContext, every_s: float, read: Callable[[], Sequence[Now]]) -> None:
    with Live(console=cli.out, auto_refresh=False) as live:
        while True:
            live.update(_table(read()), refresh=True)
            time.sleep(every_s)


def _lines(every_s: float, read: Callable[[], Sequence[Now]]) -> None:
    seen: dict[str, tuple[str, ...]] = {}
    while True:
        for item in read():
            if seen.get(item.node) != item.news:
                seen[item.node] = item.news
                typer.echo(f"{datetime.now(UTC):%H:%M:%SZ}  {'  '.join(item.cells)}")
        sys.stdout.flush()
        time.sleep(every_s)


def _table(items: Sequence[Now]) -> Table:
    table = Table(box=None, pad_edge=False, caption=f"{datetime.now(UTC):%Y-%m-%d %H:%M:%SZ}; Ctrl-C ends it")
    for name in COLUMNS:
        table.add_column(name, overflow="fold", justify="right" if name in ("for", "usually") else "left")
    for item in items:
        table.add_row(*item.cells, style="bold red" if item.state == "failed" else None)
    return table


def _progress(journal: Journal, node: str, run: str, moment: datetime) -> str | None:
    newest = journal.deployments.newest_of_node(node, moment)
    if newest is None or newest.run != run or newest.state.is_final:
        return None
    progress = newest.progress
    if progress is None or not progress.total_bytes:
        return f"ramdisk: {newest.state.value}"
    return f"ramdisk: {progress.step} {100 * progress.done_bytes // progress.total_bytes} %"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"
