"""How a deployment lies in its table, and why *go* is refused."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, RowMapping, func, select

from metalwright.errors import GrantError, JournalError, LockHeldError
from metalwright.journal.records import readable
from metalwright.journal.tables import DeploymentRow, LeaseRow
from metalwright.model.agent_protocol import Hello
from metalwright.model.deployment import Deployment, DeploymentState

VOLATILE = (
    "state",
    "client_key_sha256",
    "go_request_id",
    "lease_epoch",
    "hello",
    "go_disk",
    "progress",
    "done",
    "failure",
)
OPEN_STATES = (DeploymentState.PREPARED.value, DeploymentState.HELLO.value, DeploymentState.GO.value)


def is_open(deployment_id: str, now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Condition: this deployment, and it may still change."""
    return (
        DeploymentRow.deployment_id == deployment_id,
        DeploymentRow.state.in_(OPEN_STATES),
        DeploymentRow.expires > now,
    )


def is_of_current_lease() -> ColumnElement[bool]:
    """Condition: made in the lease epoch in which the node is now (no lease is epoch 0)."""
    current = select(LeaseRow.epoch).where(LeaseRow.node == DeploymentRow.node).scalar_subquery()
    return func.coalesce(DeploymentRow.creation_epoch, 0) == func.coalesce(current, 0)


def read_lease_epoch(connection: Connection, node: str) -> int | None:
    """Return the lease epoch of a node now."""
    return connection.execute(select(LeaseRow.epoch).where(LeaseRow.node == node)).scalar_one_or_none()


def read_deployment(connection: Connection, deployment_id: str, now: datetime) -> Deployment:
    """Return a deployment, its row locked in a write. Raises JournalError when there is none of that id."""
    row = connection.execute(
        select(DeploymentRow.__table__).where(DeploymentRow.deployment_id == deployment_id).with_for_update()
    ).one_or_none()
    if row is None:
        raise JournalError("no such deployment", where=deployment_id, hint="`metalwright journal` lists the runs")
    return deployment_of(row._mapping, now)


def deployment_of(values: RowMapping, now: datetime) -> Deployment:
    """Return the deployment of a row; one that is past its time and not final is ``expired``."""
    with readable(f"deployment {values['deployment_id']}"):
        deployment = Deployment.model_validate({**values["document"], **{name: values[name] for name in VOLATILE}})
    if deployment.expires <= now and not deployment.state.is_final:
        return deployment.model_copy(update={"state": DeploymentState.EXPIRED})
    return deployment


def without_nonce(hello: Hello) -> Hello:
    """Return a hello to keep: the nonce is a secret of the medium, already checked against its SHA-256."""
    return hello.model_copy(update={"nonce": ""})


def go_refused(deployment: Deployment) -> GrantError:
    """Return the refusal of a *go* in the wrong state."""
    return GrantError(
        "this deployment may not write",
        where=deployment.node,
        expected="state hello",
        found=f"state {deployment.state.value}",
        hint="one boot medium allows one write; provision the node again for a new one",
    )


def superseded(connection: Connection, deployment: Deployment) -> LockHeldError:
    """Return the refusal of a *go* that comes too late."""
    current = read_lease_epoch(connection, deployment.node)
    return LockHeldError(
        "a newer run holds the node",
        where=deployment.node,
        expected="the lease epoch in which the boot medium was made",
        found=f"lease epoch {current}",
        hint="this ramdisk belongs to an earlier run; let the newer one finish",
    )
