"""The journal as a whole: one object, one attribute a subject."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from sqlalchemy import select

from metalwright.journal.attempts import AttemptCounts
from metalwright.journal.bmcs import BmcAddresses, CertificatePins, RefusedLogins
from metalwright.journal.database import Database
from metalwright.journal.deployments import Deployments
from metalwright.journal.events import Events
from metalwright.journal.firmware import FirmwareUpdates
from metalwright.journal.grants import Grants
from metalwright.journal.guard import make_go_guard
from metalwright.journal.host_keys import HostKeys
from metalwright.journal.leases import Leases
from metalwright.journal.nodes import Nodes
from metalwright.journal.platforms import PlatformForms
from metalwright.journal.runs import Runs
from metalwright.journal.tables import JournalRow
from metalwright.model.deployment import GoGuard


class Journal:
    """Runs and evidence, grants, deployments, leases, pins and audit. Safe for several threads and processes.

    Every method is one durable transaction; it raises :class:`metalwright.errors.JournalError` when the journal
    cannot be read or written, and then nothing was changed.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.events = Events(database)
        self.runs = Runs(database)
        self.attempts = AttemptCounts(database, self.events)
        self.nodes = Nodes(database, self.events)
        self.grants = Grants(database, self.events)
        self.leases = Leases(database, self.events)
        self.host_keys = HostKeys(database)
        self.deployments = Deployments(database, self.grants, self.host_keys)
        self.pins = CertificatePins(database, self.events)
        self.refused_logins = RefusedLogins(database, self.events)
        self.bmc_addresses = BmcAddresses(database)
        self.platform_forms = PlatformForms(database)
        self.firmware = FirmwareUpdates(self.events)
        with database.read() as connection:
            self._id = connection.execute(select(JournalRow.id)).scalar_one()

    @property
    def id(self) -> str:
        """UUID of this journal, made once; stamps carry it."""
        return self._id

    @property
    def where(self) -> str:
        """The file or URL (without password), for messages."""
        return self._database.where

    def go_guard(self) -> GoGuard:
        """Return the guard for :meth:`metalwright.journal.deployments.Deployments.ask_go`."""
        return make_go_guard(self.leases, self.grants, self.events, self._database.clock)

    @contextmanager
    def together(self, name: str) -> Iterator[None]:
        """Make all writes of the block one transaction; ``name`` names its kill points."""
        with self._database.write(name):
            yield

    def close(self) -> None:
        """Close all connections; the journal cannot be used afterwards."""
        self._database.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
