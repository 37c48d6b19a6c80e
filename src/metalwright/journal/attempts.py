"""How often a phase was tried with the same input: kept across restarts, so that no supervisor repeats it for ever.

A success clears the count; so does another input (it is counted apart) and :meth:`AttemptCounts.reset`.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, Update, delete, insert, select, update

from metalwright.journal.database import Database
from metalwright.journal.events import Events
from metalwright.journal.records import Attempts, PhaseRecord, PhaseResult
from metalwright.journal.tables import AttemptRow, PhaseRow
from metalwright.model.phase import Phase


class AttemptCounts:
    """Reads and resets the counts; :meth:`metalwright.journal.runs.Runs.begin_phase` counts."""

    def __init__(self, database: Database, events: Events) -> None:
        self._database = database
        self._events = events

    def get(self, node: str, phase: Phase, input_digest: str = "") -> Attempts:
        """Return the attempts since the last success; zero when there were none."""
        with self._database.read() as connection:
            return _read(connection, node, phase, input_digest)

    def reset(self, node: str, *, why: str, phase: Phase | None = None) -> int:
        """Forget the attempts of a node (or of one phase) on somebody's word; returns how many counts went."""
        statement = delete(AttemptRow).where(AttemptRow.node == node)
        if phase is not None:
            statement = statement.where(AttemptRow.phase == phase.value)
        with self._database.write("reset_attempts") as connection:
            count = connection.execute(statement).rowcount
            self._events.act("attempts reset", why=why, node=node, detail={"phase": phase, "counts": count})
        return count


def count_attempt(connection: Connection, node: str, phase: Phase, input_digest: str, now: datetime) -> int:
    """Count one more attempt, unless the last one with this input is only waiting; returns its number from 1."""
    known = _read(connection, node, phase, input_digest)
    if known.count and _is_waiting(connection, node, phase, input_digest):
        return known.count
    values = {"count": known.count + 1, "updated": now}
    if known.count:
        connection.execute(_update(node, phase, input_digest).values(**values))
    else:
        key = {"node": node, "phase": phase.value, "input_digest": input_digest}
        connection.execute(insert(AttemptRow).values(**key, **values, identical_failures=0))
    return known.count + 1


def record_outcome(
    connection: Connection, record: PhaseRecord, result: PhaseResult, failure: str | None, now: datetime
) -> None:
    """Clear the count after a success; count a failure that is the same as the one before it."""
    key = (record.node, record.phase, record.input_digest)
    if result == "waiting":
        return
    if result == "ok":
        connection.execute(
            delete(AttemptRow).where(AttemptRow.node == record.node, AttemptRow.phase == record.phase.value)
        )
        return
    known = _read(connection, *key)
    same = known.identical_failures + 1 if failure == known.last_failure else 1
    connection.execute(_update(*key).values(identical_failures=same, last_failure=failure, updated=now))


def _update(node: str, phase: Phase, input_digest: str) -> Update:
    return update(AttemptRow).where(
        AttemptRow.node == node, AttemptRow.phase == phase.value, AttemptRow.input_digest == input_digest
    )


def _read(connection: Connection, node: str, phase: Phase, input_digest: str) -> Attempts:
    row = connection.execute(
        select(AttemptRow.count, AttemptRow.identical_failures, AttemptRow.last_failure).where(
            AttemptRow.node == node, AttemptRow.phase == phase.value, AttemptRow.input_digest == input_digest
        )
    ).one_or_none()
    if row is None:
        return Attempts(node=node, phase=phase, input_digest=input_digest)
    count, identical_failures, last_failure = row
    return Attempts(
        node=node,
        phase=phase,
        input_digest=input_digest,
        count=count,
        identical_failures=identical_failures,
        last_failure=last_failure,
    )


def _is_waiting(connection: Connection, node: str, phase: Phase, input_digest: str) -> bool:
    last = connection.execute(
        select(PhaseRow.result)
        .where(PhaseRow.node == node, PhaseRow.phase == phase.value, PhaseRow.input_digest == input_digest)
        .order_by(PhaseRow.id.desc())
        .limit(1)
    ).scalar_one_or_none()
    return last == "waiting"
