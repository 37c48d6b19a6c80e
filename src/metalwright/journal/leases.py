"""Leases: which run may act on a node. The epoch grows with every lease, so that an older run can be told apart.

On one machine the kernel's lock (:mod:`metalwright.journal.locks`) decides who comes first; the lease then tells a
ramdisk of an earlier run that its time is over. Between machines that share a journal the lease decides.
"""

from __future__ import annotations

import os
from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from metalwright.errors import JournalError, LockHeldError
from metalwright.journal.database import Database
from metalwright.journal.events import Events
from metalwright.journal.records import Lease
from metalwright.journal.tables import LeaseRow
from metalwright.journal.writers import host_name, user_at_host


class Leases:
    """Takes, releases and takes over leases."""

    def __init__(self, database: Database, events: Events) -> None:
        self._database = database
        self._events = events

    def get(self, node: str) -> Lease | None:
        """Return the newest lease of a node, released or not."""
        with self._database.read() as connection:
            return _read(connection, node)

    def check_free(self, node: str) -> None:
        """Raise LockHeldError when a run on another machine has not released the node."""
        _refuse_other_machine(node, self.get(node))

    def take(self, node: str, run: str) -> Lease:
        """Begin a new epoch for ``run``; call it with the node's lock held.

        Raises LockHeldError when a run on another machine has not released the node: its death cannot be seen from
        here. A lease of this machine that was not released belongs to a dead process, since the lock is ours.
        """
        with self._database.write("take_lease") as connection:
            known = _read(connection, node)
            _refuse_other_machine(node, known)
            return _begin(connection, known, node, run, self._database.clock())

    def take_over(self, node: str, run: str, why: str) -> Lease:
        """Begin a new epoch whoever holds the old one; audited. Ramdisks of the old one are refused from now on."""
        with self._database.write("take_over") as connection:
            known = _read(connection, node)
            detail = None if known is None else {"epoch": known.epoch, "run": known.run, "by": known.by}
            self._events.act("takeover", node=node, run=run, why=why, detail=detail)
            return _begin(connection, known, node, run, self._database.clock())

    def release(self, lease: Lease) -> None:
        """End a lease; nothing happens when a newer epoch has begun."""
        with self._database.write("release_lease") as connection:
            connection.execute(
                update(LeaseRow)
                .where(LeaseRow.node == lease.node, LeaseRow.epoch == lease.epoch, LeaseRow.released.is_(None))
                .values(released=self._database.clock())
            )


def _refuse_other_machine(node: str, known: Lease | None) -> None:
    if known is not None and known.released is None and known.host != host_name():
        raise LockHeldError(
            "another run holds the node",
            where=node,
            found=f"{known.by} pid {known.pid}, run {known.run}, since {known.since:%Y-%m-%d %H:%M:%SZ}",
            hint=f"if that run is dead: `metalwright takeover {node}`",
        )


def _begin(connection: Connection, known: Lease | None, node: str, run: str, now: datetime) -> Lease:
    lease = Lease(
        node=node,
        epoch=1 if known is None else known.epoch + 1,
        run=run,
        by=user_at_host(),
        host=host_name(),
        pid=os.getpid(),
        since=now,
    )
    if known is None:
        connection.execute(insert(LeaseRow).values(**lease.model_dump()))
        return lease
    newer = update(LeaseRow).where(LeaseRow.node == node, LeaseRow.epoch == known.epoch)
    if not connection.execute(newer.values(**lease.model_dump())).rowcount:
        raise JournalError("the lease changed meanwhile", where=node, hint="run the command again")
    return lease


def _read(connection: Connection, node: str) -> Lease | None:
    row = connection.execute(select(LeaseRow.__table__).where(LeaseRow.node == node).with_for_update()).one_or_none()
    return None if row is None else Lease.from_row(row)
