"""The deploy ramdisk without virtual media, in QEMU.

OVMF fetches it over HTTP from the URL that the BMC was given, or by PXE from what DHCP names; then it has no secret and
claims its own.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
from tests.disk_images import sha256, write_disk
from tests.simulator.plain_client import SYSTEM, Client

from metalwright.imaging.agent.stamp import decode_stamp, read_stamp_area
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.claims import write_claim
from metalwright.imaging.deployments import PreparedDeployment, prepare_deployment
from metalwright.imaging.media import write_media
from metalwright.imaging.memory_store import MemoryDeploymentStore
from metalwright.imaging.ramdisk import build_ramdisk
from metalwright.imaging.server import BootServer, BootServerAddress
from metalwright.model.agent_protocol import Disk, DiskRule, ExpectedIdentity, Seed
from metalwright.model.boot import BootMethod
from metalwright.model.deployment import Deployment, DeploymentState
from metalwright.model.image import Image, Stamp
from metalwright.simulator.running import RunningService, running_service
from metalwright.simulator.spec import BmcSpec, DiskSpec, MachineSpec, NicSpec

CACHE = Path(os.environ.get("METALWRIGHT_CACHE", Path(__file__).parents[2] / ".cache"))
ADDRESS, GATEWAY, MAC = "127.105.2.1", "10.105.0.2", "52:54:00:69:00:01"
BOOTFILE = "deploy.efi"
MIB = 1 << 20
SPEC = MachineSpec(
    backend="qemu",
    serial="SN-105",
    bmc=BmcSpec(has_virtual_cd=False, boot_targets=("None", "Hdd", "UefiHttp", "Pxe")),
    memory_mib=768,
    disks=(DiskSpec(serial="SYS105", size_bytes=1024 * MIB), DiskSpec(serial="DAT105", size_bytes=1024 * MIB)),
    nics=(NicSpec(mac=MAC, net="10.105.0.0/24", host=GATEWAY),),
)

pytestmark = [pytest.mark.lab, pytest.mark.timeout(400)]


@dataclass
class Bench:
    """A machine without virtual media, its BMC, and the boot server that it reaches."""

    service: RunningService
    client: Client
    server: BootServerAddress
    store: MemoryDeploymentStore
    image: Image
    image_path: Path
    directory: Path

    def prepare(self, method: BootMethod) -> PreparedDeployment:
        """A deployment and its medium; the ramdisk gets its address by DHCP, as the firmware does."""
        stamp = Stamp(
            node="lab-1", run="run-1", recipe="sha256:0", image=f"sha256:{self.image.file_sha256}", journal="j",
            written=datetime(2026, 11, 30, tzinfo=UTC),
        )  # fmt: skip
        made = prepare_deployment(
            run="run-1", node="lab-1", image=self.image, image_path=self.image_path, overwrite=False, stamp=stamp,
            expect=ExpectedIdentity(keys=("serial", "uuid", "macs"), serial=SPEC.serial, uuid=SPEC.uuid, macs=(MAC,)),
            disk=DiskRule(role="system", serial="SYS105", protocol="NVMe"),
            seed=Seed(hostname="lab-1", fqdn="lab-1.example.test"),
            media_dir=self.directory / "media", now=datetime.now(UTC), method=method,
        )  # fmt: skip
        task = made.deployment.task.model_copy(update={"ssh_host_key": False})  # the tiny image has no ssh-keygen
        prepared = made._replace(deployment=made.deployment.model_copy(update={"task": task}))
        self.store.create(prepared.deployment)
        config = prepared.media_config(self.server.control_url(GATEWAY), self.server.server_cert_pem, None)
        write_media(build_ramdisk(CACHE), config, prepared.deployment.media_path)
        if method == "pxe":
            write_claim(prepared.deployment.media_path, prepared.secrets)
            (self.directory / "tftp" / BOOTFILE).write_bytes(prepared.deployment.media_path.read_bytes())
        return prepared

    def deployment(self, prepared: PreparedDeployment) -> Deployment:
        """The deployment as it is now."""
        return self.store.get(prepared.deployment.deployment_id, datetime.now(UTC))

    async def boot_until_off(self, boot: dict[str, str], timeout_s: float = 240) -> None:
        """Set the boot override, power on, and wait until the ramdisk powers off."""
        assert (await self.client.patch(SYSTEM, {"Boot": {**boot, "BootSourceOverrideEnabled": "Once"}}))[0] == 204
        await self.client.reset("On")
        for _ in range(int(timeout_s * 5)):
            if self.service.system.power_state == "Off":
                return
            await asyncio.sleep(0.2)
        raise AssertionError(f"still on after {timeout_s} s:\n{self.console()}")

    def console(self) -> str:
        """What the machine said."""
        return self.service.system.machine.console_path.read_text(errors="replace")[-3000:]


@pytest.fixture(scope="module")
def tiny_image(tmp_path_factory: pytest.TempPathFactory) -> tuple[Image, Path]:
    """A raw image with a GPT, a boot program and an ext4 root, in a catalogue."""
    directory = tmp_path_factory.mktemp("tiny-image")
    path = write_disk(directory / "tiny.raw")
    catalogue = ImageCatalogue(directory / "images")
    image = catalogue.add(path, name="tiny", version="1", file_sha256=sha256(path))
    return image, catalogue.file_path(image)


@pytest.fixture
async def bench(tmp_path: Path, tiny_image: tuple[Image, Path]) -> AsyncIterator[Bench]:
    store = MemoryDeploymentStore()
    (tmp_path / "tftp").mkdir()
    nic = SPEC.nics[0].model_copy(update={"tftp_root": str(tmp_path / "tftp"), "bootfile": BOOTFILE})
    spec = SPEC.model_copy(update={"nics": (nic,)})
    server = BootServer(tmp_path / "state", store, _grant, http_port=0, https_port=0, node_host=GATEWAY)
    async with (
        server.running() as address,
        running_service(spec, ADDRESS, machine_dir=tmp_path / "machine") as service,
        aiohttp.ClientSession() as http,
    ):
        yield Bench(service, Client(service, http), address, store, *tiny_image, tmp_path)


def _grant(deployment: Deployment, disk: Disk) -> int:
    assert (deployment.node, disk.serial) == ("lab-1", "SYS105")
    return 1


METHODS = {
    "uefi-http": ({"BootSourceOverrideTarget": "UefiHttp"}, "http"),
    "pxe": ({"BootSourceOverrideTarget": "Pxe"}, "pxe"),
}


@pytest.mark.parametrize("method", ["uefi-http", pytest.param("pxe", marks=pytest.mark.long)])
async def test_a_machine_without_virtual_media_is_written_over_the_network(
    bench: Bench, method: BootMethod, record_property: Callable[[str, object], None]
) -> None:
    prepared = await asyncio.to_thread(bench.prepare, method)
    data_before = bench.service.disks["DAT105"].read_bytes()
    boot, device = METHODS[method]
    uri = {"HttpBootUri": prepared.media_url(bench.server.files_url(GATEWAY))} if method == "uefi-http" else {}
    started = time.monotonic()
    await bench.boot_until_off({**boot, **uri})
    seconds = time.monotonic() - started
    deployment = bench.deployment(prepared)
    assert deployment.state is DeploymentState.DONE, bench.console()
    assert deployment.done is not None
    assert deployment.done.read_back_sha256 == bench.image.content_sha256
    assert [item.device for item in bench.service.system.state.boots] == [device]
    assert (prepared.deployment.deployment_id in bench.store.medium_reads) == (method == "uefi-http")
    stamp = decode_stamp(read_stamp_area(str(bench.service.disks["SYS105"])))
    assert stamp == deployment.task.stamp.to_json()
    assert bench.service.disks["DAT105"].read_bytes() == data_before
    steps = ", ".join(f"{step} {value} s" for step, value in deployment.done.seconds.items())
    record_property("note", f"{method} to power off: {seconds:.1f} s ({steps})")
