"""The audit log: append only; what happened, who did it, why, and by which plan."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, insert, select

from metalwright.journal.database import Database
from metalwright.journal.records import Event
from metalwright.journal.tables import EventRow
from metalwright.journal.writers import user_at_host


class Events:
    """Appends and reads events; nothing changes or removes one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(
        self,
        what: str,
        *,
        node: str | None = None,
        run: str | None = None,
        why: str | None = None,
        detail: dict[str, Any] | None = None,
    ) -> None:
        """Record something worth knowing later: what was asked, answered or waited for."""
        self._append(what, node=node, run=run, why=why, plan=None, is_act=False, detail=detail, who=user_at_host())

    def act(
        self,
        what: str,
        *,
        why: str,
        node: str | None = None,
        run: str | None = None,
        plan: str | None = None,
        detail: dict[str, Any] | None = None,
        who: str | None = None,
    ) -> None:
        """Record, before doing it, an act that touches a workload or a safeguard. ``who`` defaults to user@host."""
        who = who or user_at_host()
        self._append(what, node=node, run=run, why=why, plan=plan, is_act=True, detail=detail, who=who)

    def of(self, *, node: str | None = None, run: str | None = None, limit: int = 1000) -> tuple[Event, ...]:
        """Return the newest ``limit`` events of a node, a run or everything, oldest first."""
        statement = select(EventRow.__table__).order_by(EventRow.id.desc()).limit(limit)
        if node is not None:
            statement = statement.where(EventRow.node == node)
        if run is not None:
            statement = statement.where(EventRow.run == run)
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        return tuple(Event.from_row(row) for row in reversed(rows))

    def newest_by_node(self, *whats: str, node: str | None = None) -> dict[str, str]:
        """Return for each node, or for one, which of these events came last; nodes with none of them are left out."""
        newest = select(func.max(EventRow.id)).where(EventRow.what.in_(whats), EventRow.node.is_not(None))
        newest = newest.group_by(EventRow.node) if node is None else newest.where(EventRow.node == node)
        statement = select(EventRow.node, EventRow.what).where(EventRow.id.in_(newest))
        with self._database.read() as connection:
            return {str(row.node): row.what for row in connection.execute(statement)}

    def _append(self, what: str, **values: Any) -> None:
        with self._database.write("event", what) as connection:
            connection.execute(insert(EventRow).values(at=self._database.clock(), what=what, **values))
