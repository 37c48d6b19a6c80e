"""How fast a BMC is: latency of each answer, and how many requests it works on at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Pace:
    """``latency_s`` is spent on every request while it holds one of ``in_flight`` places (0: no limit).

    With ``refuse`` a request that finds no place is turned away (the service answers 503); else it waits in line.
    """

    def __init__(self, latency_s: float = 0.0, in_flight: int = 0, *, refuse: bool = False) -> None:
        self.latency_s = latency_s
        self.in_flight = in_flight
        self.refuse = refuse
        self._places: asyncio.Semaphore | None = None

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[bool]:
        """Wait for a place and the latency; yields whether the request is admitted."""
        if not self.in_flight:
            await self._work()
            yield True
            return
        if self._places is None:
            self._places = asyncio.Semaphore(self.in_flight)
        if self.refuse and self._places.locked():
            yield False
            return
        async with self._places:
            await self._work()
            yield True

    async def _work(self) -> None:
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
