"""Both clients over real sockets and real TLS: what is checked before, and what is not done behind our back."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import logging
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.simulator.redfish.conftest import WireServer

from metalwright.errors import (
    BmcCertificateError,
    BmcNoAnswerError,
    BmcRefusedError,
    BmcUnreachableError,
    MetalwrightError,
    UsageError,
)
from metalwright.redfish import Contact, Credentials, Limits, MemoryPins
from metalwright.redfish.async_client import AsyncClient
from metalwright.redfish.blocking_client import BlockingClient

Serve = Callable[..., WireServer]
SESSIONS = "/redfish/v1/SessionService/Sessions"
ALICE = Credentials("alice", "s3cret-pa55")
QUICK = Limits(connect_timeout_s=2, read_timeout_s=2, backoff_s=0.01, logout_timeout_s=1)


def read_blocking(contact: Contact, *paths: str) -> list[dict[str, Any]]:
    with BlockingClient(contact) as client:
        return [client.get(path) for path in paths]


def read_async(contact: Contact, *paths: str) -> list[dict[str, Any]]:
    async def main() -> list[dict[str, Any]]:
        async with AsyncClient(contact) as client:
            return [await client.get(path) for path in paths]

    return asyncio.run(main())


BOTH = pytest.mark.parametrize("read", [read_blocking, read_async], ids=["blocking", "async"])


class Bmc:
    """Sessions, a root, and resources; counts what it sees."""

    def __init__(self) -> None:
        self.tokens: set[str] = set()
        self.logins = 0
        self.resources: dict[str, Any] = {"/redfish/v1/Systems": {"Members": []}}

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path in ("/redfish/v1", "/redfish/v1/"):
            return web.json_response({"Links": {"Sessions": {"@odata.id": SESSIONS}}})
        if request.path == SESSIONS and request.method == "POST":
            self.logins += 1
            body = await request.json()
            if body != {"UserName": ALICE.username, "Password": ALICE.password}:
                return web.json_response({"error": {"message": "no"}}, status=401)
            token = f"t{self.logins}"
            self.tokens.add(token)
            return web.json_response({}, status=201, headers={"X-Auth-Token": token, "Location": f"{SESSIONS}/{token}"})
        token = request.headers.get("X-Auth-Token", "")
        if token not in self.tokens:
            return web.Response(status=401)
        if request.method == "DELETE":
            self.tokens.discard(request.path.rsplit("/", 1)[-1])
            return web.Response(status=204)
        resource = self.resources.get(request.path)
        return web.json_response(resource) if resource is not None else web.Response(status=404)


@BOTH
def test_one_session_is_used_and_none_is_left(serve: Serve, read: Any) -> None:
    bmc = Bmc()
    server = serve(bmc)
    assert read(Contact(server.url, ALICE), "/redfish/v1/Systems", "/redfish/v1/Systems") == [{"Members": []}] * 2
    assert (bmc.logins, bmc.tokens) == (1, set())


@BOTH
def test_no_session_is_left_after_an_error(serve: Serve, read: Any) -> None:
    bmc = Bmc()
    server = serve(bmc)
    with pytest.raises(BmcRefusedError):
        read(Contact(server.url, ALICE), "/redfish/v1/Nothing")
    assert (bmc.logins, bmc.tokens) == (1, set())


@BOTH
def test_a_pinned_certificate_that_changed_stops_before_any_request(serve: Serve, read: Any) -> None:
    server = serve(Bmc())
    pins = MemoryPins({"node-1": "AA:" * 31 + "AA"})
    with pytest.raises(BmcCertificateError) as caught:
        read(Contact(server.url, ALICE, key="node-1", pins=pins), "/redfish/v1/Systems")
    assert server.fingerprint in str(caught.value)
    assert server.requests == []


@BOTH
def test_the_right_pin_is_accepted_and_first_use_is_recorded(serve: Serve, read: Any) -> None:
    server = serve(Bmc())
    pins = MemoryPins()
    read(Contact(server.url, ALICE, key="node-1", pins=pins), "/redfish/v1/Systems")
    assert pins.pins == {"node-1": server.fingerprint}
    read(Contact(server.url, ALICE, key="node-1", pins=pins), "/redfish/v1/Systems")


@BOTH
def test_a_refused_first_use_sends_nothing(serve: Serve, read: Any) -> None:
    class Strict(MemoryPins):
        def record(self, key: str, fingerprint: str) -> None:
            raise MetalwrightError("first use is not allowed here", where=key)

    server = serve(Bmc())
    with pytest.raises(MetalwrightError, match="first use"):
        read(Contact(server.url, ALICE, pins=Strict()), "/redfish/v1/Systems")
    assert server.requests == []


async def test_the_fingerprint_is_read_without_any_request(serve: Serve) -> None:
    server = serve(Bmc())
    async with AsyncClient(Contact(server.url)) as client:
        assert client.fingerprint == server.fingerprint
    with BlockingClient(Contact(server.url)) as blocking:
        assert blocking.fingerprint == server.fingerprint
    assert server.requests == []


@BOTH
def test_http_is_refused_unless_allowed(serve: Serve, read: Any) -> None:
    server = serve(Bmc(), is_tls=False)
    with pytest.raises(UsageError, match="http is refused"):
        read(Contact(server.url, ALICE), "/redfish/v1/Systems")
    assert server.requests == []
    read(Contact(server.url, ALICE, allow_http=True), "/redfish/v1/Systems")


@BOTH
def test_neither_netrc_nor_proxy_settings_are_used(
    serve: Serve, read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bmc = Bmc()
    server = serve(bmc)
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.83.0.1 login bob password leaked\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.83.0.9:1")
    read(Contact(server.url, ALICE), "/redfish/v1/Systems")
    assert not any("authorization" in headers for _, _, headers in server.requests)


@BOTH
def test_a_wrong_password_is_sent_once_and_appears_nowhere(
    serve: Serve, read: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bmc = Bmc()
    server = serve(bmc)
    contact = Contact(server.url, Credentials("alice", "wr0ng-pa55"))
    with caplog.at_level(logging.DEBUG):
        for _ in range(3):
            with pytest.raises(MetalwrightError) as caught:
                read(contact, "/redfish/v1/Systems")
            assert "wr0ng-pa55" not in str(caught.value)
    assert bmc.logins == 1
    assert "wr0ng-pa55" not in caplog.text


@BOTH
def test_tokens_and_passwords_are_in_no_log(serve: Serve, read: Any, caplog: pytest.LogCaptureFixture) -> None:
    server = serve(Bmc())
    with caplog.at_level(logging.DEBUG):
        read(Contact(server.url, ALICE), "/redfish/v1/Systems")
    sent = {value for _, _, headers in server.requests for key, value in headers.items() if key == "x-auth-token"}
    assert sent == {"t1"}
    assert "s3cret-pa55" not in caplog.text
    assert "X-Auth-Token" not in caplog.text


@BOTH
def test_repeated_headers_stay_apart(serve: Serve, read: Any) -> None:
    seen: list[str | None] = []

    async def bmc(request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "PATCH":
            seen.append(request.headers.get("If-Match"))
            return web.Response(status=204)
        response = web.json_response({})
        response.headers.add("ETag", '"A1"')
        response.headers.add("ETag", '"A1"')
        return response

    server = serve(bmc)
    if read is read_blocking:
        with BlockingClient(Contact(server.url)) as client:
            client.patch("/redfish/v1/Systems/1", {"a": 1})
    else:

        async def main() -> None:
            async with AsyncClient(Contact(server.url)) as client:
                await client.patch("/redfish/v1/Systems/1", {"a": 1})

        asyncio.run(main())
    assert seen == ['"A1"']


@BOTH
def test_gzip_is_read_where_a_bmc_insists(serve: Serve, read: Any) -> None:
    async def bmc(request: web.BaseRequest) -> web.StreamResponse:
        if "gzip" not in request.headers.get("Accept-Encoding", ""):
            return web.Response(status=406)
        packed = gzip.compress(json.dumps({"Id": "1"}).encode())
        return web.Response(body=packed, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})

    assert read(Contact(serve(bmc).url), "/redfish/v1/x") == [{"Id": "1"}]


@BOTH
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # asyncio and a peer that vanishes in TLS
def test_a_connection_that_is_dropped_is_survived_by_reads(serve: Serve, read: Any) -> None:
    count = 0

    async def bmc(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal count
        count += 1
        if count % 2 == 0:
            request.protocol.force_close()
        return web.json_response({"n": count})

    got = read(Contact(serve(bmc).url, limits=QUICK), *["/redfish/v1/x"] * 4)
    assert len(got) == 4
    gc.collect()


def test_a_write_whose_answer_is_lost_is_sent_once(serve: Serve) -> None:
    posts = 0

    async def bmc(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal posts
        posts += 1
        request.protocol.force_close()
        return web.Response()

    server = serve(bmc)
    with BlockingClient(Contact(server.url, limits=QUICK)) as client, pytest.raises(BmcNoAnswerError):
        client.post("/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", {"ResetType": "On"})
    assert posts == 1


@BOTH
def test_a_bmc_that_accepts_and_never_answers_is_given_up_at_the_deadline(read: Any) -> None:
    with socket.create_server(("127.83.0.1", 0)) as listener:
        contact = Contact(f"https://127.83.0.1:{listener.getsockname()[1]}", limits=Limits(0.3, 0.3, deadline_s=1))
        with pytest.raises(BmcUnreachableError):
            read(contact, "/redfish/v1/x")


@BOTH
def test_a_port_where_nobody_listens_is_unreachable(read: Any) -> None:
    with socket.create_server(("127.83.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(BmcUnreachableError, match="cannot be reached") as caught:
        read(Contact(f"https://127.83.0.1:{port}", ALICE, pins=MemoryPins({f"127.83.0.1:{port}": "0" * 64})), "/x")
    assert f"https://127.83.0.1:{port}" in str(caught.value)


async def test_the_session_is_deleted_when_a_sweep_is_cancelled(serve: Serve) -> None:
    bmc = Bmc()
    server = serve(bmc)
    is_inside = asyncio.Event()

    async def sweep() -> None:
        async with AsyncClient(Contact(server.url, ALICE)) as client:
            await client.login()
            is_inside.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(sweep())
    await is_inside.wait()
    assert len(bmc.tokens) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bmc.tokens == set()


async def test_many_readers_share_one_login_and_four_connections(serve: Serve) -> None:
    bmc, busy, peak = Bmc(), 0, 0

    async def slow(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal busy, peak
        busy += 1
        peak = max(peak, busy)
        await asyncio.sleep(0.3)
        try:
            return await bmc(request)
        finally:
            busy -= 1

    server = serve(slow)
    async with AsyncClient(Contact(server.url, ALICE)) as client:
        got = await asyncio.gather(*[client.get("/redfish/v1/Systems") for _ in range(12)])
    assert len(got) == 12
    assert (bmc.logins, bmc.tokens) == (1, set())
    assert 1 < peak <= 4


async def test_many_readers_with_a_wrong_password_try_it_once(serve: Serve) -> None:
    bmc = Bmc()
    server = serve(bmc)
    async with AsyncClient(Contact(server.url, Credentials("alice", "wrong"))) as client:
        got = await asyncio.gather(*[client.get("/redfish/v1/Systems") for _ in range(10)], return_exceptions=True)
    assert all(isinstance(item, MetalwrightError) for item in got)
    assert bmc.logins == 1
