"""A small TLS service with scripted answers, for what happens on the wire; the simulator is used for Redfish itself."""

from __future__ import annotations

import asyncio
import datetime
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from metalwright.redfish.pins import fingerprint_of

ADDRESS = "127.83.0.1"
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class WireServer:
    """Runs one handler behind TLS in a thread; ``requests`` has (method, path, headers) of every request."""

    def __init__(self, directory: Path, handler: Handler, *, is_tls: bool = True) -> None:
        self.handler = handler
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self._context, self.fingerprint = make_certificate(directory)
        self._is_tls = is_tls
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        return f"{'https' if self._is_tls else 'http'}://{ADDRESS}:{self.port}"

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(5)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(5)

    def _serve(self) -> None:
        self._loop.run_until_complete(self._main())
        self._loop.close()

    async def _main(self) -> None:
        self._stop = asyncio.Event()

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            self.requests.append((request.method, request.path_qs, {k.lower(): v for k, v in request.headers.items()}))
            return await self.handler(request)

        runner = web.ServerRunner(web.Server(handle))
        await runner.setup()
        site = web.TCPSite(runner, ADDRESS, 0, ssl_context=self._context if self._is_tls else None)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()
        await asyncio.sleep(0.05)  # lets aborted TLS transports close


def make_certificate(directory: Path) -> tuple[ssl.SSLContext, str]:
    """A fresh self-signed certificate: the server's context and the fingerprint."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bmc")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    path = directory / f"{certificate.serial_number}.pem"
    path.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context, fingerprint_of(certificate.public_bytes(serialization.Encoding.DER))


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., WireServer]]:
    """Start scripted services; all are stopped at the end."""
    servers: list[WireServer] = []

    def start(handler: Handler, *, is_tls: bool = True) -> WireServer:
        server = WireServer(tmp_path, handler, is_tls=is_tls)
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()
