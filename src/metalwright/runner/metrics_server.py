"""The metrics of BMCs over HTTP: a sweep every few minutes, and the page of the newest one in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import web

from metalwright.errors import MetalwrightError, UsageError
from metalwright.runner.bmc_metrics import Sweep, sweep_bmcs_async
from metalwright.secrets.value import redact
from metalwright.workspace import open_workspace

Tell = Callable[[str], None]
CONTENT_TYPE = "text/plain; version=0.0.4"


class MetricsServer:
    """Serves ``/metrics`` for the site at ``root``; the inventory is read anew for each sweep.

    Until the first sweep is over, and where none succeeds, ``/metrics`` answers 503: no page is no news, not good news.
    """

    def __init__(self, root: Path, *, interval_s: float, newest_events: int, tell: Tell) -> None:
        self.root, self.interval_s, self.newest_events, self._tell = root, interval_s, newest_events, tell
        self._sweep: Sweep | None = None
        self._told: frozenset[str] = frozenset()

    async def run(self, host: str, port: int, stop: asyncio.Event) -> None:
        """Serve until ``stop`` and tell where, once it listens; raises UsageError where it cannot."""
        app = web.Application()
        app.router.add_get("/metrics", self._metrics)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        sweeping: asyncio.Task[None] | None = None
        try:
            try:
                await web.TCPSite(runner, host, port).start()
            except OSError as error:
                raise UsageError(
                    "cannot listen there",
                    where=f"{host}:{port}",
                    found=error.strerror,
                    hint="name a free port at an address of this machine, or 0.0.0.0 for all of them",
                ) from error
            at, taken = runner.addresses[0][:2]
            self._tell(f"metrics of the BMCs on http://{f'[{at}]' if ':' in at else at}:{taken}/metrics")
            sweeping = asyncio.create_task(self._sweep_for_ever())
            await stop.wait()
        finally:
            if sweeping is not None:
                sweeping.cancel()
                await asyncio.gather(sweeping, return_exceptions=True)
            await runner.cleanup()

    async def _sweep_for_ever(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            try:
                with open_workspace(self.root) as workspace:
                    self._sweep = await sweep_bmcs_async(workspace, newest_events=self.newest_events)
                self._tell_news(self._sweep.notes)
            except MetalwrightError as error:
                self._tell_news((str(error),))
            await asyncio.sleep(max(0.0, begun + self.interval_s - loop.time()))

    def _tell_news(self, notes: tuple[str, ...]) -> None:
        """Each note once, until it is gone."""
        for note in notes:
            if note not in self._told:
                self._tell(redact(note))
        self._told = frozenset(notes)

    async def _metrics(self, _request: web.Request) -> web.Response:
        if self._sweep is None:
            return web.Response(status=503, text="no sweep is over yet\n")
        text = self._sweep.text(datetime.now(UTC), self.interval_s)
        return web.Response(text=text, headers={"Content-Type": CONTENT_TYPE})
