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
_AT_ONCE = 64
_RETRY_S = 0.01
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
    """Listening sockets, one an address: where nobody lives, a connection is refused as it is at a real empty address.

    ``find_door`` gets the destination address of a connection; None: whoever lived there has just left.
    """

    def __init__(self, find_door: Callable[[str], Door | None]) -> None:
        self._find_door = find_door
        self._sockets: dict[str, socket.socket] = {}
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
        self._sockets[address] = listening
        self._watch(listening)
        taken: int = listening.getsockname()[1]
        return taken

    def leave(self, address: str) -> None:
        """Listen there no more; connections that are open stay."""
        listening = self._sockets.pop(address, None)
        if listening is not None:
            asyncio.get_running_loop().remove_reader(listening)
            listening.close()

    async def stop(self) -> None:
        """Close all sockets and give up connections that are still in their handshake."""
        for address in list(self._sockets):
            self.leave(address)
        tasks = list(self._greetings)
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _watch(self, listening: socket.socket) -> None:
        if listening.fileno() >= 0:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        """Take the connections that wait; where no descriptor is free, look again in a moment."""
        loop = asyncio.get_running_loop()
        for _ in range(_AT_ONCE):
            try:
                connection, _ = listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:
                loop.remove_reader(listening)
                loop.call_later(_RETRY_S, self._watch, listening)
                return
            connection.setblocking(False)
            task = loop.create_task(self._greet(connection))
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
