"""Reading the power of a node from its BMC again and again, beside the tests that load it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from metalwright.acceptance.power import PowerReading
from metalwright.errors import MetalwrightError
from metalwright.redfish.power_draw import read_power_draw
from metalwright.runner.bmc_session import open_bmc
from metalwright.workspace import Workspace

INTERVAL_S = 2.0
REST_S = 8.0
"""For so long a node is looked at before anything loads it."""


@dataclass
class PowerSampling:
    """Use it in a ``with`` statement; ``readings`` grow meanwhile. ``problem`` is why there are none, or no more.

    Nothing that goes wrong here stops the tests: what was not read is unknown.
    """

    workspace: Workspace
    node: str
    readings: list[PowerReading] = field(default_factory=list)
    problem: str | None = None
    _stopped: threading.Event = field(default_factory=threading.Event, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, args=(self._sample,), name="power", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def rest(self) -> tuple[float, float]:
        """Let the node rest for ``REST_S`` while it is read; when that began and ended."""
        began = time.time()
        if self._thread is not None:
            self._thread.join(REST_S)
        return began, time.time()

    def _run(self, sample: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            asyncio.run(sample())
        except MetalwrightError as error:
            self.problem = error.what

    async def _sample(self) -> None:
        """One session for all of it; it is closed at the end."""
        async with open_bmc(self.workspace, self.node) as session:
            while not self._stopped.is_set():
                watts = await read_power_draw(session.client)
                self.readings.append(PowerReading(time.time(), watts))
                await asyncio.sleep(INTERVAL_S)
