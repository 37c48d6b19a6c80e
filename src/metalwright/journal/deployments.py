"""Deployments in the journal: the :class:`metalwright.model.deployment.DeploymentStore` that survives a kill."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, insert, select, update

from metalwright.errors import GrantError
from metalwright.journal.database import Database
from metalwright.journal.deployment_rows import (
    OPEN_STATES,
    VOLATILE,
    deployment_of,
    go_refused,
    is_of_current_lease,
    is_open,
    read_deployment,
    read_lease_epoch,
    superseded,
    without_nonce,
)
from metalwright.journal.grants import Grants
from metalwright.journal.host_keys import HostKeys
from metalwright.journal.tables import DeploymentRow, LeaseRow, MediumReadRow
from metalwright.model.agent_protocol import Disk, Done, Failure, Hello, Progress
from metalwright.model.deployment import Deployment, DeploymentState, GoGuard

_COLUMNS = (
    "deployment_id",
    "run",
    "node",
    "created",
    "expires",
    "token_sha256",
    "media_secret_sha256",
    "image_secret_sha256",
)


class Deployments:
    """Keeps deployments; every method is one transaction. *Go* is refused once the node's lease epoch has moved on."""

    def __init__(self, database: Database, grants: Grants, host_keys: HostKeys) -> None:
        self._database = database
        self._grants = grants
        self._host_keys = host_keys

    def create(self, deployment: Deployment) -> None:
        """Keep a new deployment, bound to the node's lease epoch of now, and expire every earlier open one."""
        document = deployment.model_dump(mode="json", by_alias=True, exclude=set(VOLATILE))
        columns = {name: getattr(deployment, name) for name in _COLUMNS}
        with self._database.write("create_deployment") as connection:
            connection.execute(
                update(DeploymentRow)
                .where(DeploymentRow.node == deployment.node, DeploymentRow.state.in_(OPEN_STATES))
                .values(state=DeploymentState.EXPIRED.value)
            )
            connection.execute(
                insert(DeploymentRow).values(
                    **columns,
                    state=deployment.state.value,
                    creation_epoch=read_lease_epoch(connection, deployment.node),
                    document=document,
                )
            )

    def get(self, deployment_id: str, now: datetime) -> Deployment:
        """Return the deployment as it is now. Raises JournalError when there is none of that id."""
        with self._database.read() as connection:
            return read_deployment(connection, deployment_id, now)

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

    def prepared(self, now: datetime) -> tuple[Deployment, ...]:
        """Return the prepared deployments whose run holds its node now."""
        held = select(LeaseRow.node).where(
            LeaseRow.node == DeploymentRow.node, LeaseRow.run == DeploymentRow.run, LeaseRow.released.is_(None)
        )
        statement = select(DeploymentRow.__table__).where(
            DeploymentRow.state == DeploymentState.PREPARED.value, held.exists()
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        seen = [deployment_of(row._mapping, now) for row in rows]
        return tuple(item for item in seen if item.state is DeploymentState.PREPARED)

    def written(self, node: str, now: datetime) -> tuple[Deployment, ...]:
        """Return the deployments of a node that were told *go*, newest first."""
        statement = (
            select(DeploymentRow.__table__)
            .where(DeploymentRow.node == node, DeploymentRow.go_request_id.is_not(None))
            .order_by(DeploymentRow.created.desc(), DeploymentRow.deployment_id)
        )
        with self._database.read() as connection:
            return tuple(deployment_of(row._mapping, now) for row in connection.execute(statement))

    def is_of_current_lease(self, deployment_id: str) -> bool:
        """Return whether it was made under the node's present lease; one of an earlier lease gets no *go*."""
        statement = select(DeploymentRow.deployment_id).where(
            DeploymentRow.deployment_id == deployment_id, is_of_current_lease()
        )
        with self._database.read() as connection:
            return connection.execute(statement).one_or_none() is not None

    def heard(self, deployment_id: str) -> datetime | None:
        """Return when the ramdisk was last heard of (hello, go or progress); ``None`` before its hello."""
        statement = select(DeploymentRow.heard).where(DeploymentRow.deployment_id == deployment_id)
        with self._database.read() as connection:
            return connection.execute(statement).scalar_one_or_none()

    def medium_read(self, deployment_id: str) -> datetime | None:
        """Return when the medium was last fetched; ``None``: never."""
        statement = select(MediumReadRow.at).where(MediumReadRow.deployment_id == deployment_id)
        with self._database.read() as connection:
            return connection.execute(statement).scalar_one_or_none()

    def record_medium_read(self, deployment_id: str, now: datetime) -> None:
        """Record that somebody fetched the medium, or a part of it."""
        with self._database.write("medium_read") as connection:
            there = update(MediumReadRow).where(MediumReadRow.deployment_id == deployment_id).values(at=now)
            if not connection.execute(there).rowcount:
                connection.execute(insert(MediumReadRow).values(deployment_id=deployment_id, at=now))

    def bind_client(self, deployment_id: str, client_key_sha256: str, now: datetime) -> bool:
        """Bind the first client key that asks; return whether this key is the bound one."""
        with self._database.write("bind_client") as connection:
            connection.execute(
                update(DeploymentRow)
                .where(*is_open(deployment_id, now), DeploymentRow.client_key_sha256.is_(None))
                .values(client_key_sha256=client_key_sha256)
            )
            return read_deployment(connection, deployment_id, now).client_key_sha256 == client_key_sha256

    def record_hello(self, deployment_id: str, hello: Hello, now: datetime) -> Deployment:
        """Move ``prepared`` to ``hello``, without keeping the nonce; any other state stays as it is."""
        with self._database.write("record_hello") as connection:
            connection.execute(
                update(DeploymentRow)
                .where(*is_open(deployment_id, now), DeploymentRow.state == DeploymentState.PREPARED.value)
                .values(state=DeploymentState.HELLO.value, heard=now, hello=without_nonce(hello).to_json())
            )
            return read_deployment(connection, deployment_id, now)

    def ask_go(self, deployment_id: str, disk: Disk, request_id: str, now: datetime, guard: GoGuard) -> int:
        """Move ``hello`` to ``go`` once. The guard, its use of a grant and the move are one transaction.

        Raises GrantError, or LockHeldError when a newer run holds the node.
        """
        with self._database.write("ask_go") as connection:
            deployment = read_deployment(connection, deployment_id, now)
            repeated = deployment.state is DeploymentState.GO and deployment.go_request_id == request_id
            if repeated and deployment.lease_epoch is not None:
                return deployment.lease_epoch
            if deployment.state is not DeploymentState.HELLO:
                raise go_refused(deployment)
            epoch = guard(deployment, disk)
            moved = connection.execute(
                update(DeploymentRow)
                .where(
                    *is_open(deployment_id, now),
                    DeploymentRow.state == DeploymentState.HELLO.value,
                    is_of_current_lease(),
                )
                .values(
                    state=DeploymentState.GO.value,
                    heard=now,
                    go_request_id=request_id,
                    go_disk=disk.to_json(),
                    lease_epoch=epoch,
                )
            ).rowcount
            if not moved:
                raise superseded(connection, deployment)
            return epoch

    def record_progress(self, deployment_id: str, progress: Progress, now: datetime) -> bool:
        """Record progress; return whether the agent may continue."""
        states = (DeploymentState.HELLO.value, DeploymentState.GO.value)
        with self._database.write("record_progress") as connection:
            moved = connection.execute(
                update(DeploymentRow)
                .where(*is_open(deployment_id, now), DeploymentRow.state.in_(states))
                .values(progress=progress.to_json(), heard=now)
            ).rowcount
            read_deployment(connection, deployment_id, now)
        return moved == 1

    def finish(self, deployment_id: str, outcome: Done | Failure, now: datetime) -> Deployment:
        """Move to ``done`` (from ``go`` only) or ``failed``; keeps the host key and spends the grant of a write."""
        with self._database.write("finish_deployment") as connection:
            deployment = read_deployment(connection, deployment_id, now)
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
            return read_deployment(connection, deployment_id, now)

    def expire(self, deployment_id: str, now: datetime) -> Deployment:
        """End a deployment that is not final."""
        with self._database.write("expire_deployment") as connection:
            connection.execute(
                update(DeploymentRow)
                .where(DeploymentRow.deployment_id == deployment_id, DeploymentRow.state.in_(OPEN_STATES))
                .values(state=DeploymentState.EXPIRED.value)
            )
            return read_deployment(connection, deployment_id, now)

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
        return None if row is None else deployment_of(row._mapping, now)
