"""A real boot server, file-backed disks, and the real agent in its own process."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import zstandard

from metalwright.imaging.deployments import MediaConfig, PreparedDeployment, prepare_deployment
from metalwright.imaging.memory_store import MemoryDeploymentStore
from metalwright.imaging.server import BootServer, BootServerAddress
from metalwright.model.agent_protocol import Disk, DiskRule, ExpectedIdentity, Seed, SeedFile
from metalwright.model.deployment import Deployment
from metalwright.model.image import Image, Stamp

MIB = 1 << 20
LISTEN = "127.82.0.1"
SERIAL = "SN-1001"
UUID = "4c4c4544-0042-3310-8052-b4c04f4e3432"
MAC = "52:54:00:82:00:01"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def file_sha256(path: Path) -> str:
    return sha256(path.read_bytes())


@dataclass
class AgentRun:
    exit_code: int
    console: str


@dataclass
class Workbench:
    """One machine with file-backed disks, beside a running boot server."""

    directory: Path
    image: Image
    image_path: Path
    store: MemoryDeploymentStore
    server: BootServerAddress
    refuse_go: list[Exception] = field(default_factory=list)
    memory_bytes: int = 1 << 30
    efi_variables: Path | None = None

    def add_disk(self, name: str, size_bytes: int = 24 * MIB, fill: bytes = b"", **facts: Any) -> dict[str, Any]:
        path = self.directory / name
        with path.open("wb") as file:
            file.write(fill)
            file.truncate(size_bytes)
        return {"path": str(path), "serial": f"S-{name}", "model": "file", "protocol": "NVMe", **facts}

    def prepare(
        self, *, disk: DiskRule | None = None, expect: ExpectedIdentity | None = None, overwrite: bool = False,
        image: Image | None = None, run: str = "run-1", wipe: tuple[str, ...] = (), customer: str | None = None,
    ) -> PreparedDeployment:  # fmt: skip
        prepared = prepare_deployment(
            run=run,
            node="lab-1",
            expect=expect or ExpectedIdentity(keys=("serial", "uuid"), serial=SERIAL, uuid=UUID),
            image=image or self.image,
            image_path=self.image_path,
            disk=disk or DiskRule(role="system", serial="S-system"),
            overwrite=overwrite,
            wipe=wipe,
            stamp=self.stamp(run, customer),
            seed=Seed(
                hostname="lab-1",
                fqdn="lab-1.example.test",
                files=(SeedFile(path="/root/.ssh/authorized_keys", mode="0600", text="ssh-ed25519 AAAA ops\n"),),
            ),
            media_dir=self.directory / "media",
            now=datetime.now(UTC),
        )
        self.store.create(prepared.deployment)
        return prepared

    def stamp(self, run: str = "run-1", customer: str | None = None) -> Stamp:
        return Stamp(
            node="lab-1", run=run, recipe="sha256:" + "1" * 64, image=f"sha256:{self.image.file_sha256}",
            journal="journal-1", written=datetime(2026, 11, 30, tzinfo=UTC), customer=customer,
        )  # fmt: skip

    def config(self, prepared: PreparedDeployment, **changes: Any) -> MediaConfig:
        config = prepared.media_config(self.server.control_url(), self.server.server_cert_pem, None)
        return config.model_copy(update=changes)

    async def boot(
        self, media: MediaConfig, *disks: dict[str, Any], identity: dict[str, Any] | None = None,
        give_up_s: float = 20, on_line: Callable[[str], object] = len,
    ) -> AgentRun:  # fmt: skip
        media_path = self.directory / "media.json"
        media_path.write_text(json.dumps(media.to_json()))
        hardware_path = self.directory / "hardware.json"
        work_dir = self.directory / "memory"
        work_dir.mkdir(exist_ok=True)
        machine = {
            "identity": identity or {"serial": SERIAL, "uuid": UUID, "macs": [MAC]},
            "memory_bytes": self.memory_bytes,
            "work_dir": str(work_dir),
            "efi_variables": str(self.efi_variables) if self.efi_variables else None,
            "disks": disks,
        }
        hardware_path.write_text(json.dumps(machine))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "metalwright.imaging.agent", "--media", str(media_path),
            "--hardware", str(hardware_path), "--give-up-s", str(give_up_s),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        assert process.stdout is not None
        lines = []
        while line := (await process.stdout.readline()).decode():
            on_line(line)
            lines.append(line)
        return AgentRun(await process.wait(), "".join(lines))

    async def deploy(self, *disks: dict[str, Any], **options: Any) -> tuple[AgentRun, Deployment]:
        """Prepare a deployment, boot its medium once, and return what both sides say."""
        identity = options.pop("identity", None)
        prepared = self.prepare(**options)
        run = await self.boot(self.config(prepared), *disks, identity=identity)
        return run, self.deployment(prepared)

    def deployment(self, prepared: PreparedDeployment) -> Deployment:
        return self.store.get(prepared.deployment.deployment_id, datetime.now(UTC))

    def guard(self, deployment: Deployment, disk: Disk) -> int:
        if self.refuse_go:
            raise self.refuse_go[0]
        return 7


@pytest.fixture(scope="session")
def raw_image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real disk image: GPT, a small first partition, a root ext4 that starts last."""
    directory = tmp_path_factory.mktemp("raw-image")
    root, path = directory / "root", directory / "image.raw"
    (root / "etc/ssh").mkdir(parents=True)
    (root / "etc/hostname").write_text("unset\n")
    (root / "etc/payload").write_bytes(random.Random(82).randbytes(MIB))
    with path.open("wb") as file:
        file.truncate(16 * MIB)
    table = "label: gpt\nstart=2048, size=2048, type=U\nstart=4096, size=26624, type=L\n"
    subprocess.run(["sfdisk", "-q", str(path)], input=table.encode(), check=True)
    mkfs = ["mkfs.ext4", "-q", "-F", "-E", f"offset={2 * MIB}", "-d", str(root), str(path), "13M"]
    subprocess.run(mkfs, check=True, capture_output=True)
    return path


@pytest.fixture(scope="session")
def packed_image(raw_image: Path) -> tuple[Image, Path]:
    """The image as the catalogue has it, in chunks of 64 KiB."""
    content = raw_image.read_bytes()
    packed = zstandard.ZstdCompressor(level=3).compress(content)
    path = raw_image.with_suffix(".raw.zst")
    path.write_bytes(packed)
    chunk_bytes = 64 << 10
    image = Image(
        name="tiny", version="1", file=path.name, format="raw.zst",
        file_sha256=sha256(packed), file_size_bytes=len(packed),
        content_sha256=sha256(content), content_size_bytes=len(content), chunk_bytes=chunk_bytes,
        chunk_sha256=tuple(sha256(packed[i : i + chunk_bytes]) for i in range(0, len(packed), chunk_bytes)),
    )  # fmt: skip
    return image, path


@pytest.fixture
async def bench(tmp_path: Path, packed_image: tuple[Image, Path]) -> AsyncIterator[Workbench]:
    image, packed_path = packed_image
    image_path = tmp_path / "served.raw.zst"
    image_path.write_bytes(packed_path.read_bytes())
    store = MemoryDeploymentStore()
    guard_of: list[Workbench] = []
    server = BootServer(
        tmp_path / "state", store, lambda deployment, disk: guard_of[0].guard(deployment, disk),
        listen=LISTEN, http_port=0, https_port=0,
    )  # fmt: skip
    async with server.running() as address:
        guard_of.append(Workbench(tmp_path, image, image_path, store, address))
        yield guard_of[0]
