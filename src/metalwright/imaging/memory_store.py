"""A :class:`~metalwright.model.deployment.DeploymentStore` in memory: the reference behaviour, for one process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

from metalwright.errors import GrantError, JournalError
from metalwright.model.agent_protocol import Disk, Done, Failure, Hello, Progress
from metalwright.model.deployment import Deployment, DeploymentState, GoGuard


class MemoryDeploymentStore:
    """Keeps deployments until the process ends."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._deployments: dict[str, Deployment] = {}
        self.medium_reads: dict[str, datetime] = {}

    def record_medium_read(self, deployment_id: str, now: datetime) -> None:
        """See :class:`DeploymentStore`."""
        self.medium_reads[deployment_id] = now

    def create(self, deployment: Deployment) -> None:
        """See :class:`DeploymentStore`."""
        with self._lock:
            for other in list(self._deployments.values()):
                if other.node == deployment.node:
                    self.expire(other.deployment_id, deployment.created)
            self._deployments[deployment.deployment_id] = deployment

    def get(self, deployment_id: str, now: datetime) -> Deployment:
        """See :class:`DeploymentStore`."""
        with self._lock:
            deployment = self._deployments.get(deployment_id)
            if deployment is None:
                raise JournalError("no such deployment", where=deployment_id)
            if not deployment.state.is_final and now >= deployment.expires:
                return self._update(deployment, state=DeploymentState.EXPIRED)
            return deployment

    def get_by_token_hash(self, token_sha256: str, now: datetime) -> Deployment | None:
        """See :class:`DeploymentStore`."""
        return self._find(lambda deployment: deployment.token_sha256 == token_sha256, now)

    def get_by_media_secret_hash(self, sha256: str, now: datetime) -> Deployment | None:
        """See :class:`DeploymentStore`."""
        return self._find(lambda deployment: deployment.media_secret_sha256 == sha256, now)

    def get_by_image_secret_hash(self, sha256: str, now: datetime) -> Deployment | None:
        """See :class:`DeploymentStore`."""
        return self._find(lambda deployment: deployment.image_secret_sha256 == sha256, now)

    def prepared(self, now: datetime) -> tuple[Deployment, ...]:
        """See :class:`DeploymentStore`."""
        with self._lock:
            seen = [self.get(deployment_id, now) for deployment_id in list(self._deployments)]
        return tuple(item for item in seen if item.state is DeploymentState.PREPARED)

    def bind_client(self, deployment_id: str, client_key_sha256: str, now: datetime) -> bool:
        """See :class:`DeploymentStore`."""
        with self._lock:
            deployment = self.get(deployment_id, now)
            if deployment.client_key_sha256 is None and not deployment.state.is_final:
                deployment = self._update(deployment, client_key_sha256=client_key_sha256)
            return deployment.client_key_sha256 == client_key_sha256

    def record_hello(self, deployment_id: str, hello: Hello, now: datetime) -> Deployment:
        """See :class:`DeploymentStore`."""
        with self._lock:
            deployment = self.get(deployment_id, now)
            if deployment.state is not DeploymentState.PREPARED:
                return deployment
            return self._update(deployment, state=DeploymentState.HELLO, hello=hello)

    def ask_go(self, deployment_id: str, disk: Disk, request_id: str, now: datetime, guard: GoGuard) -> int:
        """See :class:`DeploymentStore`."""
        with self._lock:
            deployment = self.get(deployment_id, now)
            if deployment.go_request_id == request_id and deployment.lease_epoch is not None:
                return deployment.lease_epoch
            if deployment.state is not DeploymentState.HELLO:
                raise GrantError(
                    "go can be asked once, after hello",
                    where=deployment.node,
                    expected=DeploymentState.HELLO.value,
                    found=deployment.state.value,
                    hint="run provision again: it makes a new boot medium",
                )
            epoch = guard(deployment, disk)
            self._update(
                deployment, state=DeploymentState.GO, go_request_id=request_id, go_disk=disk, lease_epoch=epoch
            )
            return epoch

    def record_progress(self, deployment_id: str, progress: Progress, now: datetime) -> bool:
        """See :class:`DeploymentStore`."""
        with self._lock:
            deployment = self.get(deployment_id, now)
            if deployment.state not in (DeploymentState.HELLO, DeploymentState.GO):
                return False
            self._update(deployment, progress=progress)
            return True

    def finish(self, deployment_id: str, outcome: Done | Failure, now: datetime) -> Deployment:
        """See :class:`DeploymentStore`."""
        with self._lock:
            deployment = self.get(deployment_id, now)
            if deployment.state.is_final:
                return deployment
            if isinstance(outcome, Failure):
                return self._update(deployment, state=DeploymentState.FAILED, failure=outcome)
            if deployment.state is not DeploymentState.GO:
                raise GrantError("done without go", where=deployment.node, found=deployment.state.value)
            return self._update(deployment, state=DeploymentState.DONE, done=outcome)

    def expire(self, deployment_id: str, now: datetime) -> Deployment:
        """See :class:`DeploymentStore`."""
        with self._lock:
            deployment = self.get(deployment_id, now)
            return deployment if deployment.state.is_final else self._update(deployment, state=DeploymentState.EXPIRED)

    def _find(self, is_wanted: Callable[[Deployment], bool], now: datetime) -> Deployment | None:
        with self._lock:
            found = next(filter(is_wanted, self._deployments.values()), None)
            return None if found is None else self.get(found.deployment_id, now)

    def _update(self, deployment: Deployment, **changes: Any) -> Deployment:
        changed = deployment.model_copy(update=changes)
        self._deployments[deployment.deployment_id] = changed
        return changed
