"""One sweep as a person watches it: progress on stderr, each machine kept as soon as it is read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from rich.console import Console

from metalwright.cli.discovery_text import sighting_line
from metalwright.redfish.discovery import Sighting, SightingLog, Target, sweep
from metalwright.redfish.discovery.knowledge import SiteKnowledge
from metalwright.redfish.discovery.sighting_log import again
from metalwright.redfish.garbage import rarely_collected
from metalwright.redfish.state import Limits
from metalwright.workspace import Workspace

PROGRESS_EVERY_S = 5.0


@dataclass
class SweepRun:
    """A sweep over ``targets``. ``sightings`` grows while it runs and stays when somebody presses Ctrl-C."""

    site: Workspace
    targets: Sequence[Target]
    limits: Limits
    at_once: int
    max_age: timedelta
    err: Console
    sightings: list[Sighting] = field(default_factory=list)

    def run(self) -> bool:
        """Sweep what was not read lately; returns whether somebody pressed Ctrl-C."""
        log = SightingLog(self.site.paths.state / "sightings.jsonl")
        known = log.recent(self.max_age) if self.max_age else {}
        self.sightings += [again(target, known[target.url]) for target in self.targets if target.url in known]
        waiting = [target for target in self.targets if target.url not in known]
        self._say(f"sweeping {len(self.targets)} address{'' if len(self.targets) == 1 else 'es'}")
        if self.sightings:
            minutes = self.max_age.total_seconds() / 60
            self._say(
                f"{len(self.sightings)} of them were read in the last {minutes:g} minutes and are not read again "
                "(--fresh reads all)"
            )
        with log.appending() as keep:
            try:
                with rarely_collected():
                    asyncio.run(self._sweep(waiting, keep))
            except KeyboardInterrupt:
                return True
        return False

    async def _sweep(self, waiting: Sequence[Target], keep: Callable[[Sighting], None]) -> None:
        knowledge = SiteKnowledge(self.site.repository, self.site.journal, self.site.bmc_credentials)
        for unread in knowledge.unread:
            self._say(f"left out: the factory login {unread.where}, {unread.what}; stickers are tried alone")
        begun = last = time.monotonic()
        async for sighting in sweep(waiting, knowledge, self.limits, self.at_once):
            keep(sighting)
            self.sightings.append(sighting)
            if sighting.outcome != "nothing" or sighting.is_failure:
                self._say(f"[{len(self.sightings)}/{len(self.targets)}] {sighting_line(sighting)}")
                last = time.monotonic()
            elif time.monotonic() - last > PROGRESS_EVERY_S:
                last = time.monotonic()
                self._say(f"[{len(self.sightings)}/{len(self.targets)}] … {self._left(last - begun)}")

    def _left(self, elapsed_s: float) -> str:
        """How long the rest takes if it goes on like this."""
        read = sum(sighting.read_at is None for sighting in self.sightings)
        left = len(self.targets) - len(self.sightings)
        machines = sum(bool(sighting.reports) for sighting in self.sightings)
        return f"{machines} machines so far, about {left * elapsed_s / max(read, 1):.0f} s left"

    def _say(self, text: str) -> None:
        self.err.print(text, markup=False)
