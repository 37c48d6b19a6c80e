"""Power, boot and media of a memory machine, seen over Redfish and judged by the BMC's own log."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from tests.simulator.plain_client import ADDRESS, RESET, SYSTEM, Client, message_ids

from metalwright.simulator.running import RunningService
from metalwright.simulator.spec import DiskSpec, MachineSpec

INSERT = f"{SYSTEM}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"
EJECT = f"{SYSTEM}/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia"
WRITER = (
    "import sys; medium, disk = sys.argv[1:3]; data = open(medium, 'rb').read(); "
    "open(disk, 'r+b').write(data); print('wrote', len(data))"
)


@pytest.fixture
def spec() -> MachineSpec:
    return MachineSpec(
        disks=(DiskSpec(serial="SYS1", size_bytes=4 * 1024**2), DiskSpec(serial="DATA1", size_bytes=4 * 1024**2)),
        boot_command=(sys.executable, "-c", WRITER, "{media}", "{disks}"),
    )


@pytest.fixture
async def image_url() -> AsyncIterator[str]:
    async def serve(_request: web.Request) -> web.Response:
        return web.Response(body=b"the medium")

    app = web.Application()
    app.router.add_get("/secret/cd.iso", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, ADDRESS, 0).start()
    yield f"http://{ADDRESS}:{runner.addresses[0][1]}/secret/cd.iso"
    await runner.cleanup()


async def until(condition: Callable[[], bool] | Callable[[], Awaitable[bool]]) -> None:
    for _ in range(200):
        result = condition()
        if result if isinstance(result, bool) else await result:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("did not happen within 4 s")


async def boot_once_from_cd(client: Client) -> None:
    boot = {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}
    assert (await client.patch(SYSTEM, {"Boot": boot}))[0] == 204
    await client.reset("On")


async def test_one_time_boot_from_cd_runs_the_command_once_and_ends_powered_off(
    client: Client, service: RunningService, image_url: str
) -> None:
    assert (await client.post(INSERT, {"Image": image_url}))[0] == 204
    await boot_once_from_cd(client)
    await until(lambda: service.system.power_state == "Off")
    assert service.disks["SYS1"].read_bytes()[:10] == b"the medium"
    assert not any(service.disks["DATA1"].read_bytes())
    assert list(service.system.boot_counts.values()) == [1]
    assert (await client.get(SYSTEM))["Boot"]["BootSourceOverrideEnabled"] == "Disabled"
    assert "wrote 10" in service.system.machine.console_path.read_text()


async def test_after_eject_the_next_power_on_boots_from_the_disk(
    client: Client, service: RunningService, image_url: str
) -> None:
    await client.post(INSERT, {"Image": image_url})
    await boot_once_from_cd(client)
    await until(lambda: service.system.power_state == "Off")
    assert (await client.post(EJECT, {}))[0] == 204
    await client.reset("On")
    assert service.system.boot_counts["disk:SYS1"] == 1
    assert [event.args[0] for event in service.system.log.of_kind("BootStarted")] == ["cd", "disk:SYS1"]
    assert (await client.get(SYSTEM))["BootProgress"]["LastState"] == "OSBootStarted"


async def test_a_machine_with_nothing_to_boot_stays_on_and_says_so(client: Client, service: RunningService) -> None:
    await client.reset("On")
    assert service.system.power_state == "On"
    assert service.system.boot_counts == {}
    assert len(service.system.log.of_kind("NoBootDevice")) == 1


async def test_continuous_override_stays(client: Client) -> None:
    boot = {"BootSourceOverrideTarget": "Hdd", "BootSourceOverrideEnabled": "Continuous"}
    await client.patch(SYSTEM, {"Boot": boot})
    await client.reset("On")
    assert (await client.get(SYSTEM))["Boot"]["BootSourceOverrideTarget"] == "Hdd"


@pytest.mark.parametrize("kind", ["ForceRestart", "GracefulShutdown", "GracefulRestart", "PowerCycle", "Nmi"])
async def test_reset_types_that_need_power_are_refused_while_off(client: Client, kind: str) -> None:
    status, body = await client.post(RESET, {"ResetType": kind})
    assert (status, message_ids(body)) == (409, ["ResourceInStandby"])


async def test_every_reset_type_ends_in_its_power_state(client: Client, service: RunningService) -> None:
    for kind, state, power_ons in [
        ("On", "On", 1),
        ("On", "On", 1),
        ("ForceRestart", "On", 2),
        ("PowerCycle", "On", 3),
        ("Nmi", "On", 3),
        ("ForceOff", "Off", 3),
        ("ForceOff", "Off", 3),
        ("On", "On", 4),
        ("GracefulShutdown", "Off", 4),
    ]:
        await client.reset(kind)
        assert (service.system.power_state, service.system.state.power_ons) == (state, power_ons), kind
    await client.reset("On")
    await client.reset("GracefulRestart")
    await until(lambda: service.system.state.power_ons == 6)
    assert (await client.get(SYSTEM))["LastResetTime"] is not None


async def test_unknown_reset_type_is_refused(client: Client) -> None:
    status, body = await client.post(RESET, {"ResetType": "Explode"})
    assert (status, message_ids(body)) == (400, ["ActionParameterValueNotInList"])


async def test_force_off_kills_the_booted_command_and_its_children(
    client: Client, service: RunningService, image_url: str, tmp_path: Path
) -> None:
    alive = tmp_path / "alive"
    script = f"trap '' TERM; (while :; do date > {alive}; sleep 0.05; done) & wait"
    service.system.machine.spec = service.spec.model_copy(  # type: ignore[attr-defined]  # memory back end only
        update={"boot_command": ("sh", "-c", script)}
    )
    await client.post(INSERT, {"Image": image_url})
    await boot_once_from_cd(client)
    await until(alive.exists)
    await client.reset("ForceOff")
    alive.unlink(missing_ok=True)
    await asyncio.sleep(0.2)
    assert not alive.exists()


@pytest.mark.parametrize(
    ("image", "status", "message"),
    [
        ("http://127.81.9.9:9/x.iso", 400, "CouldNotEstablishConnection"),
        ("ftp://127.81.9.9/x.iso", 400, "ActionParameterValueNotInList"),
        ("{base}/other.iso", 400, "ResourceAtUriInUnknownFormat"),
    ],
)
async def test_a_medium_that_cannot_be_fetched_is_refused_without_showing_its_url(
    client: Client, service: RunningService, image_url: str, image: str, status: int, message: str
) -> None:
    url = image.replace("{base}", image_url.rsplit("/", 1)[0])
    answer, body = await client.post(INSERT, {"Image": url})
    assert (answer, message_ids(body)) == (status, [message])
    assert "secret" not in str(body)
    assert (await client.get(f"{SYSTEM}/VirtualMedia/Cd"))["Inserted"] is False
    assert list((service.machine_dir / "media").glob("*")) == [] if message != "ActionParameterValueNotInList" else True


async def test_bad_parameters_and_a_full_slot_are_refused(client: Client, image_url: str) -> None:
    assert message_ids((await client.post(INSERT, {}))[1]) == ["ActionParameterMissing"]
    assert message_ids((await client.post(INSERT, {"Image": image_url, "Foo": 1}))[1]) == ["ActionParameterUnknown"]
    assert (await client.post(INSERT, {"Image": image_url}))[0] == 204
    assert (await client.post(INSERT, {"Image": image_url}))[0] == 409


async def test_boot_order_can_be_changed_and_must_be_complete(client: Client, service: RunningService) -> None:
    order = (await client.get(SYSTEM))["Boot"]["BootOrder"]
    assert (await client.patch(SYSTEM, {"Boot": {"BootOrder": order[:1]}}))[0] == 400
    assert (await client.patch(SYSTEM, {"Boot": {"BootOrder": order[::-1]}}))[0] == 204
    assert (await client.get(SYSTEM))["Boot"]["BootOrder"] == order[::-1]
    assert service.system.state.boot_order == ["cd", "disk:DATA1", "disk:SYS1"]


async def test_a_guest_that_does_not_shut_down_is_not_restarted_behind_its_back(
    client: Client, service: RunningService, image_url: str
) -> None:
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    )
    service.system.machine.spec = service.spec.model_copy(  # type: ignore[attr-defined]  # memory back end only
        update={"boot_command": (sys.executable, "-c", stubborn)}
    )
    service.system.graceful_timeout_s = 0.1
    await client.post(INSERT, {"Image": image_url})
    await boot_once_from_cd(client)
    await until(lambda: "up" in service.system.machine.console_path.read_text())
    await client.reset("GracefulRestart")
    await until(lambda: len(service.system.log.of_kind("GracefulIgnored")) == 1)
    assert (service.system.power_state, service.system.state.power_ons) == ("On", 1)
