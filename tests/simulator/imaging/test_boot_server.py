"""The boot server as an agent, a BMC and a stranger see it."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
import ssl
import stat
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from tests.simulator.imaging.conftest import LISTEN, MIB

from metalwright.errors import ImageError
from metalwright.imaging.medium_secrets import make_secrets
from metalwright.imaging.memory_store import MemoryDeploymentStore
from metalwright.imaging.server import BootServer
from metalwright.imaging.server_certificate import load_server_certificate
from metalwright.model.deployment import DeploymentState

HELLO_IDENTITY = {"serial": "SN-1001", "uuid": "4c4c4544-0042-3310-8052-b4c04f4e3432", "macs": []}
DISK: dict[str, Any] = {
    "path": "/dev/nvme0n1", "serial": "S-system", "wwn": None, "model": None, "size_bytes": 1 << 30,
    "protocol": "NVMe", "read_only": False, "removable": False,
    "content": {"state": "blank", "summary": [], "stamp": None},
}  # fmt: skip


def is_all_zero(disk: dict[str, Any]) -> bool:
    return not any(Path(disk["path"]).read_bytes())


class Client:
    """Speaks the protocol with one client key."""

    def __init__(self, session: aiohttp.ClientSession, bench: Any, token: str, key: str = "a" * 64) -> None:
        self.session, self.bench = session, bench
        self.headers = {"Authorization": f"Bearer {token}", "X-Metalwright-Client-Key": key}

    async def post(self, name: str, body: Any) -> tuple[int, Any]:
        url = f"{self.bench.server.control_url()}/agent/v1/{name}"
        async with self.session.post(url, json=body, headers=self.headers) as response:
            return response.status, await response.json()

    async def hello(self, nonce: str, **changes: Any) -> tuple[int, Any]:
        body = {"nonce": nonce, "identity": HELLO_IDENTITY, "memory_bytes": 1, "boot_id": "b", "disks": [DISK]}
        return await self.post("hello", {**body, **changes})

    async def go(self, request_id: str = "1" * 64) -> tuple[int, Any]:
        return await self.post("go", {"disk": DISK, "request_id": request_id})


@pytest.fixture
async def session(bench: Any) -> AsyncIterator[aiohttp.ClientSession]:
    context = ssl.create_default_context(cadata=bench.server.server_cert_pem)
    context.check_hostname = False
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as client_session:
        yield client_session


async def test_token_belongs_to_the_first_client_key(bench: Any, session: aiohttp.ClientSession) -> None:
    secrets = (prepared := bench.prepare()).secrets
    first, second = Client(session, bench, secrets.token), Client(session, bench, secrets.token, "b" * 64)
    assert (await first.hello(secrets.nonce))[0] == 200
    for status, answer in [await second.hello(secrets.nonce), await second.go(), await second.post("failed", {})]:
        assert status == 403
        assert answer["error"]["what"] == "this medium is already in use by another boot"
    assert (await first.hello(secrets.nonce))[0] == 200
    assert bench.deployment(prepared).state is DeploymentState.HELLO


async def test_go_is_granted_once_and_a_lost_answer_may_be_asked_again(
    bench: Any, session: aiohttp.ClientSession
) -> None:
    secrets = bench.prepare().secrets
    client = Client(session, bench, secrets.token)
    await client.hello(secrets.nonce)
    assert await client.go() == (200, {"go": True, "lease_epoch": 7})
    assert await client.go() == (200, {"go": True, "lease_epoch": 7})
    status, answer = await client.go("2" * 64)
    assert status == 403
    assert answer["error"]["what"] == "go can be asked once, after hello"


async def test_go_before_hello_and_done_before_go_are_refused(bench: Any, session: aiohttp.ClientSession) -> None:
    prepared = bench.prepare()
    client = Client(session, bench, prepared.secrets.token)
    assert (await client.go())[0] == 403
    await client.hello(prepared.secrets.nonce)
    digest = bench.image.content_sha256
    done = {"disk": DISK, "content_sha256": digest, "read_back_sha256": digest}
    assert (await client.post("done", done))[0] == 409
    assert bench.deployment(prepared).state is DeploymentState.HELLO


async def test_done_with_another_digest_is_a_failure(bench: Any, session: aiohttp.ClientSession) -> None:
    prepared = bench.prepare()
    client = Client(session, bench, prepared.secrets.token)
    await client.hello(prepared.secrets.nonce)
    await client.go()
    done = {"disk": DISK, "content_sha256": bench.image.content_sha256, "read_back_sha256": "0" * 64}
    assert (await client.post("done", done))[0] == 409
    assert bench.deployment(prepared).state is DeploymentState.FAILED


async def test_done_that_does_not_prove_every_erasure_is_a_failure(bench: Any, session: aiohttp.ClientSession) -> None:
    prepared = bench.prepare(wipe=("S-data", "S-system"))
    client = Client(session, bench, prepared.secrets.token)
    await client.hello(prepared.secrets.nonce)
    await client.go()
    digest = bench.image.content_sha256
    wiped = {"serial": "S-system", "size_bytes": 1, "method": "m", "proof": "p", "looked_at_bytes": 1, "seconds": 1.0}
    done = {"disk": DISK, "content_sha256": digest, "read_back_sha256": digest, "wiped": [wiped]}
    status, answer = await client.post("done", done)
    assert (status, answer["error"]["code"]) == (409, "wipe")
    failure = bench.deployment(prepared).failure
    assert failure is not None
    assert (failure.expected, failure.found) == ("S-data, S-system", "S-system")


async def test_expired_deployment_stops_its_agent_and_its_urls(bench: Any, session: aiohttp.ClientSession) -> None:
    prepared = bench.prepare()
    client = Client(session, bench, prepared.secrets.token)
    _, answer = await client.hello(prepared.secrets.nonce)
    image_url = answer["task"]["image"]["url"]
    async with session.get(image_url) as response:
        assert response.status == 200
        assert hashlib.sha256(await response.read()).hexdigest() == bench.image.file_sha256
    progress = {"step": "write", "done_bytes": 1, "total_bytes": 2}
    assert await client.post("progress", progress) == (200, {"continue": True})
    bench.store.expire(prepared.deployment.deployment_id, datetime.now(UTC))
    status, answer = await client.post("progress", progress)
    assert (status, answer["continue"]) == (200, False)
    assert (await client.go())[0] == 403
    async with session.get(image_url) as response:
        assert response.status == 404


async def test_new_deployment_of_a_node_ends_the_earlier_one(bench: Any) -> None:
    first = bench.prepare(run="run-1")
    bench.prepare(run="run-2")
    assert bench.deployment(first).state is DeploymentState.EXPIRED


async def test_deployment_expires_by_itself(bench: Any) -> None:
    prepared = bench.prepare()
    later = datetime.now(UTC) + timedelta(hours=3)
    assert bench.store.get(prepared.deployment.deployment_id, later).state is DeploymentState.EXPIRED


async def test_media_are_served_by_range_under_an_unguessable_path(bench: Any, session: aiohttp.ClientSession) -> None:
    prepared = bench.prepare()
    path = prepared.deployment.media_path
    path.parent.mkdir()
    path.write_bytes(bytes(range(256)))
    url = prepared.media_url(bench.server.files_url())
    assert prepared.secrets.token not in url
    async with session.get(url, headers={"Range": "bytes=16-31"}) as response:
        assert (response.status, await response.read()) == (206, bytes(range(16, 32)))
    async with session.head(url) as response:
        assert response.headers["Content-Length"] == "256"
    guess = url.replace(prepared.secrets.media_secret, make_secrets().media_secret)
    async with session.get(guess) as response:
        assert response.status == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong", "X-Metalwright-Client-Key": "a" * 64}, 401),
        ({"Authorization": "Basic wrong"}, 401),
    ],
)
async def test_stranger_learns_nothing(
    bench: Any, session: aiohttp.ClientSession, headers: dict[str, str], status: int
) -> None:
    bench.prepare()
    url = f"{bench.server.control_url()}/agent/v1/hello"
    async with session.post(url, json={}, headers=headers) as response:
        assert response.status == status
        text = await response.text()
    assert "lab-1" not in text
    assert "wrong" not in text


async def test_malformed_message_is_answered_with_the_place_and_changes_nothing(
    bench: Any, session: aiohttp.ClientSession
) -> None:
    prepared = bench.prepare()
    client = Client(session, bench, prepared.secrets.token)
    status, answer = await client.hello(prepared.secrets.nonce, disks="none")
    assert status == 400
    assert answer["error"]["found"] == "disks"
    assert bench.deployment(prepared).state is DeploymentState.PREPARED


async def test_agent_stops_when_the_server_is_not_there(bench: Any) -> None:
    disk = bench.add_disk("system")
    media = bench.config(bench.prepare(), control_url="https://127.82.0.250:9")
    run = await bench.boot(media, disk, give_up_s=1)
    assert run.exit_code == 1
    assert "the boot server 127.82.0.250:9 cannot be reached" in run.console
    assert is_all_zero(disk)


async def test_agent_stops_before_a_server_with_another_certificate(bench: Any, tmp_path: Path) -> None:
    prepared = bench.prepare()
    other = load_server_certificate(tmp_path / "other").cert_pem
    run = await bench.boot(bench.config(prepared, server_cert_pem=other), bench.add_disk("system"))
    assert run.exit_code == 1
    assert "is not the boot server that this medium was made for" in run.console
    assert bench.deployment(prepared).client_key_sha256 is None


async def test_agent_waits_for_a_server_that_comes_late(bench: Any, tmp_path: Path) -> None:
    prepared = bench.prepare()
    server = BootServer(
        tmp_path / "state", bench.store, bench.guard, listen="127.82.0.2",
        http_port=0, https_port=bench.server.https_port,
    )  # fmt: skip
    media = bench.config(prepared, control_url=bench.server.control_url("127.82.0.2"))
    is_waiting = asyncio.Event()

    def notice(line: str) -> None:
        if "does not answer yet" in line:
            is_waiting.set()

    booting = asyncio.create_task(bench.boot(media, bench.add_disk("system"), on_line=notice))
    await is_waiting.wait()
    async with server.running():
        run = await booting
    assert run.exit_code == 0, run.console


async def test_no_secret_reaches_log_or_console(bench: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    prepared = bench.prepare()
    run = await bench.boot(bench.config(prepared), bench.add_disk("system"))
    secrets = prepared.secrets
    everything = run.console + caplog.text + repr(secrets) + repr(bench.config(prepared))
    for secret in (secrets.token, secrets.nonce, secrets.media_secret, secrets.image_secret):
        assert secret not in everything
        assert secret not in bench.deployment(prepared).model_dump_json()


def test_server_certificate_is_made_once_and_its_key_is_private(tmp_path: Path) -> None:
    first = load_server_certificate(tmp_path / "boot-server")
    pem = first.cert_pem
    assert load_server_certificate(tmp_path / "boot-server").cert_pem == pem
    assert stat.S_IMODE(first.key_path.stat().st_mode) == 0o600
    assert sorted(path.name for path in first.key_path.parent.iterdir()) == ["cert.pem", "server.pem"]


async def test_port_in_use_is_an_error_with_a_hint(bench: Any, tmp_path: Path) -> None:
    server = BootServer(
        tmp_path / "state", MemoryDeploymentStore(), bench.guard, listen="127.82.0.1",
        http_port=bench.server.http_port, https_port=0,
    )  # fmt: skip
    with pytest.raises(ImageError, match="cannot listen") as caught:
        async with server.running():
            pass
    assert "other ports" in str(caught.value)


async def test_the_rest_of_a_file_is_served_to_who_has_its_beginning_and_else_the_whole(
    bench: Any, session: aiohttp.ClientSession
) -> None:
    prepared = bench.prepare()
    url = f"{bench.server.files_url()}/i/{prepared.secrets.image_secret}/image"
    content = bench.image_path.read_bytes()
    async with session.get(url, headers={"Range": "bytes=0-9"}) as response:
        tag = response.headers["ETag"]
    for condition, status, body in ((tag, 206, content[100:]), ('"another"', 200, content)):
        async with session.get(url, headers={"Range": "bytes=100-", "If-Range": condition}) as response:
            assert (response.status, response.headers["ETag"]) == (status, tag)
            assert await response.read() == body
    bench.image_path.write_bytes(content + b"!")
    async with session.get(url, headers={"Range": "bytes=100-", "If-Range": tag}) as response:
        assert (response.status, len(await response.read())) == (200, len(content) + 1)


async def test_a_medium_for_firmware_says_that_it_is_a_program(bench: Any, session: aiohttp.ClientSession) -> None:
    prepared = bench.prepare()
    path = prepared.deployment.media_path.with_suffix(".efi")
    path.parent.mkdir()
    path.write_bytes(b"MZ")
    deployment = prepared.deployment.model_copy(update={"media_path": path})
    bench.store.create(deployment)
    url = prepared._replace(deployment=deployment).media_url(bench.server.files_url())
    assert url.endswith("/boot.efi")
    async with session.head(url) as response:
        assert response.headers["Content-Type"] == "application/efi"


def open_files() -> list[str]:
    """Paths behind the descriptors of this process, the boot server's included."""
    return [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]


