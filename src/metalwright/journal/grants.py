"""Grants: kept, found and used up. A run that was told *go* binds its grant; a verified write spends it.

Until it is spent, only the run that it is bound to can use it again: a write that failed half-way may be repeated by
the same run, and by nobody else.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import ColumnElement, Connection, Row, and_, insert, or_, select, update

from metalwright.errors import GrantError
from metalwright.journal.database import Database
from metalwright.journal.events import Events
from metalwright.journal.records import GrantRecord, readable
from metalwright.journal.tables import GrantRow, WipeGrantRow
from metalwright.journal.writers import user_at_host
from metalwright.model.grant import Grant

_GRANT_COLUMNS = tuple(name for name in Grant.model_fields if name != "wipe")


class Grants:
    """Issues grants and uses each for one run only."""

    def __init__(self, database: Database, events: Events) -> None:
        self._database = database
        self._events = events

    def make(
        self,
        node: str,
        *,
        image_sha256: str,
        plan: str,
        how: Literal["plan", "typed"],
        valid_for: timedelta,
        disk_serial: str | None = None,
        overwrite: bool = False,
        wipe: Iterable[str] = (),
    ) -> Grant:
        """Make and issue a grant by the person who runs this process, valid from now."""
        now = self._database.clock()
        grant = Grant(
            id=f"g-{secrets.token_hex(6)}",
            node=node,
            disk_serial=disk_serial,
            image_sha256=image_sha256,
            plan=plan,
            how=how,
            by=user_at_host(),
            overwrite=overwrite,
            wipe=tuple(sorted(wipe)),
            issued=now,
            expires=now + valid_for,
        )
        self.issue(grant)
        return grant

    def issue(self, grant: Grant) -> None:
        """Keep a grant; audited."""
        with self._database.write("issue_grant") as connection:
            connection.execute(insert(GrantRow).values(**grant.model_dump(exclude={"wipe"})))
            for serial in grant.wipe:
                connection.execute(insert(WipeGrantRow).values(grant_id=grant.id, serial=serial))
            self._events.act(
                "grant issued",
                node=grant.node,
                why=f"{grant.how} confirmation",
                plan=grant.plan,
                who=grant.by,
                detail=grant.to_json(),
            )

    def find_valid(self, node: str, image_sha256: str | None, now: datetime, *, run: str | None = None) -> Grant | None:
        """Return the newest grant of a node for this image (``None``: any image) that ``run`` may use now."""
        statement = select(GrantRow.__table__).where(GrantRow.node == node, _is_open(now, run))
        if image_sha256 is not None:
            statement = statement.where(GrantRow.image_sha256 == image_sha256)
        with self._database.read() as connection:
            row = connection.execute(statement.order_by(GrantRow.issued.desc(), GrantRow.id).limit(1)).one_or_none()
            return None if row is None else _record(row, _serials(connection, row.id)).grant

    def use(self, grant_id: str, run: str, now: datetime) -> None:
        """Bind a grant to a run, in one statement. Raises GrantError when it is spent, expired or another run's."""
        with self._database.write("use_grant") as connection:
            bound = connection.execute(
                update(GrantRow).where(GrantRow.id == grant_id, _is_open(now, run)).values(used=now, used_run=run)
            ).rowcount
            if not bound:
                raise self._refusal(grant_id, now)

    def spend(self, run: str, node: str) -> None:
        """A write of this run was verified: its grants for the node allow nothing more."""
        with self._database.write("spend_grant") as connection:
            connection.execute(
                update(GrantRow)
                .where(GrantRow.used_run == run, GrantRow.node == node, GrantRow.spent.is_(None))
                .values(spent=self._database.clock())
            )

    def expire(self, grant_id: str, why: str) -> None:
        """End a grant now; audited."""
        now = self._database.clock()
        with self._database.write("expire_grant") as connection:
            connection.execute(
                update(GrantRow).where(GrantRow.id == grant_id, GrantRow.expires > now).values(expires=now)
            )
            self._events.act("grant expired", why=why, detail={"grant": grant_id})

    def of_node(self, node: str) -> tuple[GrantRecord, ...]:
        """Return every grant of a node, oldest first, with what became of it."""
        statement = select(GrantRow.__table__).where(GrantRow.node == node).order_by(GrantRow.issued, GrantRow.id)
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
            return tuple(_record(row, _serials(connection, row.id)) for row in rows)

    def _refusal(self, grant_id: str, now: datetime) -> GrantError:
        with self._database.read() as connection:
            row = connection.execute(select(GrantRow.__table__).where(GrantRow.id == grant_id)).one_or_none()
        return GrantError(
            "the grant does not allow this",
            where=grant_id,
            expected="a grant that is not expired, not spent, and not bound to another run",
            found="no such grant" if row is None else _standing(_record(row), now),
            hint="make a new plan; it makes a new grant",
        )


def _is_open(now: datetime, run: str | None) -> ColumnElement[bool]:
    is_free = GrantRow.used.is_(None)
    is_usable = is_free if run is None else or_(is_free, GrantRow.used_run == run)
    return and_(GrantRow.issued <= now, GrantRow.expires > now, GrantRow.spent.is_(None), is_usable)


def _serials(connection: Connection, grant_id: str) -> tuple[str, ...]:
    """The disks that a grant allows to be erased."""
    statement = select(WipeGrantRow.serial).where(WipeGrantRow.grant_id == grant_id).order_by(WipeGrantRow.serial)
    return tuple(connection.execute(statement).scalars())


def _record(row: Row[tuple[object, ...]], wipe: tuple[str, ...] = ()) -> GrantRecord:
    values = dict(row._mapping)
    with readable(f"grant {row.id}"):
        grant = Grant.model_validate({**{name: values[name] for name in _GRANT_COLUMNS}, "wipe": wipe})
    return GrantRecord(grant=grant, used=row.used, used_run=row.used_run, spent=row.spent)


def _standing(record: GrantRecord, now: datetime) -> str:
    if record.spent is not None:
        return f"spent by run {record.used_run} at {record.spent:%Y-%m-%d %H:%M:%SZ}"
    if record.grant.expires <= now:
        return f"expired at {record.grant.expires:%Y-%m-%d %H:%M:%SZ}"
    return f"bound to run {record.used_run}"
