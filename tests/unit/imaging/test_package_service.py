"""The boot server serves package mirrors, and nothing around them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from metalwright.imaging.file_service import FileService
from metalwright.imaging.memory_store import MemoryDeploymentStore

ADDRESS = "127.84.0.9"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    mirror = tmp_path / "packages" / "lab-vm" / "1.0.0"
    mirror.mkdir(parents=True)
    (mirror / "server_1.6.20~ds1-1_amd64.deb").write_bytes(b"package")
    (mirror / ".hidden").write_text("x")
    (tmp_path / "secrets.enc").write_text("x")
    return tmp_path / "packages"


async def get(packages: Path, path: str) -> tuple[int, bytes]:
    service = FileService(MemoryDeploymentStore(), lambda: datetime.now(UTC), packages)
    async with TestClient(TestServer(service.application(), host=ADDRESS)) as client:
        answer = await client.get(path)
        return answer.status, await answer.read()


async def test_a_package_is_served(packages: Path) -> None:
    assert await get(packages, "/packages/lab-vm/1.0.0/server_1.6.20~ds1-1_amd64.deb") == (200, b"package")


@pytest.mark.parametrize(
    "path",
    [
        "/packages/lab-vm/1.0.0/absent",
        "/packages/lab-vm/1.0.0/.hidden",
        "/packages/lab-vm/1.0.0/",
        "/packages/lab-vm/1.0.0",
        "/packages/",
        "/packages/../../secrets.enc",
        "/packages/%2e%2e/%2e%2e/secrets.enc",
        "/packages/lab-vm/%2e%2e/%2e%2e%2fsecrets.enc",
        "/packages/lab-vm/..%2f..%2f/secrets.enc",
    ],
)
async def test_nothing_else_is_served(packages: Path, path: str) -> None:
    assert (await get(packages, path))[0] == 404
