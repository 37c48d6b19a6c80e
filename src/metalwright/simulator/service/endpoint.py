"""The TLS listener of one BMC. It moves to another loopback address when the BMC's address changes."""

from __future__ import annotations

import asyncio
import contextlib
import ssl

from aiohttp import web

from metalwright.simulator.service.acceptor import Acceptor, Door
from metalwright.simulator.service.app import make_app
from metalwright.simulator.service.bmc import Bmc
from metalwright.simulator.service.tls import PEM_FILE, ensure_certificate, server_context, write_pem

LINGER_S = 0.3
_FAREWELL_TURNS = 5


class Endpoint:
    """``https://address:port`` of a BMC. ``addresses`` are those on which requests are answered."""

    def __init__(self, bmc: Bmc) -> None:
        self.bmc = bmc
        bmc.mover = self
        self.addresses: set[str] = set()
        self._runner: web.AppRunner | None = None
        self._acceptor: Acceptor | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._tls: ssl.SSLContext | None = None

    @property
    def url(self) -> str:
        """Where the BMC answers now."""
        return f"https://{self.bmc.address}:{self.bmc.port}"

    async def start(self) -> None:
        """Listen; port 0 takes a free one, which stays. Raises :class:`OSError` when the address is taken."""
        folder = self.bmc.system.machine_dir
        self._tls = server_context(ensure_certificate(folder, f"bmc-{self.bmc.spec.serial}"))
        self._runner = web.AppRunner(make_app(self.bmc), access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        self._acceptor = self._listen(self.bmc.address)
        self.addresses = {self.bmc.address}

    async def stop(self) -> None:
        """Close the listener and all connections."""
        for task in [*self._leaving, *self.bmc.background]:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if self._acceptor is not None:
            await self._acceptor.stop()
        if self._runner is None:
            return
        runner, self._runner = self._runner, None
        server = runner.server
        transports = [handler.transport for handler in server.connections] if server is not None else []
        await runner.cleanup()
        for transport in transports:
            if transport is not None:
                transport.abort()  # do not wait for the peer's half of the TLS farewell
        for _ in range(_FAREWELL_TURNS):
            await asyncio.sleep(0)

    async def move(self, address: str) -> None:
        """Answer on ``address`` at once; the old address stops answering after :data:`LINGER_S` seconds."""
        old, old_addresses = self._acceptor, set(self.addresses)
        if address in old_addresses:
            return
        self._acceptor = self._listen(address)
        self.addresses = old_addresses | {address}
        task = asyncio.create_task(self._leave(old, {address}))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def renew_certificate(self) -> None:
        """Load a new key and certificate into the running listener: new connections see it."""
        pem = ensure_certificate(self.bmc.system.machine_dir, f"bmc-{self.bmc.spec.serial}", renew=True)
        if self._tls is not None:
            self._tls.load_cert_chain(pem)
        self.bmc.system.log.add("CertificateChanged")

    async def install_certificate(self, pem: bytes) -> None:
        """Load this key and certificate into the running listener, and keep them."""
        path = write_pem(self.bmc.system.machine_dir, pem)
        if self._tls is not None:
            self._tls.load_cert_chain(path)

    def certificate(self) -> bytes:
        """What is served now."""
        return (self.bmc.system.machine_dir / PEM_FILE).read_bytes()

    async def _leave(self, old: Acceptor | None, stay: set[str]) -> None:
        try:
            await asyncio.sleep(LINGER_S)
        finally:
            self.addresses = stay
            if old is not None:
                await old.stop()

    def _listen(self, address: str) -> Acceptor:
        if self._runner is None or self._runner.server is None or self._tls is None:
            raise OSError("the service is not running")
        door = Door(self.bmc.system.faults, self._tls, self._runner.server)
        acceptor = Acceptor(lambda _: door)
        self.bmc.port = acceptor.listen(address, self.bmc.port)
        return acceptor