async def test_large_files_come_whole_to_many_at_once_and_a_reader_that_leaves_or_stalls_harms_nobody(
    bench: Any, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metalwright.imaging.ranged_file.STALL_S", 0.5)
    content = random.Random(105).randbytes(5 * MIB) * 4
    bench.image_path.write_bytes(content)
    prepared = bench.prepare()
    url = f"{bench.server.files_url()}/i/{prepared.secrets.image_secret}/image"

    async def read(start: int) -> bool:
        async with session.get(url, headers={"Range": f"bytes={start}-"}) as response:
            return await response.read() == content[start:]

    leaving, stalled = [await asyncio.open_connection(LISTEN, bench.server.http_port) for _ in range(2)]
    for _, writer in (leaving, stalled):
        writer.write(f"GET {urlsplit(url).path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert (await leaving[0].read(1000)).startswith(b"HTTP/1.1 200")
    leaving[1].transport.abort()
    assert all(await asyncio.gather(*(read(start * 1000) for start in range(12))))
    assert (await stalled[0].read(20)).startswith(b"HTTP/1.1 200")
    await asyncio.sleep(1.5)
    rest = await asyncio.wait_for(stalled[0].read(-1), 10)  # the server gave it up: the end comes early
    assert len(rest) < len(content)
    stalled[1].close()
    assert str(bench.image_path) not in open_files()
