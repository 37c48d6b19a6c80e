"""Deployments in the journal: the :class:`metalwright.model.deployment.DeploymentStore` that survives a kill."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, insert, or_, select, update

from metalwright.errors import GrantError, JournalError, LockHeldError
from metalwright.journal.database import Database
from metalwright.journal.grants import Grants
from metalwright.journal.host_keys import HostKeys
from metalwright.journal.records import readable
from metalwright.journal.tables import DeploymentRow, LeaseRow
from metalwright.model.agent_protocol import Disk, Done, Failure, Hello, Progress
from metalwright.model.deployment import Deployment, DeploymentState, GoGuard

_VOLATILE = (
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
_OPEN = (DeploymentState.PREPARED.value, DeploymentState.HELLO.value, DeploymentState.GO.value)


class Deployments:
    """Keeps deployments; every method is one transaction. *Go* is refused once the node's lease epoch has moved on."""

    def __init__(self, database: Database, grants: Grants, host_keys: HostKeys) -> None:
        self._database = database
        self._grants = grants
        self._host_keys = host_keys

    def create(self, deployment: Deployment) -> None:
        """Keep a new deployment, bound to the node's lease epoch of now, and expire every earlier open one."""
        document = deployment.model_dump(mode="json", by_alias=True, exclude=set(_VOLATILE))
        columns = {
            name: getattr(deployment, name)
            for name in ("deployment_id", "run", "node", "created", "expires", "token_sha256")
        }
        with self._database.write("create_deployment") as connection:
            connection.execute(
                update(DeploymentRow)
                .where(DeploymentRow.node == deployment.node, DeploymentRow.state.in_(_OPEN))
                .values(state=DeploymentState.EXPIRED.value)
            )
            connection.execute(
                insert(DeploymentRow).values(
                    **columns,
                    state=deployment.state.value,
                    media_secret_sha256=deployment.media_secret_sha256,
                    image_secret_sha256=deployment.image_secret_sha256,
                    creation_epoch=_lease_epoch(connection, deployment.node),
                    document=document,
                )
            )

    def get(self, deployment_id: str, now: datetime) -> Deployment:
        """Return the deployment as it is now. Raises JournalError when there is none of that id."""
        with self._database.read() as connection:
            return _get(connection, deployment_id, now)

    def get_by_token_hash(self, token_sha256: str, now: datetime) -> Deployment | None:
        """Return the deployment whose token has this SHA-256."""
        return self._find(DeploymentRow.token_sha256 == token_sha256, now)

    def get_by_media_secret_hash(self, sha256: str, now: datetime) -> Deployment | None:
        """Return the deployment whose media URL secret has this SHA-256."""
        return self._find(DeploymentRow.media_secret_sha256 == sha256, now)

    def get_by_image_secret_hash(self, sha256: str, now: datetime) -> Deployment | None:
        """Return the deployment whose image URL secret has this SHA-256."""
        return self._find(DeploymentRow.image_secret_sha256 == sha256, now)

    def newest_of_node(self, node: str, now: datetime) -> Deployment | None:
        """Return the newest deployment of a node, whatever its state."""
        return self._find(DeploymentRow.node == node, now)

    def bind_client(self, deployment_id: str, client_key_sha256: str, now: datetime) -> bool:
        """Bind the first client key that asks; return whether this key is the bound one."""
        with self._database.write("bind_client") as connection:
            connection.execute(
                update(DeploymentRow)
                .where(*_open(deployment_id, now), DeploymentRow.client_key_sha256.is_(None))
                .values(client_key_sha256=client_key_sha256)
            )
            return _get(connection, deployment_id, now).client_key_sha256 == client_key_sha256

    def record_hello(self, deployment_id: str, hello: Hello, now: datetime) -> Deployment:
        """Move ``prepared`` to ``hello``, without keeping the nonce; any other state stays as it is."""
        with self._database.write("record_hello") as connection:
            connection.execute(
                update(DeploymentRow)
                .where(*_open(deployment_id, now), DeploymentRow.state == DeploymentState.PREPARED.value)
                .values(state=DeploymentState.HELLO.value, hello=_without_nonce(hello).to_json())
            )
            return _get(connection, deployment_id, now)

    def ask_go(self, deployment_id: str, disk: Disk, request_id: str, now: datetime, guard: GoGuard) -> int:
        """Move ``hello`` to ``go`` once. The guard, its use of a grant and the move are one transaction.

        Raises GrantError, or LockHeldError when a newer run holds the node.
        """
        with self._database.write("ask_go") as connection:
            deployment = _get(connection, deployment_id, now)
            repeated = deployment.state is DeploymentState.GO and deployment.go_request_id == request_id
            if repeated and deployment.lease_epoch is not None:
                return deployment.lease_epoch
            if deployment.state is not DeploymentState.HELLO:
                raise _go_refused(deployment)
            epoch = guard(deployment, disk)
            moved = connection.execute(
                update(DeploymentRow)
                .where(
                    *_open(deployment_id, now),
                    DeploymentRow.state == DeploymentState.HELLO.value,
                    _is_of_current_lease(),
                )
                .values(
                    state=DeploymentState.GO.value, go_request_id=request_id, go_disk=disk.to_json(), lease_epoch=epoch
                )
            ).rowcount
            if not moved:
                raise _superseded(connection, deployment)
            return epoch

    def record_progress(self, deployment_id: str, progress: Progress, now: datetime) -> bool:
        """Record progress; return whether the agent may continue."""
        states = (DeploymentState.HELLO.value, DeploymentState.GO.value)
        with self._database.write("record_progress") as connection:
            moved = connection.execute(
                update(DeploymentRow)
                .where(*_open(deployment_id, now), DeploymentRow.state.in_(states))
                .values(progress=progress.to_json())
            ).rowcount
            _get(connection, deployment_id, now)
        return moved == 1

    def finish(self, deployment_id: str, outcome: Done | Failure, now: datetime) -> Deployment:
        """Move to ``done`` (from ``go`` only) or ``failed``; keeps the host key and spends the grant of a write."""
        with self._database.write("finish_deployment") as connection:
            deployment = _get(connection, deployment_id, now)
            if deployment.state.is_final:
                return deployment
            if isinstance(outcome, Failure):
                values = {"state": DeploymentState.FAILED.value, "failure": outcome.to_json()}
            elif deployment.state is DeploymentState.GO:
                values = {"state": DeploymentState.DONE.value, "done": outcome.to_json()}
                self._keep(deployment, outcome)
            else:
                raise GrantError(
                    "a finished write was reported that nobody allowed",
                    where=deployment.node,
                    expected="state go",
                    found=f"state {deployment.state.value}",
                    hint="do not trust what is on that disk; plan the node again",
                )
            connection.execute(
                update(DeploymentRow).where(DeploymentRow.deployment_id == deployment_id).values(**values)
            )
            return _get(connection, deployment_id, now)

    def expire(self, deployment_id: str, now: datetime) -> Deployment:
        """End a deployment that is not final."""
        with self._database.write("expire_deployment") as connection:
            connection.execute(
                update(DeploymentRow)
                .where(DeploymentRow.deployment_id == deployment_id, DeploymentRow.state.in_(_OPEN))
                .values(state=DeploymentState.EXPIRED.value)
            )
            return _get(connection, deployment_id, now)

    def _keep(self, deployment: Deployment, outcome: Done) -> None:
        if outcome.ssh_host_key is not None:
            self._host_keys.record(deployment.node, outcome.ssh_host_key, deployment.deployment_id)
        if outcome.read_back_sha256 == outcome.content_sha256 == deployment.task.image.content_sha256:
            self._grants.spend(deployment.run, deployment.node)

    def _find(self, condition: ColumnElement[bool], now: datetime) -> Deployment | None:
        statement = (
            select(DeploymentRow.__table__)
            .where(condition)
            .order_by(DeploymentRow.created.desc(), DeploymentRow.deployment_id)
            .limit(1)
        )
        with self._database.read() as connection:
            row = connection.execute(statement).one_or_none()
        return None if row is None else _deployment(dict(row._mapping), now)


