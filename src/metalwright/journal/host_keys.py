"""SSH host keys of nodes: made by the node itself, reported by its ramdisk over the authenticated channel."""

from __future__ import annotations

from sqlalchemy import insert, select

from metalwright.journal.database import Database
from metalwright.journal.records import HostKey
from metalwright.journal.tables import HostKeyRow


class HostKeys:
    """Keeps the key of every deployment; the newest is the one to expect."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, node: str, key: str, deployment_id: str) -> None:
        """Keep the public key (``type base64``, a comment is dropped) that the ramdisk of a deployment reported."""
        bare = " ".join(key.split()[:2])
        with self._database.write("host_key") as connection:
            known = self.current(node)
            if known is not None and (known.key, known.deployment_id) == (bare, deployment_id):
                return
            values = {"node": node, "key": bare, "deployment_id": deployment_id, "seen": self._database.clock()}
            connection.execute(insert(HostKeyRow).values(**values))

    def current(self, node: str) -> HostKey | None:
        """Return the newest key of a node."""
        return next(iter(reversed(self.history(node))), None)

    def history(self, node: str) -> tuple[HostKey, ...]:
        """Return every key that the node ever had, oldest first."""
        columns = (HostKeyRow.node, HostKeyRow.key, HostKeyRow.deployment_id, HostKeyRow.seen)
        statement = select(*columns).where(HostKeyRow.node == node).order_by(HostKeyRow.id)
        with self._database.read() as connection:
            return tuple(HostKey.from_row(row) for row in connection.execute(statement))
