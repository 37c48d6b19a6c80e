"""Firmware updates of the simulated BMC: by URL and by push, with a task, in force when the vendor's are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from tests.simulator.plain_client import SYSTEM, Client

from metalwright.simulator.running import RunningService

SERVICE = "/redfish/v1/UpdateService"
IMAGES = {"bmc": b"metalwright-firmware BMC 2.0.0\n\0\1", "bios": b"metalwright-firmware BIOS 2.0.0\n", "junk": b"\0\1"}


@pytest.fixture
async def images() -> AsyncIterator[str]:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=IMAGES[request.match_info["name"]])

    app = web.Application()
    app.router.add_get("/{name}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.91.255.1", 0).start()
    yield f"http://127.91.255.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.fixture
def quick(service: RunningService) -> RunningService:
    service.bmc.update_s = 0.04
    return service


async def finish(client: Client) -> Any:
    task = client.last_headers["Location"]
    for _ in range(100):
        body = await client.get(task)
        if body["TaskState"] not in ("Running", "New"):
            return body
        await asyncio.sleep(0.02)
    raise AssertionError(body)


async def version(client: Client, name: str) -> str:
    return str((await client.get(f"{SERVICE}/FirmwareInventory/{name}"))["Version"])


async def test_simple_update_runs_a_task_and_changes_the_version(
    quick: RunningService, client: Client, images: str
) -> None:
    status, body = await client.post(f"{SERVICE}/Actions/UpdateService.SimpleUpdate", {"ImageURI": f"{images}/bmc"})
    assert (status, body["TaskState"]) == (202, "Running")
    assert (await finish(client))["TaskState"] == "Completed"
    assert await version(client, "BMC") == "2.0.0"
    assert (await client.get("/redfish/v1/Managers/1"))["FirmwareVersion"] == "2.0.0"


async def test_a_bios_update_of_a_running_host_waits_for_the_next_power_on(
    quick: RunningService, client: Client, images: str
) -> None:
    await client.reset("On")
    await client.post(f"{SERVICE}/Actions/UpdateService.SimpleUpdate", {"ImageURI": f"{images}/bios"})
    assert (await finish(client))["TaskState"] == "Completed"
    assert await version(client, "BIOS") == "1.0.0"
    await client.reset("ForceRestart")
    assert await version(client, "BIOS") == "2.0.0"
    assert (await client.get(SYSTEM))["BiosVersion"] == "2.0.0"


async def test_a_pushed_image_names_its_target_in_the_parameters(quick: RunningService, client: Client) -> None:
    form = aiohttp.FormData()
    targets = f'{{"Targets": ["{SERVICE}/FirmwareInventory/BMC"]}}'
    form.add_field("UpdateParameters", targets, content_type="application/json")
    form.add_field("UpdateFile", b"metalwright-firmware * iLO 6 v1.70\nrest", filename="a.bin")
    path = (await client.get(SERVICE))["MultipartHttpPushUri"]
    async with client.http.post(
        client.service.url + path,
        data=form,
        ssl=False,
        headers={"Authorization": aiohttp.encode_basic_auth(quick.user, quick.password)},
    ) as answer:
        assert answer.status == 202
        client.last_headers = answer.headers
    assert (await finish(client))["TaskState"] == "Completed"
    assert await version(client, "BMC") == "iLO 6 v1.70"


async def test_an_unknown_image_ends_the_task_with_an_exception(
    quick: RunningService, client: Client, images: str
) -> None:
    await client.post(f"{SERVICE}/Actions/UpdateService.SimpleUpdate", {"ImageURI": f"{images}/junk"})
    task = await finish(client)
    assert (task["TaskState"], task["TaskStatus"]) == ("Exception", "Critical")
    assert await version(client, "BMC") == "1.0.0"
