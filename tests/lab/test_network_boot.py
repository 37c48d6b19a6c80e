"""The deploy ramdisk without virtual media, in QEMU.

OVMF fetches it over HTTP from the URL that the BMC was given, or by PXE from what DHCP names; then it has no secret and
claims its own. By PXE it comes once straight from QEMU's own TFTP server, and once as on a site: dnsmasq with the
configuration that is rendered for it hands out Debian's iPXE, which runs the boot server's script.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
from tests.disk_images import sha256, write_disk
from tests.simulator.plain_client import SYSTEM, Client

from metalwright.addressing.boot_dhcp import BootNetwork
from metalwright.addressing.dhcp import Reservation
from metalwright.dhcp import render_dhcp
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

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1000)]


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
    controller: str = GATEWAY

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
        config = prepared.media_config(self.server.control_url(self.controller), self.server.server_cert_pem, None)
        write_media(build_ramdisk(CACHE), config, prepared.deployment.media_path)
        if method == "pxe":
            write_claim(prepared.deployment.media_path, prepared.secrets)
            shutil.copyfile(prepared.deployment.media_path, self.directory / "tftp" / BOOTFILE)
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

    def console(self, characters: int = 3000) -> str:
        """The last that the machine said."""
        return self.service.system.machine.console_path.read_text(errors="replace")[-characters:]


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
    nic = SPEC.nics[0].model_copy(update={"tftp_root": str(tmp_path / "tftp"), "bootfile": BOOTFILE})
    async with bench_with(nic, "127.0.0.1", GATEWAY, tmp_path, tiny_image) as made:
        yield made


@asynccontextmanager
async def bench_with(
    nic: NicSpec, listen: str, controller: str, directory: Path, tiny_image: tuple[Image, Path]
) -> AsyncIterator[Bench]:
    """A machine with this port, and a boot server that it knows as ``controller``."""
    store = MemoryDeploymentStore()
    (directory / "tftp").mkdir()
    server = BootServer(
        directory / "state", store, _grant, listen=listen, http_port=0, https_port=0, node_host=controller
    )
    async with (
        server.running() as address,
        running_service(
            SPEC.model_copy(update={"nics": (nic,)}), ADDRESS, machine_dir=directory / "machine"
        ) as service,
        aiohttp.ClientSession() as http,
    ):
        yield Bench(service, Client(service, http), address, store, *tiny_image, directory, controller)


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


TAP, TAP_HOST, TAP_GUEST = "mw-boot0", "10.105.1.2", "10.105.1.11"
NOTHING = "nothing to deploy on this machine"


@pytest.fixture
def tap() -> Iterator[str]:
    """A network device that a machine and a DHCP server share."""
    for program in ("/usr/sbin/dnsmasq", "/usr/lib/ipxe/snponly.efi", "/dev/net/tun"):
        if os.geteuid() != 0 or not Path(program).exists():
            pytest.skip(f"a tap device and a DHCP server need root and {program}")
    made = subprocess.run(["ip", "tuntap", "add", TAP, "mode", "tap"], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"no tap device can be made here: {made.stderr.strip()}")
    subprocess.run(["ip", "addr", "add", f"{TAP_HOST}/24", "dev", TAP], check=True)
    subprocess.run(["ip", "link", "set", TAP, "up"], check=True)
    yield TAP
    subprocess.run(["ip", "link", "del", TAP], check=True)


@contextmanager
def dnsmasq(bench: Bench) -> Iterator[Path]:
    """DHCP and TFTP by the configuration that a site renders, for this one node; yields the server's log."""
    network = BootNetwork(
        name="boot", prefix="10.105.1.0/24", gateway=None, dns=(), domain="example.test", pxe=True,
        reservations=(Reservation("lab-1", MAC, TAP_GUEST, "lab-1"),),
        boot_server=bench.server.files_url(TAP_HOST), tftp_server=TAP_HOST,
    )  # fmt: skip
    text = render_dhcp(Path(__file__).parents[2] / "templates", network, "dnsmasq", TAP)
    config, log = bench.directory / "dnsmasq.conf", bench.directory / "dnsmasq.log"
    config.write_text(text.replace("/var/lib/misc/dnsmasq-boot.leases", str(bench.directory / "leases")))
    argv = ["/usr/sbin/dnsmasq", "--keep-in-foreground", f"--conf-file={config}", "--user=root", "--log-dhcp"]
    with subprocess.Popen([*argv, f"--log-facility={log}"]) as process:
        try:
            yield log
        finally:
            process.terminate()


@pytest.mark.long
async def test_a_machine_is_written_by_pxe_and_ipxe_as_on_a_site_and_then_left_alone(
    tap: str, tmp_path: Path, tiny_image: tuple[Image, Path], record_property: Callable[[str, object], None]
) -> None:
    nic = SPEC.nics[0].model_copy(update={"tap": tap})
    async with bench_with(nic, TAP_HOST, TAP_HOST, tmp_path, tiny_image) as bench:
        with dnsmasq(bench) as log:
            prepared = await asyncio.to_thread(bench.prepare, "pxe")
            started = time.monotonic()
            await bench.boot_until_off(METHODS["pxe"][0], timeout_s=600)
            seconds = time.monotonic() - started
            deployment = bench.deployment(prepared)
            assert deployment.state is DeploymentState.DONE, bench.console()
            assert prepared.deployment.deployment_id in bench.store.medium_reads
            assert "sent /usr/lib/ipxe/snponly.efi" in log.read_text()
            assert "metalwright: deploy ramdisk of lab-1" in bench.console(100_000)
            written = sha256(bench.service.disks["SYS105"])

            bench.service.system.machine.console_path.write_text("")
            await bench.client.patch(SYSTEM, {"Boot": {**METHODS["pxe"][0], "BootSourceOverrideEnabled": "Once"}})
            await bench.client.reset("On")  # it boots from the network again, and nobody waits for it
            for _ in range(1000):
                if NOTHING in bench.console(100_000):
                    break
                await asyncio.sleep(0.2)
            assert NOTHING in bench.console(100_000)
            await bench.client.reset("ForceOff")
            assert sha256(bench.service.disks["SYS105"]) == written
    record_property("note", f"PXE, iPXE and dnsmasq to power off: {seconds:.1f} s")
