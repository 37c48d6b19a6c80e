"""What the journal gives back: frozen records, times aware UTC."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import ConfigDict, ValidationError

from metalwright.errors import JournalError
from metalwright.journal.writers import may_live
from metalwright.model.addresses import KnownGood
from metalwright.model.base import Frozen
from metalwright.model.grant import Grant
from metalwright.model.phase import NodeState, Phase

RunResult = Literal["ok", "failed", "cancelled"]
PhaseResult = Literal["ok", "failed", "waiting"]
NodeRunState = Literal["running", "waiting", "ok", "failed", "cancelled", "skipped"]


class Record(Frozen):
    """Base of all records; built from database rows."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def from_row(cls, row: Any) -> Self:
        """Return the record of a row. Raises JournalError when somebody altered the row by hand."""
        with readable(cls.__name__):
            return cls.model_validate(row)


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Turn content that does not fit its model into a JournalError; ``what`` names the record."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise JournalError(
            "a record of the journal cannot be read",
            where=what,
            found=f"{'.'.join(map(str, first['loc']))}: {first['msg']}",
            hint="nothing was touched; restore the journal from a backup",
        ) from error


class Run(Record):
    """One execution. ``by`` is ``user@host``; ``finished`` is ``None`` while it runs or when it was killed."""

    id: str
    kind: str
    started: datetime
    by: str
    pid: int
    arguments: tuple[str, ...]
    commit: str | None = None
    is_dirty: bool = False
    tool_version: str
    finished: datetime | None = None
    result: RunResult | None = None
    why: str | None = None


class NodeRun(Record):
    """One node in one run. ``recipe`` is the digest captured when the run began, never a newer one."""

    run: str
    node: str
    blueprint: str
    recipe: str
    plan: str | None = None
    state: NodeRunState
    why: str | None = None
    updated: datetime


class PhaseRecord(Record):
    """One attempt at a phase. ``result`` is ``None`` between intent and outcome, also after a kill.

    ``until`` is the deadline of a ``waiting`` result.
    """

    id: int
    run: str
    node: str
    phase: Phase
    attempt: int
    input_digest: str
    started: datetime
    finished: datetime | None = None
    result: PhaseResult | None = None
    why: str | None = None
    until: datetime | None = None
    error: dict[str, Any] | None = None
    evidence: dict[str, Any] | None = None


class Attempts(Record):
    """How often a phase was begun with this input since it last succeeded; ``identical_failures`` in a row."""

    node: str
    phase: Phase
    input_digest: str
    count: int = 0
    identical_failures: int = 0
    last_failure: str | None = None


class Event(Record):
    """One line of the audit log. ``is_act``: it touched, or allowed touching, a workload."""

    id: int
    at: datetime
    run: str | None = None
    node: str | None = None
    what: str
    who: str
    why: str | None = None
    plan: str | None = None
    is_act: bool = False
    detail: dict[str, Any] | None = None


class NodeStatus(Record):
    """Where a node stands, since when and why."""

    node: str
    state: NodeState
    since: datetime
    why: str
    run: str | None = None


class KnownGoodRecord(Record):
    """The last accepted tuple of a node."""

    record: KnownGood
    since: datetime
    run: str | None = None


class GrantRecord(Record):
    """A grant and what became of it. ``used``: a run was told *go*; ``spent``: its write was verified."""

    grant: Grant
    used: datetime | None = None
    used_run: str | None = None
    spent: datetime | None = None


class Lease(Record):
    """Which run may act on a node. ``released`` is ``None`` while it acts or when it was killed."""

    node: str
    epoch: int
    run: str
    by: str
    host: str
    pid: int
    since: datetime
    released: datetime | None = None

    @property
    def is_working(self) -> bool:
        """Whether its run still works, as far as can be seen from this machine."""
        return self.released is None and may_live(self.host, self.pid)


class CertificatePin(Record):
    """``key`` is a node name or an address; ``fingerprint`` is the SHA-256 of the certificate, 64 hex digits."""

    key: str
    fingerprint: str
    first_seen: datetime


class RefusedLogin(Record):
    """A login that a BMC refused; ``credential_id`` reveals nothing about the password."""

    bmc: str
    credential_id: str
    at: datetime
    why: str


class BmcAddress(Record):
    """Where the BMC of a node answered last."""

    node: str
    address: str
    port: int
    seen: datetime


class HostKey(Record):
    """A public SSH host key (``type base64``) and the deployment whose ramdisk reported it."""

    node: str
    key: str
    deployment_id: str
    seen: datetime
