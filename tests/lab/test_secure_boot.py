"""Secure Boot for real: OVMF with Microsoft's keys starts our ISO and what it wrote, and nothing that is not signed."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.test_imaging import CACHE, GATEWAY, TEMPLATES, Machine, _grant, machine_directory

from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.image_build import build_image
from metalwright.imaging.image_recipe import load_recipe
from metalwright.imaging.memory_store import MemoryDeploymentStore
from metalwright.imaging.server import BootServer
from metalwright.imaging.signed_boot import signed_boot
from metalwright.model.deployment import DeploymentState
from metalwright.model.digests import digest
from metalwright.model.image import Image
from metalwright.simulator.qemu.firmware import Firmware

MICROSOFT = Firmware(Path("/usr/share/OVMF/OVMF_CODE_4M.ms.fd"), Path("/usr/share/OVMF/OVMF_VARS_4M.ms.fd"))
STATE = "od -An -tx1 /sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

pytestmark = [
    pytest.mark.lab,
    pytest.mark.long,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not MICROSOFT.code.exists(), reason="no OVMF with Microsoft's keys is installed"),
]
__all__ = ["machine_directory"]


@pytest.fixture(scope="module")
def signed_image() -> tuple[Image, Path]:
    """The image of virtual machines with a signed chain, built once per recipe."""
    recipe = load_recipe(TEMPLATES, "debian-12").model_copy(update={"secure_boot": True})
    catalogue = ImageCatalogue(CACHE / "images" / digest(recipe).removeprefix("sha256:")[:16])
    image = build_image(catalogue, recipe, "2026.11.1")
    return image, catalogue.file_path(image)


@pytest.fixture
async def secure(machine_directory: Path, signed_image: tuple[Image, Path]) -> AsyncIterator[Machine]:
    store = MemoryDeploymentStore()
    server = BootServer(machine_directory / "state", store, _grant, http_port=0, https_port=0, node_host=GATEWAY)
    async with server.running() as address:
        yield Machine(
            machine_directory, *signed_image, address, store, ssh_port=20000 + os.getpid() % 20000,
            firmware=MICROSOFT, signed=signed_boot(CACHE),
        )  # fmt: skip


async def test_iso_and_written_disk_start_under_secure_boot(
    secure: Machine, record_property: Callable[[str, object], None]
) -> None:
    assert secure.image.has_signed_chain
    prepared = await asyncio.to_thread(secure.prepare)
    with secure.timed("medium boot to power off"):
        await secure.boot_until_off(prepared.deployment.media_path)
    deployment = secure.deployment(prepared)
    assert deployment.state is DeploymentState.DONE, secure.console()[-3000:]
    assert deployment.done is not None
    process = await secure.start(None)
    try:
        with secure.timed("disk boot to SSH"):
            state = await secure.ssh_when_up(str(deployment.done.ssh_host_key), STATE)
        assert state.split()[-1] == "01"
        await secure.ssh(str(deployment.done.ssh_host_key), "systemctl poweroff")
        await asyncio.wait_for(process.wait(), 120)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    record_property("note", f"Secure Boot in QEMU: {secure.seconds}")


async def test_an_unsigned_medium_is_refused_by_the_firmware_and_nothing_is_written(secure: Machine) -> None:
    before = secure.disk_sha256("system.raw")
    unsigned = replace(secure, signed=None)
    prepared = await asyncio.to_thread(unsigned.prepare)
    process = await unsigned.start(prepared.deployment.media_path)
    try:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(process.wait(), 40)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    assert unsigned.deployment(prepared).state is DeploymentState.PREPARED
    assert secure.disk_sha256("system.raw") == before
    assert "Access Denied" in unsigned.console() or "Security Violation" in unsigned.console()
