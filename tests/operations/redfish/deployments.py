"""A deployment as ordering makes it, without image and ramdisk."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from metalwright.model.agent_protocol import DiskRule, ExpectedIdentity, ImageTask, Seed, Task
from metalwright.model.deployment import Deployment
from metalwright.model.image import Stamp

IMAGE = "1a" * 32


def make_deployment(node: str, run: str, media_secret: str) -> Deployment:
    """A fresh deployment whose medium lies behind ``media_secret``."""
    now = datetime.now(UTC)
    image = ImageTask(
        name="debian",
        version="12",
        format="raw",
        file_sha256=IMAGE,
        file_size_bytes=10,
        content_sha256=IMAGE,
        content_size_bytes=10,
        chunk_bytes=10,
        chunk_sha256=(IMAGE,),
    )
    task = Task(
        run=run,
        node=node,
        expect=ExpectedIdentity(keys=("serial",), serial="LAB0001"),
        image=image,
        disk=DiskRule(role="system"),
        stamp=Stamp(node=node, run=run, recipe="sha256:r", image=f"sha256:{IMAGE}", journal="journal-1", written=now),
        seed=Seed(hostname=node, fqdn=f"{node}.example"),
    )
    return Deployment(
        deployment_id=f"d-{node}",
        run=run,
        node=node,
        created=now,
        expires=now + timedelta(hours=1),
        token_sha256=_sha256(f"token {node}"),
        nonce_sha256=_sha256(f"nonce {node}"),
        media_secret_sha256=_sha256(media_secret),
        image_secret_sha256=_sha256(f"image {node}"),
        media_path=Path("/media.iso"),
        image_path=Path("/image.raw"),
        task=task,
    )


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()
