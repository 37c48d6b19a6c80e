"""UEFI HTTP boot at the simulated BMC: the URL goes through the BMC, the program is fetched by the host's firmware."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from tests.simulator.nvram_judge import read_variable
from tests.simulator.plain_client import SYSTEM, Client

from metalwright.errors import LabError
from metalwright.simulator.qemu.firmware import find_firmware
from metalwright.simulator.qemu.nvram import HTTP_OPTION, set_http_boot
from metalwright.simulator.running import RunningService, running_service
from metalwright.simulator.spec import BmcSpec, MachineSpec

ADDRESS = "127.105.1.1"
SHOW = "import sys; print(open(sys.argv[1]).read(), flush=True); input()"
TARGETS = ("None", "Cd", "Hdd", "UefiHttp", "Pxe")
SPEC = MachineSpec(
    bmc=BmcSpec(boot_targets=TARGETS, has_virtual_cd=False), boot_command=(sys.executable, "-c", SHOW, "{media}")
)


@pytest.fixture
def spec() -> MachineSpec:
    return SPEC


@pytest.fixture
async def program_url(tmp_path: Path) -> AsyncIterator[str]:
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs/boot.efi").write_text("the program")
    app = web.Application()
    app.router.add_static("/", tmp_path / "programs")
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, ADDRESS, 0).start()
    yield f"http://{ADDRESS}:{runner.addresses[0][1]}/boot.efi"
    await runner.cleanup()


async def test_the_url_of_an_http_boot_is_started_once_and_stays_shown(
    service: RunningService, client: Client, program_url: str
) -> None:
    boot = {
        "BootSourceOverrideTarget": "UefiHttp",
        "BootSourceOverrideEnabled": "Once",
        "HttpBootUri": program_url,
    }
    assert (await client.patch(SYSTEM, {"Boot": boot}))[0] == 204
    await client.reset("On")
    shown = (await client.get(SYSTEM))["Boot"]
    assert (shown["BootSourceOverrideEnabled"], shown["HttpBootUri"]) == ("Disabled", program_url)
    assert [item.device for item in service.system.state.boots] == ["http"]
    assert (service.machine_dir / "http-boot.efi").read_text() == "the program"
    await client.reset("ForceOff")
    await client.reset("On")
    assert [item.device for item in service.system.state.boots] == ["http"]  # the disk is blank


async def test_a_url_that_cannot_be_fetched_leaves_the_boot_order_its_turn(
    service: RunningService, client: Client, program_url: str
) -> None:
    disk = next(iter(service.disks.values()))
    with disk.open("r+b") as file:
        file.write(b"\1" * 512)
    boot = {"BootSourceOverrideTarget": "UefiHttp", "HttpBootUri": program_url.replace("boot", "gone")}
    assert (await client.patch(SYSTEM, {"Boot": boot}))[0] == 204
    await client.reset("On")
    assert [item.device.partition(":")[0] for item in service.system.state.boots] == ["disk"]


async def test_a_bmc_without_http_boot_shows_and_takes_no_url(tmp_path: Path) -> None:
    async with (
        running_service(MachineSpec(), "127.105.1.2", machine_dir=tmp_path / "plain") as plain,
        aiohttp.ClientSession() as http,
    ):
        client = Client(plain, http)
        assert "HttpBootUri" not in (await client.get(SYSTEM))["Boot"]
        for boot in ({"BootSourceOverrideTarget": "UefiHttp"}, {"HttpBootUri": "http://x/a.efi"}):
            assert (await client.patch(SYSTEM, {"Boot": boot}))[0] == 400


async def test_a_bmc_without_virtual_cd_lists_no_slot(client: Client) -> None:
    assert (await client.get(f"{SYSTEM}/VirtualMedia"))["Members"] == []
    assert (await client.request("GET", f"{SYSTEM}/VirtualMedia/Cd"))[0] == 404


def test_the_firmware_is_told_what_to_boot_next_and_the_newest_word_counts(tmp_path: Path) -> None:
    try:
        template = find_firmware().variables
    except LabError as error:
        pytest.skip(error.what)
    path = tmp_path / "nvram.fd"
    shutil.copyfile(template, path)
    for url in ("http://10.1.0.2:8480/m/first/boot.efi", "http://10.1.0.2:8480/m/second/boot.efi"):
        set_http_boot(path, url)
    assert read_variable(path, "BootNext") == HTTP_OPTION.to_bytes(2, "little")
    option = read_variable(path, f"Boot{HTTP_OPTION:04X}")
    assert option is not None
    assert b"/m/second/boot.efi\x7f\xff\x04\x00" in option
    assert b"first" not in option
    assert path.stat().st_size == template.stat().st_size


def test_a_file_that_is_no_variable_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nvram.fd").write_bytes(b"\xff" * 4096)
    with pytest.raises(LabError, match="no store of firmware variables"):
        set_http_boot(tmp_path / "nvram.fd", "http://x/a.efi")
