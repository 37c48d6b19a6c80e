"""Many BMCs at once. One that is silent, slow or lying costs its own deadline and nobody else's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from metalwright.redfish.discovery.sighting import Sighting
from metalwright.redfish.discovery.targets import Target
from metalwright.redfish.discovery.visit import Knowledge, visit
from metalwright.redfish.state import Limits

DEFAULT_AT_ONCE = 128

READ_AT_ONCE = 64
"""BMCs whose whole inventory is read at the same time: each of its connections holds 256 KiB for TLS."""


async def sweep(
    targets: Sequence[Target], knowledge: Knowledge, limits: Limits, at_once: int = DEFAULT_AT_ONCE
) -> AsyncIterator[Sighting]:
    """Visit all targets, at most ``at_once`` at a time; yields each sighting as soon as it is there.

    ``limits.deadline_s`` is the time that one BMC may take, from its first packet on. What a BMC
    does never raises; a fault of a secret store or of this program does.
    """
    waiting = iter(targets)
    done: asyncio.Queue[Sighting | Exception] = asyncio.Queue()

    async def work() -> None:
        for target in waiting:
            try:
                done.put_nowait(await visit(target, knowledge, limits))
            except Exception as error:
                done.put_nowait(error)

    workers = [asyncio.create_task(work()) for _ in range(min(at_once, len(targets)))]
    try:
        for _ in targets:
            sighting = await done.get()
            if isinstance(sighting, Exception):
                raise sighting
            yield sighting
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
