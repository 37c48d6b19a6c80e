"""Runs, their nodes and their phases. Intent is durable before the act: ``begin_phase``, act, ``finish_phase``."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime
from statistics import median
from typing import Any

from sqlalchemy import Connection, exists, insert, select, update

from metalwright import __version__
from metalwright.errors import JournalError, MetalwrightError
from metalwright.journal.attempts import count_attempt, record_outcome
from metalwright.journal.database import Database
from metalwright.journal.records import NodeRun, NodeRunState, PhaseRecord, PhaseResult, Run, RunResult
from metalwright.journal.tables import EventRow, NodeRunRow, PhaseRow, RunRow
from metalwright.journal.writers import user_at_host
from metalwright.model.phase import Phase

_MEASURED = re.compile(r"\d+(?:\.\d+)?(?=\s?(?:s\b|bytes\b|commands\b|%))")


class Runs:
    """Starts, follows and finishes runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def start(
        self, kind: str, arguments: Sequence[str] = (), *, commit: str | None = None, is_dirty: bool = False
    ) -> Run:
        """Record that a run begins; its id sorts by time. ``kind`` is ``provision``, ``rebuild`` …"""
        now = self._database.clock()
        run = Run(
            id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
            kind=kind,
            started=now,
            by=user_at_host(),
            pid=os.getpid(),
            arguments=tuple(arguments),
            commit=commit,
            is_dirty=is_dirty,
            tool_version=__version__,
        )
        with self._database.write("start_run") as connection:
            values = run.model_dump()
            connection.execute(insert(RunRow).values(**{**values, "arguments": list(arguments)}))
        return run

    def finish(self, run: str, result: RunResult, why: str | None = None) -> Run:
        """Record how a run ended. A finished run stays as it is."""
        with self._database.write("finish_run") as connection:
            connection.execute(
                update(RunRow)
                .where(RunRow.id == run, RunRow.finished.is_(None))
                .values(finished=self._database.clock(), result=result, why=why)
            )
        return self.get(run)

    def get(self, run: str) -> Run:
        """Return the run. Raises JournalError when there is none of that id."""
        with self._database.read() as connection:
            row = connection.execute(select(RunRow.__table__).where(RunRow.id == run)).one_or_none()
        if row is None:
            raise JournalError("no such run", where=run, hint="`metalwright journal` lists the runs")
        return Run.from_row(row)

    def newest(self, limit: int = 100) -> tuple[Run, ...]:
        """Return the newest runs, oldest first."""
        statement = select(RunRow.__table__).order_by(RunRow.started.desc(), RunRow.id.desc()).limit(limit)
        with self._database.read() as connection:
            return tuple(Run.from_row(row) for row in reversed(connection.execute(statement).all()))

    def unfinished(self) -> tuple[Run, ...]:
        """Return the runs that still run or were killed, oldest first."""
        statement = select(RunRow.__table__).where(RunRow.finished.is_(None)).order_by(RunRow.started, RunRow.id)
        with self._database.read() as connection:
            return tuple(Run.from_row(row) for row in connection.execute(statement))

    def start_node(self, run: str, node: str, *, blueprint: str, recipe: str, plan: str | None = None) -> NodeRun:
        """Record that a run takes up a node, with the recipe digest as it is now."""
        record = NodeRun(
            run=run,
            node=node,
            blueprint=blueprint,
            recipe=recipe,
            plan=plan,
            state="running",
            updated=self._database.clock(),
        )
        with self._database.write("start_node") as connection:
            connection.execute(insert(NodeRunRow).values(**record.model_dump()))
        return record

    def set_node(self, run: str, node: str, state: NodeRunState, why: str | None = None) -> None:
        """Record how far a node is in a run."""
        with self._database.write("set_node") as connection:
            connection.execute(
                update(NodeRunRow)
                .where(NodeRunRow.run == run, NodeRunRow.node == node)
                .values(state=state, why=why, updated=self._database.clock())
            )

    def nodes_of(self, run: str) -> tuple[NodeRun, ...]:
        """Return the nodes of a run by name."""
        statement = select(NodeRunRow.__table__).where(NodeRunRow.run == run).order_by(NodeRunRow.node)
        with self._database.read() as connection:
            return tuple(NodeRun.from_row(row) for row in connection.execute(statement))

    def last_of_node(self, node: str) -> NodeRun | None:
        """Return the newest run of a node."""
        statement = (
            select(NodeRunRow.__table__)
            .join(RunRow, RunRow.id == NodeRunRow.run)
            .where(NodeRunRow.node == node)
            .order_by(RunRow.started.desc(), RunRow.id.desc())
            .limit(1)
        )
        with self._database.read() as connection:
            row = connection.execute(statement).one_or_none()
        return None if row is None else NodeRun.from_row(row)

    def begin_phase(self, run: str, node: str, phase: Phase, input_digest: str = "") -> PhaseRecord:
        """Record the intent to act, durably, and count the attempt (not again after a ``waiting`` result).

        ``input_digest`` names what the phase works from; attempts with another input are counted apart.
        """
        with self._database.write("begin_phase", phase.value) as connection:
            attempt = count_attempt(connection, node, phase, input_digest, self._database.clock())
            values = {
                "run": run,
                "node": node,
                "phase": phase.value,
                "attempt": attempt,
                "input_digest": input_digest,
                "started": self._database.clock(),
            }
            identifier = connection.execute(insert(PhaseRow).values(**values).returning(PhaseRow.id)).scalar_one()
            return _phase(connection, identifier)

    def finish_phase(
        self,
        record: PhaseRecord,
        result: PhaseResult,
        *,
        why: str | None = None,
        until: datetime | None = None,
        error: MetalwrightError | None = None,
        evidence: dict[str, Any] | None = None,
        is_attempt: bool = True,
    ) -> PhaseRecord:
        """Record the outcome of a phase with its evidence. ``until`` is the deadline of a ``waiting`` result.

        A failure that is no attempt (nothing was tried, since earlier attempts failed) leaves the counts alone.
        """
        now = self._database.clock()
        told = None if error is None else error_record(error)
        why = why or (None if error is None else error.what)
        with self._database.write("finish_phase", f"{record.phase.value} {result}") as connection:
            connection.execute(
                update(PhaseRow)
                .where(PhaseRow.id == record.id)
                .values(finished=now, result=result, why=why, until=until, error=told, evidence=evidence)
            )
            if is_attempt:
                record_outcome(connection, record, result, _failure_text(why, told), now)
            return _phase(connection, record.id)

    def phases_of(self, *, run: str | None = None, node: str | None = None) -> tuple[PhaseRecord, ...]:
        """Return the phase records of a run, a node, or a node in a run, oldest first."""
        statement = select(PhaseRow.__table__).order_by(PhaseRow.id)
        if run is not None:
            statement = statement.where(PhaseRow.run == run)
        if node is not None:
            statement = statement.where(PhaseRow.node == node)
        with self._database.read() as connection:
            return _phases(connection.execute(statement))

    def usual_seconds(self, newest: int = 500) -> dict[Phase, float]:
        """Return how long each phase took in the middle of the newest that were done and had something to do."""
        statement = (
            select(PhaseRow.phase, PhaseRow.started, PhaseRow.finished)
            .where(PhaseRow.result == "ok", PhaseRow.finished.is_not(None))
            .order_by(PhaseRow.id.desc())
            .limit(newest)
        )
        spent: dict[Phase, list[float]] = {}
        with self._database.read() as connection:
            for phase, started, finished in connection.execute(statement):
                seconds = (finished - started).total_seconds() if finished is not None else 0.0
                if seconds >= 1:
                    spent.setdefault(Phase(phase), []).append(seconds)
        return {phase: median(values) for phase, values in spent.items()}

    def seconds_of_class(self, blueprint: str, newest: int = 500) -> dict[Phase, list[float]]:
        """Return how long phases took that were done on nodes of a class (blueprint name, any version) and acted.

        Of each the newest first; at most ``newest`` records are looked at. What only looked, failed or still waits does
        not count.
        """
        of_class = NodeRunRow.blueprint.startswith(f"{blueprint}@", autoescape=True)
        acted = exists().where(
            EventRow.run == PhaseRow.run,
            EventRow.node == PhaseRow.node,
            EventRow.what.startswith(PhaseRow.phase + ": "),
        )
        statement = (
            select(PhaseRow.phase, PhaseRow.started, PhaseRow.finished)
            .join(NodeRunRow, (NodeRunRow.run == PhaseRow.run) & (NodeRunRow.node == PhaseRow.node))
            .where(of_class, PhaseRow.result == "ok", PhaseRow.finished.is_not(None), acted)
            .order_by(PhaseRow.id.desc())
            .limit(newest)
        )
        spent: dict[Phase, list[float]] = {}
        with self._database.read() as connection:
            for phase, started, finished in connection.execute(statement):
                if finished is not None:
                    spent.setdefault(Phase(phase), []).append((finished - started).total_seconds())
        return spent

    def last_phase(self, node: str, phase: Phase | None = None) -> PhaseRecord | None:
        """Return the newest record of a node, or of one of its phases."""
        statement = select(PhaseRow.__table__).where(PhaseRow.node == node).order_by(PhaseRow.id.desc()).limit(1)
        if phase is not None:
            statement = statement.where(PhaseRow.phase == phase.value)
        with self._database.read() as connection:
            return next(iter(_phases(connection.execute(statement))), None)


def _failure_text(why: str | None, told: dict[str, Any] | None) -> str | None:
    """What two failures must share to be the same one; measured times and sizes may differ."""
    if told is None:
        return why
    parts = [f"{key} {told[key]}" for key in ("expected", "found") if told[key]]
    return _MEASURED.sub("…", "; ".join([str(why), *parts]))


def error_record(error: MetalwrightError) -> dict[str, Any]:
    """Return an error as the journal keeps it: class, what, where, expected, found and hint."""
    fields = {"what": error.what, "where": error.where, "expected": error.expected, "found": error.found}
    return {"class": type(error).__name__, **fields, "hint": error.hint}


def _phase(connection: Connection, identifier: int) -> PhaseRecord:
    return PhaseRecord.from_row(connection.execute(select(PhaseRow.__table__).where(PhaseRow.id == identifier)).one())


def _phases(rows: Iterable[Any]) -> tuple[PhaseRecord, ...]:
    return tuple(PhaseRecord.from_row(row) for row in rows)
