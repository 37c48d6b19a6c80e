"""What the BMCs of a platform taught: in which form they take a write, from which target they start a virtual CD."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import delete, insert, select

from metalwright.journal.database import Database
from metalwright.journal.tables import PlatformFormRow
from metalwright.redfish.adaptations import merged


class PlatformForms:
    """The memory of forms (:class:`metalwright.redfish.adaptations.FormMemory`) that all processes share."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def recall(self, platform: str) -> tuple[str, ...]:
        """Return the names of the forms that the platform took, oldest first."""
        statement = (
            select(PlatformFormRow.form).where(PlatformFormRow.platform == platform).order_by(PlatformFormRow.number)
        )
        with self._database.read() as connection:
            return tuple(connection.execute(statement).scalars())

    def learn(self, platform: str, forms: Iterable[str]) -> None:
        """Keep these names instead of their opposites."""
        with self._database.write("learn_forms") as connection:
            known = self.recall(platform)
            names = merged(known, forms)
            if names == known:
                return
            connection.execute(delete(PlatformFormRow).where(PlatformFormRow.platform == platform))
            now = self._database.clock()
            rows = [
                {"platform": platform, "form": name, "number": number, "since": now}
                for number, name in enumerate(names)
            ]
            connection.execute(insert(PlatformFormRow), rows)
