"""Real QEMU behind the simulated BMC: boots are counted by what the firmware says on the console."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from aiohttp import web
from tests.lab.tiny_system import iso, write_disk
from tests.simulator.plain_client import RESET, SYSTEM, Client

from metalwright.simulator.running import RunningService
from metalwright.simulator.spec import DiskSpec, MachineSpec

ADDRESS = "127.81.2.1"
INSERT = f"{SYSTEM}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"
EJECT = f"{SYSTEM}/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia"
SPEC = MachineSpec(
    backend="qemu",
    serial="LAB-QEMU-7",
    memory_mib=384,
    disks=(DiskSpec(serial="SYS1", size_bytes=256 * 1024**2), DiskSpec(serial="DATA1", size_bytes=64 * 1024**2)),
)

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture
def spec() -> MachineSpec:
    return SPEC


@pytest.fixture
async def media_url(tmp_path: Path) -> AsyncIterator[str]:
    app = web.Application()
    (tmp_path / "media").mkdir()
    app.router.add_static("/", tmp_path / "media")
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, ADDRESS, 0).start()
    yield f"http://{ADDRESS}:{runner.addresses[0][1]}"
    await runner.cleanup()


async def make_medium(role: str, tmp_path: Path) -> str:
    medium = await asyncio.to_thread(iso, role, tmp_path / "build")
    medium.rename(tmp_path / "media" / medium.name)
    return f"/{medium.name}"


async def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    for _ in range(int(seconds * 10)):
        if condition():
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"did not happen within {seconds} s")


def console_of(service: RunningService) -> str:
    return service.system.machine.console_path.read_text(errors="replace")


async def test_one_time_cd_boot_then_disk_boots_are_counted_exactly(
    service: RunningService, client: Client, media_url: str, tmp_path: Path
) -> None:
    await asyncio.to_thread(write_disk, "disk", tmp_path / "disk", service.disks["SYS1"])
    assert (await client.post(INSERT, {"Image": media_url + await make_medium("cd", tmp_path)}))[0] == 204
    boot = {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}
    await client.patch(SYSTEM, {"Boot": boot})
    await client.reset("On")
    await until(lambda: service.system.power_state == "Off")
    assert (await client.post(EJECT, {}))[0] == 204
    await client.reset("On")
    await until(lambda: service.system.power_state == "Off")
    started = [event.args[0] for event in service.system.log.of_kind("BootStarted")]
    assert started == ["cd", "disk:SYS1", "disk:SYS1"]  # the system on the disk resets itself once
    assert service.system.boot_counts["disk:SYS1"] == 2
    assert len(service.system.log.of_kind("GuestReset")) == 1
    assert service.disks["DATA1"].read_bytes()[:6] == b"marker"
    console = console_of(service)
    assert f"TINY role=cd serial=LAB-QEMU-7 uuid={SPEC.uuid}" in console
    assert "TINY disk=SYS1" in console


async def test_a_blank_machine_says_that_there_is_nothing_to_boot(service: RunningService, client: Client) -> None:
    await client.reset("On")
    await until(lambda: bool(service.system.log.of_kind("NoBootDevice")))
    assert service.system.boot_counts == {}
    await client.reset("ForceOff")
    assert service.system.power_state == "Off"


async def test_live_eject_force_restart_and_sudden_death(
    service: RunningService, client: Client, media_url: str, tmp_path: Path
) -> None:
    await client.post(INSERT, {"Image": media_url + await make_medium("stay", tmp_path)})
    await client.reset("On")
    await until(lambda: "TINY staying" in console_of(service))
    first = service.system.machine.pid  # type: ignore[attr-defined]  # QEMU back end only
    assert (await client.post(RESET, {"ResetType": "ForceRestart"}))[0] == 204
    assert service.system.machine.pid != first  # type: ignore[attr-defined]  # QEMU back end only
    await until(lambda: console_of(service).count("TINY staying") == 2)
    assert (await client.post(EJECT, {}))[0] == 204
    assert service.system.power_state == "On"
    os.kill(service.system.machine.pid, signal.SIGKILL)  # type: ignore[attr-defined]  # QEMU back end only
    await until(lambda: service.system.power_state == "Off", 10)
    assert len(service.system.log.of_kind("MachineDied")) == 1
    assert list(service.system.boot_counts.values()) == [2]
