"""The boot server: HTTPS control for agents, plain HTTP for media and image bytes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from aiohttp import web

from metalwright.errors import ImageError
from metalwright.imaging.control_service import Clock, ControlService, utc_now
from metalwright.imaging.file_service import FileService
from metalwright.imaging.packages import PACKAGES_DIRECTORY
from metalwright.imaging.server_certificate import ServerCertificate, load_server_certificate
from metalwright.model.deployment import DeploymentStore, GoGuard

LOG = logging.getLogger(__name__)
_SHUTDOWN_S = 2.0


class BootServerAddress(NamedTuple):
    """Where a running boot server listens, and the certificate that media carry."""

    host: str
    http_port: int
    https_port: int
    server_cert_pem: str

    def control_url(self, host: str | None = None) -> str:
        """Return the HTTPS side as seen from nodes that know this machine as ``host``."""
        return f"https://{_bracketed(host or self.host)}:{self.https_port}"

    def files_url(self, host: str | None = None) -> str:
        """Return the HTTP side as seen from nodes or BMCs that know this machine as ``host``."""
        return f"http://{_bracketed(host or self.host)}:{self.http_port}"


class BootServer:
    """Serves the deployments of one store.

    ``state_dir`` is the site's ``.metalwright``; the TLS key lives in its ``boot-server/``. ``node_host`` is this
    machine as the nodes see it, where that differs from ``listen``. Port 0 picks a free one.
    """

    def __init__(
        self,
        state_dir: Path,
        store: DeploymentStore,
        guard: GoGuard,
        *,
        listen: str = "127.0.0.1",
        http_port: int = 8480,
        https_port: int = 8481,
        node_host: str | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self._state_dir = state_dir
        self._store = store
        self._guard = guard
        self._listen = listen
        self._http_port = http_port
        self._https_port = https_port
        self._node_host = node_host
        self._clock = clock

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[BootServerAddress]:
        """Serve inside the ``async with`` block; yields the address once both listeners accept.

        Raises :class:`ImageError` when a port cannot be bound.
        """
        certificate = load_server_certificate(self._state_dir / "boot-server")
        async with contextlib.AsyncExitStack() as stack:
            firmware = self._state_dir.parent / "firmware" / "files"
            packages = self._state_dir / PACKAGES_DIRECTORY
            files = FileService(self._store, self._clock, packages, firmware).application()
            http_port = await self._listen_on(stack, files, self._http_port, None)
            address = BootServerAddress(self._listen, http_port, 0, certificate.cert_pem)
            control = ControlService(self._store, self._guard, address.files_url(self._node_host), self._clock)
            tls = _server_context(certificate)
            https_port = await self._listen_on(stack, control.application(), self._https_port, tls)
            yield address._replace(https_port=https_port)

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until ``stop`` is set."""
        async with self.running() as address:
            LOG.info("boot server: control %s, files %s", address.control_url(), address.files_url())
            await stop.wait()

    async def _listen_on(
        self, stack: contextlib.AsyncExitStack, application: web.Application, port: int, tls: ssl.SSLContext | None
    ) -> int:
        """Start one listener and return its port. No access log: the paths are secrets."""
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=_SHUTDOWN_S)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, self._listen, port, ssl_context=tls, reuse_address=True)
        try:
            await site.start()
        except OSError as error:
            raise ImageError(
                "the boot server cannot listen",
                where=f"{self._listen}:{port}",
                found=error.strerror,
                hint="another boot server may be running; choose other ports",
            ) from error
        bound: int = runner.addresses[0][1]
        return bound


def _server_context(certificate: ServerCertificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate.key_path)
    return context


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
