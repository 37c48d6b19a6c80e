"""QEMU's control protocol, over a socket that the process inherited."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable
from typing import Any

from metalwright.errors import LabError

Json = dict[str, Any]

_ANSWER_TIMEOUT_S = 20.0
_LINE_LIMIT_BYTES = 4 * 1024**2


class Qmp:
    """One control connection; events go to ``on_event(name, data)`` in the event loop."""

    def __init__(self, name: str, on_event: Callable[[str, Json], None]) -> None:
        self._name = name
        self._on_event = on_event
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._next_id = 1
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None

    async def connect(self, end: socket.socket) -> None:
        """Shake hands over our end of the socket pair; raises :class:`LabError` when QEMU does not answer."""
        reader, self._writer = await asyncio.open_connection(sock=end, limit=_LINE_LIMIT_BYTES)
        try:
            greeting = await asyncio.wait_for(reader.readline(), _ANSWER_TIMEOUT_S)
        except (TimeoutError, ConnectionError) as error:
            raise LabError("QEMU does not answer", where=self._name) from error
        if b'"QMP"' not in greeting:
            raise LabError("QEMU ended at its start", where=self._name)
        self._listening = asyncio.create_task(self._listen(reader))
        await self.execute("qmp_capabilities")

    async def execute(self, command: str, **arguments: Any) -> Any:
        """Run a command and return its value; raises :class:`LabError` when it is refused or QEMU is gone."""
        if self._writer is None:
            raise LabError("QEMU is not connected", where=self._name)
        number, self._next_id = self._next_id, self._next_id + 1
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._writer.write(json.dumps({"execute": command, "arguments": arguments, "id": number}).encode() + b"\n")
            await self._writer.drain()
            data = await asyncio.wait_for(answer, _ANSWER_TIMEOUT_S)
        except (TimeoutError, ConnectionError) as error:
            raise LabError("QEMU does not answer", where=f"{self._name}: {command}") from error
        finally:
            self._waiting.pop(number, None)
        if "error" in data:
            raise LabError("QEMU refused a command", where=f"{self._name}: {command}", found=data["error"]["desc"])
        return data.get("return")

    async def close(self) -> None:
        """End the connection."""
        if self._writer is not None:
            self._writer.close()
            with contextlib.suppress(ConnectionError):
                await self._writer.wait_closed()
        if self._listening is not None:
            await self._listening

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                self._take(json.loads(line))
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionResetError("QEMU ended"))

    def _take(self, data: Json) -> None:
        if "event" in data:
            self._on_event(data["event"], data.get("data", {}))
            return
        answer = self._waiting.get(data.get("id", 0))
        if answer is not None and not answer.done():
            answer.set_result(data)
