"""Accepts TCP connections; each goes to the BMC that its destination address names, which then speaks TLS."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from metalwright.simulator.faults import Faults

_BACKLOG = 4096
_HANDSHAKE_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Door:
    """How connections to one BMC are met: its faults, its TLS context, the protocol that speaks HTTP.

    ``pem`` is the certificate that the context serves.
    """

    faults: Faults
    tls: ssl.SSLContext
    protocol: Callable[[], asyncio.Protocol]
    pem: bytes = b""


class Acceptor:
    """One listening socket. ``find_door`` gets the destination address; None: nobody lives there."""

    def __init__(self, find_door: Callable[[str], Door | None]) -> None:
        self._find_door = find_door
        self._socket: socket.socket | None = None
        self._loop: asyncio.Task[None] | None = None
        self._greetings: set[asyncio.Task[None]] = set()

    def listen(self, address: str, port: int) -> int:
        """Listen and accept in the background; the port. Raises :class:`OSError` when the address is taken."""
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((address, port))
            listening.listen(_BACKLOG)
            listening.setblocking(False)
        except OSError:
            listening.close()
            raise
        self._socket = listening
        self._loop = asyncio.create_task(self._accept(listening))
        taken: int = listening.getsockname()[1]
        return taken

    async def stop(self) -> None:
        """Close the socket and give up connections that are still in their handshake."""
        tasks = [*self._greetings, *([self._loop] if self._loop is not None else [])]
        self._loop = None
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError:  # the peer went away, or no descriptor is free
                await asyncio.sleep(0.01)
                continue
            task = asyncio.create_task(self._greet(connection))
            self._greetings.add(task)
            task.add_done_callback(self._greetings.discard)

    async def _greet(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            door = self._find_door(connection.getsockname()[0])
            if door is None:
                connection.close()
            elif door.faults.take("connection-silent") is not None:
                await _stay_silent(connection)
            elif door.faults.take("handshake-closed") is not None:
                await loop.sock_recv(connection, 4096)
                connection.close()
            else:
                await loop.connect_accepted_socket(
                    door.protocol, connection, ssl=door.tls, ssl_handshake_timeout=_HANDSHAKE_TIMEOUT_S
                )
        except (OSError, ssl.SSLError, asyncio.CancelledError) as error:
            connection.close()
            if isinstance(error, asyncio.CancelledError):
                raise


async def _stay_silent(connection: socket.socket) -> None:
    """Read and say nothing until the peer has gone."""
    loop = asyncio.get_running_loop()
    while await loop.sock_recv(connection, 4096):
        pass
    connection.close()
