"""A memory machine with two disks, its BMC, and a client that is logged in."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from tests.simulator.plain_client import ADDRESS, Client

from metalwright.simulator.running import RunningService, running_service
from metalwright.simulator.spec import DiskSpec, MachineSpec


@pytest.fixture
def spec() -> MachineSpec:
    return MachineSpec(
        disks=(
            DiskSpec(serial="SYS1", size_bytes=64 * 1024**2, note="system"),
            DiskSpec(serial="DATA1", size_bytes=64 * 1024**2, note="data"),
        )
    )


@pytest.fixture
async def service(spec: MachineSpec) -> AsyncIterator[RunningService]:
    async with running_service(spec, ADDRESS) as running:
        yield running


@pytest.fixture
async def client(service: RunningService) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession() as http:
        yield Client(service, http)
