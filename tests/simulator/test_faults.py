"""Each named fault bites where it should, as often as it should."""

from __future__ import annotations

import asyncio
import ssl

import aiohttp
import pytest
from tests.simulator.plain_client import RESET, SYSTEM, Client

from metalwright.errors import LabError
from metalwright.simulator.faults import Faults
from metalwright.simulator.running import RunningService


async def test_unreachable_closes_connections_until_cleared(client: Client, service: RunningService) -> None:
    await service.set_fault("unreachable")
    with pytest.raises(aiohttp.ClientError):
        await client.request("GET", "/redfish/v1")
    service.system.faults.clear()
    assert (await client.request("GET", "/redfish/v1"))[0] == 200


async def test_wrong_answer_is_narrowed_by_method_and_path(client: Client, service: RunningService) -> None:
    await service.set_fault(
        "wrong-answer", method="GET", path="Systems/1$", times=1, status=200, body="<html>", content_type="text/html"
    )
    assert (await client.get("/redfish/v1"))["UUID"]
    assert await client.request("GET", SYSTEM) == (200, "<html>")
    assert (await client.get(SYSTEM))["Id"] == "1"


async def test_drop_after_effect_carries_the_request_out(client: Client, service: RunningService) -> None:
    await service.set_fault("drop-after-effect", path="Reset$", skip=1, times=1)
    await client.reset("On")
    with pytest.raises(aiohttp.ClientError):
        await client.post(RESET, {"ResetType": "ForceOff"})
    assert service.system.power_state == "Off"


async def test_reset_ignored_answers_as_if_it_had_worked(client: Client, service: RunningService) -> None:
    await service.set_fault("reset-ignored", times=1)
    await client.reset("On")
    assert service.system.power_state == "Off"
    await client.reset("On")
    assert service.system.power_state == "On"


async def test_certificate_changed_shows_a_new_certificate(service: RunningService) -> None:
    host, port = service.url.removeprefix("https://").split(":")
    before = await asyncio.to_thread(ssl.get_server_certificate, (host, int(port)))
    assert await asyncio.to_thread(ssl.get_server_certificate, (host, int(port))) == before
    await service.set_fault("certificate-changed")
    assert await asyncio.to_thread(ssl.get_server_certificate, (host, int(port))) != before


async def test_slow_answers_late(client: Client, service: RunningService) -> None:
    await service.set_fault("slow", seconds=5.0)
    with pytest.raises(TimeoutError):
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=0.2)) as http:
            await http.get(f"{service.url}/redfish/v1", ssl=False)


def test_unknown_faults_are_refused_by_name() -> None:
    with pytest.raises(LabError, match="no such fault"):
        Faults().set("gremlins")
