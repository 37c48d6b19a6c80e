"""The tables of the journal, the same in SQLite and PostgreSQL. Times are aware UTC; structures are JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, Index, Text, TypeDecorator
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

SCHEMA_VERSION = 1
"""Raised by every change of a table; other versions are refused. A table that is new is made where it is missing."""


class UtcDateTime(TypeDecorator[datetime]):
    """Aware UTC on both sides, also where the database keeps no zone (SQLite)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a time without a zone; hand the database UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone says nothing")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return aware UTC."""
        del dialect
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """How Python types become columns."""

    type_annotation_map = {  # noqa: RUF012 - read by SQLAlchemy as a plain class attribute
        str: Text(),
        datetime: UtcDateTime(),
        dict[str, Any]: JSON(none_as_null=True),
        list[str]: JSON(none_as_null=True),
    }


class JournalRow(Base):
    """One row: which journal this is."""

    __tablename__ = "journal"

    id: Mapped[str] = mapped_column(primary_key=True)
    schema_version: Mapped[int]
    created: Mapped[datetime]
    tool_version: Mapped[str]


class RunRow(Base):
    """One execution of a command that acts."""

    __tablename__ = "runs"

    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    started: Mapped[datetime]
    by: Mapped[str]
    pid: Mapped[int]
    arguments: Mapped[list[str]]
    commit: Mapped[str | None]
    is_dirty: Mapped[bool]
    tool_version: Mapped[str]
    finished: Mapped[datetime | None]
    result: Mapped[str | None]
    why: Mapped[str | None]


class NodeRunRow(Base):
    """One node in one run, with what was desired when the run began."""

    __tablename__ = "node_runs"

    run: Mapped[str] = mapped_column(primary_key=True)
    node: Mapped[str] = mapped_column(primary_key=True)
    blueprint: Mapped[str]
    recipe: Mapped[str]
    plan: Mapped[str | None]
    state: Mapped[str]
    why: Mapped[str | None]
    updated: Mapped[datetime]