def _open(deployment_id: str, now: datetime) -> tuple[ColumnElement[bool], ...]:
    return (
        DeploymentRow.deployment_id == deployment_id,
        DeploymentRow.state.in_(_OPEN),
        DeploymentRow.expires > now,
    )


def _is_of_current_lease() -> ColumnElement[bool]:
    current = select(LeaseRow.epoch).where(LeaseRow.node == DeploymentRow.node).scalar_subquery()
    return or_(DeploymentRow.creation_epoch.is_(None), DeploymentRow.creation_epoch == current)


def _lease_epoch(connection: Connection, node: str) -> int | None:
    return connection.execute(select(LeaseRow.epoch).where(LeaseRow.node == node)).scalar_one_or_none()


def _get(connection: Connection, deployment_id: str, now: datetime) -> Deployment:
    row = connection.execute(
        select(DeploymentRow.__table__).where(DeploymentRow.deployment_id == deployment_id).with_for_update()
    ).one_or_none()
    if row is None:
        raise JournalError("no such deployment", where=deployment_id, hint="`metalwright journal` lists the runs")
    return _deployment(dict(row._mapping), now)


def _deployment(values: dict[str, Any], now: datetime) -> Deployment:
    with readable(f"deployment {values['deployment_id']}"):
        deployment = Deployment.model_validate({**values["document"], **{name: values[name] for name in _VOLATILE}})
    if deployment.expires <= now and not deployment.state.is_final:
        return deployment.model_copy(update={"state": DeploymentState.EXPIRED})
    return deployment


def _without_nonce(hello: Hello) -> Hello:
    """The nonce is a secret of the medium, already checked against its SHA-256; the journal keeps no secret."""
    return hello.model_copy(update={"nonce": ""})


def _go_refused(deployment: Deployment) -> GrantError:
    return GrantError(
        "this deployment may not write",
        where=deployment.node,
        expected="state hello",
        found=f"state {deployment.state.value}",
        hint="one boot medium allows one write; provision the node again for a new one",
    )


def _superseded(connection: Connection, deployment: Deployment) -> LockHeldError:
    current = _lease_epoch(connection, deployment.node)
    return LockHeldError(
        "a newer run holds the node",
        where=deployment.node,
        expected="the lease epoch in which the boot medium was made",
        found=f"lease epoch {current}",
        hint="this ramdisk belongs to an earlier run; let the newer one finish",
    )
