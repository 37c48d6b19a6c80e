"""What the BMCs of a platform taught: in which form they take a write, from which target they start a virtual CD."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import delete, insert, select

from metalwright.journal.database import Database
from metalwright.journal.tables import PlatformFormRow


class PlatformForms:
    """The memory of forms (:class:`metalwright.redfish.adaptations.FormMemory`) that all processes share."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def recall(self, platform: str) -> tuple[str, ...]:
        """Return the names of the forms that the platform took, in their order."""
        statement = (
            select(PlatformFormRow.form).where(PlatformFormRow.platform == platform).order_by(PlatformFormRow.number)
        )
        with self._database.read() as connection:
            return tuple(connection.execute(statement).scalars())

    def keep(self, platform: str, forms: Iterable[str]) -> None:
        """Keep exactly these names, in this order."""
        names = tuple(dict.fromkeys(forms))
        with self._database.write("keep_forms") as connection:
            if names == self.recall(platform):
                return
            connection.execute(delete(PlatformFormRow).where(PlatformFormRow.platform == platform))
            now = self._database.clock()
            rows = [
                {"platform": platform, "form": name, "number": number, "since": now}
                for number, name in enumerate(names)
            ]
            if rows:
                connection.execute(insert(PlatformFormRow), rows)