class PhaseRow(Base):
    """One attempt at one phase: written before the act, completed after it."""

    __tablename__ = "phase_records"
    __table_args__ = (Index("phase_records_of_node", "node", "phase"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    run: Mapped[str]
    node: Mapped[str]
    phase: Mapped[str]
    attempt: Mapped[int]
    input_digest: Mapped[str]
    started: Mapped[datetime]
    finished: Mapped[datetime | None]
    result: Mapped[str | None]
    why: Mapped[str | None]
    until: Mapped[datetime | None]
    error: Mapped[dict[str, Any] | None]
    evidence: Mapped[dict[str, Any] | None]


class AttemptRow(Base):
    """How often the same phase was tried with the same input since it last succeeded or was reset."""

    __tablename__ = "attempts"

    node: Mapped[str] = mapped_column(primary_key=True)
    phase: Mapped[str] = mapped_column(primary_key=True)
    input_digest: Mapped[str] = mapped_column(primary_key=True)
    count: Mapped[int]
    identical_failures: Mapped[int]
    last_failure: Mapped[str | None]
    updated: Mapped[datetime]


class EventRow(Base):
    """Append only: what happened, and who did what to a workload and why."""

    __tablename__ = "events"
    __table_args__ = (Index("events_of_node", "node"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    at: Mapped[datetime]
    run: Mapped[str | None]
    node: Mapped[str | None]
    what: Mapped[str]
    who: Mapped[str]
    why: Mapped[str | None]
    plan: Mapped[str | None]
    is_act: Mapped[bool]
    detail: Mapped[dict[str, Any] | None]


class NodeStateRow(Base):
    """Where each node stands."""

    __tablename__ = "node_states"

    node: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[str]
    since: Mapped[datetime]
    why: Mapped[str]
    run: Mapped[str | None]


class KnownGoodRow(Base):
    """The last accepted tuple of each node."""

    __tablename__ = "known_good"

    node: Mapped[str] = mapped_column(primary_key=True)
    record: Mapped[dict[str, Any]]
    since: Mapped[datetime]
    run: Mapped[str | None]


class GrantRow(Base):
    """Permissions to destroy the contents of a disk."""

    __tablename__ = "grants"
    __table_args__ = (Index("grants_of_node", "node"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    node: Mapped[str]
    disk_serial: Mapped[str | None]
    image_sha256: Mapped[str]
    plan: Mapped[str]
    how: Mapped[str]
    by: Mapped[str]
    overwrite: Mapped[bool]
    issued: Mapped[datetime]
    expires: Mapped[datetime]
    used: Mapped[datetime | None]
    used_run: Mapped[str | None]
    spent: Mapped[datetime | None]


class WipeGrantRow(Base):
    """The disks that a grant allows to be erased."""

    __tablename__ = "wipe_grants"

    grant_id: Mapped[str] = mapped_column(primary_key=True)
    serial: Mapped[str] = mapped_column(primary_key=True)


class LeaseRow(Base):
    """Which run may act on a node; the epoch only grows."""

    __tablename__ = "leases"

    node: Mapped[str] = mapped_column(primary_key=True)
    epoch: Mapped[int]
    run: Mapped[str]
    by: Mapped[str]
    host: Mapped[str]
    pid: Mapped[int]
    since: Mapped[datetime]
    released: Mapped[datetime | None]


class DeploymentRow(Base):
    """Attempts to write a node through a boot medium; ``document`` holds what never changes."""

    __tablename__ = "deployments"
    __table_args__ = (Index("deployments_of_node", "node"),)

    deployment_id: Mapped[str] = mapped_column(primary_key=True)
    run: Mapped[str]
    node: Mapped[str]
    state: Mapped[str]
    created: Mapped[datetime]
    expires: Mapped[datetime]
    token_sha256: Mapped[str] = mapped_column(unique=True)
    media_secret_sha256: Mapped[str] = mapped_column(unique=True)
    image_secret_sha256: Mapped[str] = mapped_column(unique=True)
    creation_epoch: Mapped[int | None]
    heard: Mapped[datetime | None]
    client_key_sha256: Mapped[str | None]
    go_request_id: Mapped[str | None]
    lease_epoch: Mapped[int | None]
    document: Mapped[dict[str, Any]]
    hello: Mapped[dict[str, Any] | None]
    go_disk: Mapped[dict[str, Any] | None]
    progress: Mapped[dict[str, Any] | None]
    done: Mapped[dict[str, Any] | None]
    failure: Mapped[dict[str, Any] | None]


class MediumReadRow(Base):
    """When the medium of a deployment was last fetched, or a part of it."""

    __tablename__ = "medium_reads"

    deployment_id: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime]


class CertificatePinRow(Base):
    """The certificate that each BMC showed at first use."""

    __tablename__ = "certificate_pins"

    key: Mapped[str] = mapped_column(primary_key=True)
    fingerprint: Mapped[str]
    first_seen: Mapped[datetime]


class AnnouncedPinRow(Base):
    """Certificates that a BMC may show from now on, since they were made for it."""

    __tablename__ = "announced_pins"

    key: Mapped[str] = mapped_column(primary_key=True)
    fingerprint: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    why: Mapped[str]


class LatchRow(Base):
    """Logins that a BMC refused; not tried again until cleared."""

    __tablename__ = "refused_logins"

    bmc: Mapped[str] = mapped_column(primary_key=True)
    credential_id: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    why: Mapped[str]


class BmcAddressRow(Base):
    """Where each BMC answered last."""

    __tablename__ = "bmc_addresses"

    node: Mapped[str] = mapped_column(primary_key=True)
    address: Mapped[str]
    port: Mapped[int]
    seen: Mapped[datetime]


class PlatformFormRow(Base):
    """In which forms the BMCs of a platform take writes, oldest first."""

    __tablename__ = "platform_forms"

    platform: Mapped[str] = mapped_column(primary_key=True)
    form: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int]
    since: Mapped[datetime]


class HostKeyRow(Base):
    """SSH host keys in the order in which the ramdisk reported them; the newest is the current one."""

    __tablename__ = "ssh_host_keys"
    __table_args__ = (Index("ssh_host_keys_of_node", "node"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    node: Mapped[str]
    key: Mapped[str]
    deployment_id: Mapped[str]
    seen: Mapped[datetime]
