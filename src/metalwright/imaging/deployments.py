"""Preparing a deployment: its task, its secrets, its medium's configuration and the URLs that reach it."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from metalwright.imaging.medium_secrets import MediumSecrets, make_secrets, sha256_hex
from metalwright.model.agent_protocol import DiskRule, ExpectedIdentity, ImageTask, Seed, Task
from metalwright.model.base import Frozen
from metalwright.model.boot import BootMethod
from metalwright.model.deployment import Deployment
from metalwright.model.image import Image, Stamp

MEDIA_SUFFIXES: dict[BootMethod, str] = {"virtual-media": ".iso", "uefi-http": ".efi", "pxe": ".efi"}
"""What a medium is: a CD for a BMC, an EFI program for the host's own firmware."""


class MediaNetwork(Frozen):
    """The port that the ramdisk uses: its MAC, address with prefix length, and gateway."""

    mac: str
    address: str
    gateway: str | None = None


class MediaConfig(Frozen):
    """``/metalwright/media.json`` inside a boot medium. Carries secrets: never log it.

    The program of a network boot has none: ``token`` and ``nonce`` are null there, and its agent claims them.
    """

    schema_version: int = Field(default=1, alias="schema")
    node: str
    control_url: str
    server_cert_pem: str
    token: str | None = Field(repr=False)
    nonce: str | None = Field(repr=False)
    network: MediaNetwork | None = None


class PreparedDeployment(NamedTuple):
    """A new deployment, still unknown to the store, and the secrets of its medium."""

    deployment: Deployment
    secrets: MediumSecrets

    def media_config(self, control_url: str, server_cert_pem: str, network: MediaNetwork | None) -> MediaConfig:
        """Return what goes into the medium. ``control_url`` is the boot server as the node reaches it."""
        is_public = self.deployment.boot_method == "pxe"
        return MediaConfig(
            node=self.deployment.node,
            control_url=control_url,
            server_cert_pem=server_cert_pem,
            token=None if is_public else self.secrets.token,
            nonce=None if is_public else self.secrets.nonce,
            network=network,
        )

    def media_url(self, files_url: str) -> str:
        """Return the medium's URL. ``files_url`` is the boot server's HTTP side as whoever fetches it reaches it."""
        if self.deployment.boot_method == "pxe":
            return f"{files_url.rstrip('/')}/pxe/{self.deployment.node}/deploy.efi"
        return f"{files_url.rstrip('/')}/m/{self.secrets.media_secret}/boot{self.deployment.media_path.suffix}"


def prepare_deployment(
    *,
    run: str,
    node: str,
    expect: ExpectedIdentity,
    image: Image,
    image_path: Path,
    disk: DiskRule,
    overwrite: bool,
    wipe: tuple[str, ...] = (),
    stamp: Stamp,
    seed: Seed,
    media_dir: Path,
    now: datetime,
    lifetime: timedelta = timedelta(hours=2),
    method: BootMethod = "virtual-media",
) -> PreparedDeployment:
    """Return a new deployment and its secrets; nothing is stored or written yet.

    ``now`` is aware UTC. The medium is to be written to ``deployment.media_path``.
    """
    deployment_id = secrets.token_hex(8)
    medium_secrets = make_secrets()
    task = Task(
        run=run,
        node=node,
        expect=expect,
        image=image_task(image),
        disk=disk,
        overwrite=overwrite,
        wipe=wipe,
        stamp=stamp,
        seed=seed,
    )
    deployment = Deployment(
        deployment_id=deployment_id,
        run=run,
        node=node,
        created=now,
        expires=now + lifetime,
        token_sha256=sha256_hex(medium_secrets.token),
        nonce_sha256=sha256_hex(medium_secrets.nonce),
        media_secret_sha256=sha256_hex(medium_secrets.media_secret),
        image_secret_sha256=sha256_hex(medium_secrets.image_secret),
        media_path=media_dir / f"{node}-{deployment_id}{MEDIA_SUFFIXES[method]}",
        image_path=image_path,
        task=task,
        boot_method=method,
    )
    return PreparedDeployment(deployment, medium_secrets)


def image_task(image: Image) -> ImageTask:
    """Return the agent's view of a catalogue entry, without its URL."""
    return ImageTask(
        name=image.name,
        version=image.version,
        format=image.format,
        file_sha256=image.file_sha256,
        file_size_bytes=image.file_size_bytes,
        content_sha256=image.content_sha256,
        content_size_bytes=image.content_size_bytes,
        chunk_bytes=image.chunk_bytes,
        chunk_sha256=image.chunk_sha256,
    )
