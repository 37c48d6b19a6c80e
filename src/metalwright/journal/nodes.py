"""Where each node stands, and the last tuple that was accepted on it."""

from __future__ import annotations

from sqlalchemy import insert, select, update

from metalwright.journal.database import Database
from metalwright.journal.events import Events
from metalwright.journal.records import KnownGoodRecord, NodeStatus
from metalwright.journal.tables import KnownGoodRow, NodeStateRow
from metalwright.model.addresses import KnownGood
from metalwright.model.phase import NodeState


class Nodes:
    """Node states and known-good tuples. A node without a record is ``planned``: git knows it, history does not."""

    def __init__(self, database: Database, events: Events) -> None:
        self._database = database
        self._events = events

    def set_state(self, node: str, state: NodeState, why: str, run: str | None = None) -> NodeStatus:
        """Record a state; ``since`` moves only when the state changes, and each change is an event."""
        now = self._database.clock()
        with self._database.write("set_state", state.value) as connection:
            known = self.get(node)
            since = known.since if known is not None and known.state is state else now
            values = {"state": state.value, "since": since, "why": why, "run": run}
            if known is None:
                connection.execute(insert(NodeStateRow).values(node=node, **values))
            else:
                connection.execute(update(NodeStateRow).where(NodeStateRow.node == node).values(**values))
            if known is None or known.state is not state:
                before = NodeState.PLANNED if known is None else known.state
                self._events.note(f"state {before.value} → {state.value}", node=node, run=run, why=why)
        return NodeStatus(node=node, state=state, since=since, why=why, run=run)

    def get(self, node: str) -> NodeStatus | None:
        """Return where a node stands; ``None`` when nothing was ever recorded."""
        with self._database.read() as connection:
            row = connection.execute(
                select(NodeStateRow.__table__).where(NodeStateRow.node == node).with_for_update()
            ).one_or_none()
        return None if row is None else NodeStatus.from_row(row)

    def all(self) -> tuple[NodeStatus, ...]:
        """Return every recorded node by name."""
        with self._database.read() as connection:
            rows = connection.execute(select(NodeStateRow.__table__).order_by(NodeStateRow.node))
            return tuple(NodeStatus.from_row(row) for row in rows)

    def set_known_good(self, known_good: KnownGood, run: str | None = None) -> None:
        """Record the tuple that was just accepted on a node; the one before stays in the events."""
        node = known_good.node
        values = {"record": known_good.to_json(), "since": self._database.clock(), "run": run}
        with self._database.write("set_known_good") as connection:
            changed = connection.execute(
                update(KnownGoodRow).where(KnownGoodRow.node == node).values(**values)
            ).rowcount
            if not changed:
                connection.execute(insert(KnownGoodRow).values(node=node, **values))
            self._events.note("known good", node=node, run=run, detail=known_good.to_json())

    def known_good(self, node: str) -> KnownGoodRecord | None:
        """Return the last accepted tuple of a node."""
        statement = select(KnownGoodRow.record, KnownGoodRow.since, KnownGoodRow.run).where(KnownGoodRow.node == node)
        with self._database.read() as connection:
            row = connection.execute(statement).one_or_none()
        return None if row is None else KnownGoodRecord.from_row(row)
