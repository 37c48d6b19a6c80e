"""A deployment: one attempt to write one node's disk through one boot medium, and the store that keeps it.

A medium carries two secrets, its token and its nonce; a store keeps their SHA-256 only. The secret URL paths are
derived from the token (see ``metalwright.imaging.medium_secrets``), so their SHA-256 suffices to serve them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from metalwright.model.agent_protocol import Disk, Done, Failure, Hello, Hex64, Progress, Task
from metalwright.model.base import Frozen
from metalwright.model.boot import BootMethod


class DeploymentState(StrEnum):
    """Where a deployment is; ``done``, ``failed`` and ``expired`` are final.

    ::

        prepared ──hello──▶ hello ──go──▶ go ──▶ done
            │                 │            └───▶ failed
            └──▶ expired ◀────┴──▶ failed
    """

    PREPARED = "prepared"
    HELLO = "hello"
    GO = "go"
    DONE = "done"
    FAILED = "failed"
    EXPIRED = "expired"

    @property
    def is_final(self) -> bool:
        """Whether nothing can follow."""
        return self in (DeploymentState.DONE, DeploymentState.FAILED, DeploymentState.EXPIRED)


class Deployment(Frozen):
    """One attempt to write one node. ``task.image.url`` is empty here: the boot server fills it in.

    ``boot_method`` is how its ramdisk is started. ``deployment_id`` is no secret.
    ``media_path`` and ``image_path`` are local files that the boot server serves
    until ``expires`` (aware, UTC) or the final state.
    """

    deployment_id: str
    run: str
    node: str
    state: DeploymentState = DeploymentState.PREPARED
    created: datetime
    expires: datetime
    token_sha256: Hex64
    nonce_sha256: Hex64
    media_secret_sha256: Hex64
    image_secret_sha256: Hex64
    media_path: Path
    image_path: Path
    task: Task
    boot_method: BootMethod = "virtual-media"
    client_key_sha256: Hex64 | None = None
    hello: Hello | None = None
    go_request_id: Hex64 | None = None
    go_disk: Disk | None = None
    lease_epoch: int | None = None
    progress: Progress | None = None
    done: Done | None = None
    failure: Failure | None = None


GoGuard = Callable[[Deployment, Disk], int]
"""Called inside :meth:`DeploymentStore.ask_go`: validates grant and lease, returns the lease epoch.

Raises :class:`metalwright.errors.GrantError` or :class:`metalwright.errors.LockHeldError` to refuse.
"""


class DeploymentStore(Protocol):
    """Keeps deployments. Every method is atomic, blocking, and safe to call from several threads and processes.

    ``now`` is aware UTC. Unknown ids raise :class:`metalwright.errors.JournalError`. A deployment past ``expires``
    that is not final is seen as ``expired`` by every method.
    """

    def create(self, deployment: Deployment) -> None:
        """Keep a new deployment, and expire every earlier one of the same node that is not final."""

    def get(self, deployment_id: str, now: datetime) -> Deployment:
        """Return the deployment as it is now."""

    def get_by_token_hash(self, token_sha256: str, now: datetime) -> Deployment | None:
        """Return the deployment whose token has this SHA-256, whatever its state; ``None`` when there is none."""

    def get_by_media_secret_hash(self, sha256: str, now: datetime) -> Deployment | None:
        """Return the deployment whose media URL secret has this SHA-256."""

    def get_by_image_secret_hash(self, sha256: str, now: datetime) -> Deployment | None:
        """Return the deployment whose image URL secret has this SHA-256."""

    def prepared(self, now: datetime) -> tuple[Deployment, ...]:
        """Return what is ``prepared``, so that no ramdisk has said hello yet, by runs that hold their node."""

    def record_medium_read(self, deployment_id: str, now: datetime) -> None:
        """Record that somebody fetched the medium, or a part of it."""

    def bind_client(self, deployment_id: str, client_key_sha256: str, now: datetime) -> bool:
        """Bind the first client key that asks; return whether ``client_key_sha256`` is the bound one."""

    def record_hello(self, deployment_id: str, hello: Hello, now: datetime) -> Deployment:
        """Move ``prepared`` to ``hello``; a repeat in ``hello`` changes nothing; other states are returned as is."""

    def ask_go(self, deployment_id: str, disk: Disk, request_id: str, now: datetime, guard: GoGuard) -> int:
        """Move ``hello`` to ``go`` once, if ``guard`` agrees, and return the lease epoch.

        The same ``request_id`` again returns the same epoch (a lost answer); anything else raises
        :class:`metalwright.errors.GrantError`, as does every state but ``hello``.
        """

    def record_progress(self, deployment_id: str, progress: Progress, now: datetime) -> bool:
        """Record progress; return whether the agent may continue (the deployment is in ``hello`` or ``go``)."""

    def finish(self, deployment_id: str, outcome: Done | Failure, now: datetime) -> Deployment:
        """Move to ``done`` (from ``go`` only) or ``failed``; a final deployment is returned unchanged.

        Raises :class:`metalwright.errors.GrantError` for a ``Done`` without ``go``.
        """

    def expire(self, deployment_id: str, now: datetime) -> Deployment:
        """End a deployment that is not final: its URLs stop, its token is refused, its agent is told to stop."""
