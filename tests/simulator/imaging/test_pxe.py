"""A network boot carries no secret: script and program only for armed nodes, secrets only for the declared machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.simulator.imaging.conftest import MAC, SERIAL, UUID

from metalwright.imaging.claims import write_claim
from metalwright.imaging.deployments import PreparedDeployment
from metalwright.model.agent_protocol import ExpectedIdentity
from metalwright.model.deployment import DeploymentState

KEYS = ExpectedIdentity(keys=("serial", "uuid", "macs"), serial=SERIAL, uuid=UUID, macs=(MAC,))
ME = {"serial": SERIAL, "uuid": UUID, "macs": [MAC]}
PROGRAM = b"MZ the ramdisk, without a secret"


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as client:
        yield client


def arm(bench: Any, expect: ExpectedIdentity = KEYS) -> PreparedDeployment:
    """Order a deployment that starts by PXE, with its program and its secrets in place."""
    made: PreparedDeployment = bench.prepare(expect=expect)
    medium = made.deployment.media_path.with_suffix(".efi")
    deployment = made.deployment.model_copy(update={"boot_method": "pxe", "media_path": medium})
    write_claim(medium, made.secrets)
    medium.write_bytes(PROGRAM)
    bench.store.create(deployment)
    return made._replace(deployment=deployment)


async def read(session: aiohttp.ClientSession, bench: Any, path: str) -> tuple[int, str]:
    async with session.get(f"{bench.server.files_url()}/pxe/{path}") as response:
        return response.status, await response.text()


async def test_only_an_armed_node_is_sent_to_the_ramdisk_and_only_until_it_said_hello(
    bench: Any, session: aiohttp.ClientSession
) -> None:
    script = f"boot.ipxe?mac={MAC}"
    assert "exit 1" in (await read(session, bench, script))[1]
    assert (await read(session, bench, "lab-1/deploy.efi"))[0] == 404
    prepared = arm(bench)
    for mac in (MAC, MAC.upper(), MAC.replace(":", "-")):
        assert "kernel lab-1/deploy.efi" in (await read(session, bench, f"boot.ipxe?mac={mac}"))[1]
    assert "kernel" not in (await read(session, bench, "boot.ipxe?mac=52:54:00:00:00:99"))[1]
    assert "kernel" not in (await read(session, bench, "boot.ipxe"))[1]
    assert await read(session, bench, "lab-1/deploy.efi") == (200, PROGRAM.decode())
    assert prepared.deployment.deployment_id in bench.store.medium_reads
    run = await bench.boot(bench.config(prepared), bench.add_disk("system"))
    assert run.exit_code == 0, run.console
    assert "kernel" not in (await read(session, bench, script))[1]
    assert (await read(session, bench, "lab-1/deploy.efi"))[0] == 404


async def test_the_declared_machine_claims_its_secrets_once_and_is_written(bench: Any) -> None:
    prepared = arm(bench)
    config = bench.config(prepared)
    assert (config.token, config.nonce) == (None, None)
    assert prepared.secrets.token not in json.dumps(config.to_json())
    run = await bench.boot(config, bench.add_disk("system"))
    assert run.exit_code == 0, run.console
    assert "claiming" in run.console
    assert prepared.secrets.token not in run.console
    assert bench.deployment(prepared).state is DeploymentState.DONE
    again = await bench.boot(config, bench.add_disk("system"))
    assert again.exit_code == 1
    assert "no run waits for a network boot of lab-1" in again.console


def is_precious(disk: dict[str, Any]) -> bool:
    return Path(disk["path"]).read_bytes().startswith(b"precious")


@pytest.mark.parametrize(
    "identity",
    [
        {**ME, "serial": "SN-9999"},
        {**ME, "uuid": "00000000-0000-0000-0000-000000000001"},
        {**ME, "macs": ["52:54:00:00:00:99"]},
        {"serial": None, "uuid": None, "macs": [MAC]},
    ],
)
async def test_another_machine_gets_no_secret_and_does_not_end_the_deployment(
    bench: Any, identity: dict[str, Any]
) -> None:
    prepared = arm(bench)
    disk = bench.add_disk("system", fill=b"precious")
    stranger = await bench.boot(bench.config(prepared), disk, identity=identity)
    assert stranger.exit_code == 1
    assert "this machine is not lab-1" in stranger.console
    assert bench.deployment(prepared).state is DeploymentState.PREPARED
    assert is_precious(disk)
    run = await bench.boot(bench.config(prepared), bench.add_disk("system"))
    assert run.exit_code == 0, run.console


@pytest.mark.parametrize(
    "expect",
    [
        ExpectedIdentity(keys=("macs",), macs=(MAC,)),
        ExpectedIdentity(keys=("serial", "uuid"), serial=SERIAL, uuid=UUID),
    ],
)
async def test_a_node_with_too_few_declared_keys_is_never_claimed(bench: Any, expect: ExpectedIdentity) -> None:
    run = await bench.boot(bench.config(arm(bench, expect)), bench.add_disk("system"))
    assert run.exit_code == 1
    assert "this machine is not lab-1" in run.console


async def test_of_two_agents_the_first_gets_the_secrets_and_the_second_a_refusal(bench: Any) -> None:
    prepared = arm(bench)
    url = f"{bench.server.control_url()}/agent/v1/claim"
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as client:

        async def claim(key: str) -> tuple[int, Any]:
            headers = {"X-Metalwright-Client-Key": key * 64}
            async with client.post(url, json={"node": "lab-1", "identity": ME}, headers=headers) as response:
                return response.status, await response.json()

        answers = await asyncio.gather(claim("a"), claim("b"), claim("a"))
    by_status = sorted(status for status, _ in answers)
    assert by_status in ([200, 200, 403], [200, 403, 403])
    given = [body["token"] for status, body in answers if status == 200]
    assert set(given) == {prepared.secrets.token}


async def test_an_ordinary_medium_is_never_claimed(bench: Any) -> None:
    prepared = bench.prepare(expect=KEYS)
    run = await bench.boot(bench.config(prepared, token=None, nonce=None), bench.add_disk("system"))
    assert run.exit_code == 1
    assert "no run waits for a network boot of lab-1" in run.console
    assert bench.deployment(prepared).state is DeploymentState.PREPARED
