"""The real thing in plain QEMU: an empty disk, a boot medium, and at the end a system that answers over SSH."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from metalwright.imaging.agent.stamp import decode_stamp, read_stamp_area
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.deployments import MediaNetwork, PreparedDeployment, prepare_deployment
from metalwright.imaging.image_build import build_image
from metalwright.imaging.image_recipe import load_recipe
from metalwright.imaging.media import write_media
from metalwright.imaging.memory_store import MemoryDeploymentStore
from metalwright.imaging.ramdisk import build_ramdisk
from metalwright.imaging.server import BootServer, BootServerAddress
from metalwright.imaging.signed_boot import SignedBoot
from metalwright.model.agent_protocol import Disk, DiskRule, ExpectedIdentity, Seed, SeedFile
from metalwright.model.deployment import Deployment, DeploymentState
from metalwright.model.digests import digest
from metalwright.model.image import Image, Stamp
from metalwright.simulator.qemu.accelerator import find_accelerator
from metalwright.simulator.qemu.firmware import Firmware, find_firmware, find_qemu

REPOSITORY = Path(__file__).parents[2]
TEMPLATES = REPOSITORY / "templates"
CACHE = Path(os.environ.get("METALWRIGHT_CACHE", REPOSITORY / ".cache"))
SERIAL, UUID, MAC = "SN-82", "12345678-1234-5678-9abc-def012345678", "52:54:00:82:00:01"
SSH_HOST = "127.82.1.1"
GUEST, GATEWAY = "10.82.0.11", "10.82.0.2"
NETWORK_FILE = f"[Match]\nMACAddress={MAC}\n\n[Network]\nAddress={GUEST}/24\nGateway={GATEWAY}\n"

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(900)]


@dataclass
class Machine:
    """One QEMU machine with a system and a data disk, and the boot server that it reaches."""

    directory: Path
    image: Image
    image_path: Path
    server: BootServerAddress
    store: MemoryDeploymentStore
    ssh_port: int
    seconds: dict[str, float] = field(default_factory=dict)
    firmware: Firmware | None = None
    signed: SignedBoot | None = None
    faults: dict[str, Path] = field(default_factory=dict)
    """Disk file → configuration of QEMU's blkdebug, which makes its I/O fail."""
    keeps_variables: bool = False
    """Whether the firmware's variables are those that the test put there, or the last boot left."""

    def prepare(self, serial: str = SERIAL, *, overwrite: bool = False) -> PreparedDeployment:
        key = (self.directory / "id.pub").read_text()
        prepared = prepare_deployment(
            run="run-1",
            node="lab-1",
            expect=ExpectedIdentity(keys=("serial", "uuid"), serial=serial, uuid=UUID),
            image=self.image,
            image_path=self.image_path,
            disk=DiskRule(role="system", serial="SYS82", protocol="NVMe"),
            overwrite=overwrite,
            stamp=Stamp(
                node="lab-1", run="run-1", recipe="sha256:0", image=f"sha256:{self.image.file_sha256}",
                journal="journal-1", written=datetime(2026, 11, 30, tzinfo=UTC),
            ),
            seed=Seed(
                hostname="lab-1",
                fqdn="lab-1.example.test",
                files=(
                    SeedFile(path="/root/.ssh/authorized_keys", mode="0600", text=key),
                    SeedFile(path="/etc/systemd/network/10-host.network", text=NETWORK_FILE),
                ),
            ),
            media_dir=self.directory / "media",
            now=datetime.now(UTC),
        )  # fmt: skip
        self.store.create(prepared.deployment)
        network = MediaNetwork(mac=MAC, address=f"{GUEST}/24", gateway=GATEWAY)
        config = prepared.media_config(self.server.control_url(GATEWAY), self.server.server_cert_pem, network)
        ramdisk = build_ramdisk(CACHE)
        with self.timed("medium"):
            write_media(ramdisk, config, prepared.deployment.media_path, signed=self.signed)
        return prepared

    def deployment(self, prepared: PreparedDeployment) -> Deployment:
        return self.store.get(prepared.deployment.deployment_id, datetime.now(UTC))

    def disk_sha256(self, name: str) -> str:
        with (self.directory / name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def console(self) -> str:
        return (self.directory / "console.log").read_text(errors="replace")

    async def start(self, medium: Path | None) -> asyncio.subprocess.Process:
        firmware = self.firmware or find_firmware()
        variables = self.directory / "variables.fd"
        if not self.keeps_variables:
            shutil.copyfile(firmware.variables, variables)
        (self.directory / "console.log").unlink(missing_ok=True)
        qemu = find_qemu()
        accelerator = await asyncio.to_thread(find_accelerator, qemu, find_firmware())
        machine = "q35,smm=on" if self.firmware else "q35"
        argv = [qemu, "-nodefaults", "-machine", machine, "-m", "640", "-display", "none", "-no-reboot"]
        argv += ["-global", "driver=cfi.pflash01,property=secure,value=on"] if self.firmware else []
        argv += ["-accel", "kvm", "-cpu", "host"] if accelerator == "kvm" else ["-accel", "tcg", "-cpu", "max"]
        argv += ["-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={firmware.code}"]
        argv += ["-drive", f"if=pflash,unit=1,format=raw,file={variables}"]
        argv += ["-smbios", f"type=1,serial={SERIAL},uuid={UUID}", "-device", "virtio-rng-pci"]
        argv += ["-serial", f"file:{self.directory / 'console.log'}"]
        forward = f"hostfwd=tcp:{SSH_HOST}:{self.ssh_port}-{GUEST}:22"
        argv += ["-netdev", f"user,id=net0,net=10.82.0.0/24,host={GATEWAY},{forward}"]
        argv += ["-device", f"virtio-net-pci,netdev=net0,mac={MAC},romfile="]
        for index, (name, serial) in enumerate({"system.raw": "SYS82", "data.raw": "DAT82"}.items()):
            argv += ["-drive", f"if=none,id=d{index},format=raw,cache=unsafe,discard=unmap,file={self._backing(name)}"]
            argv += ["-device", f"nvme,drive=d{index},serial={serial},bootindex={index + 2}"]
        if medium:
            argv += ["-drive", f"if=none,id=cd,format=raw,readonly=on,media=cdrom,file={medium}"]
            argv += ["-device", "ide-cd,drive=cd,bootindex=1"]
        return await asyncio.create_subprocess_exec(*argv, stdin=asyncio.subprocess.DEVNULL)

    def _backing(self, name: str) -> str:
        return (
            f"blkdebug:{self.faults[name]}:{self.directory / name}"
            if name in self.faults
            else str(self.directory / name)
        )

    async def boot_until_off(self, medium: Path, timeout_s: float = 400) -> None:
        process = await self.start(medium)
        try:
            await asyncio.wait_for(process.wait(), timeout_s)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    async def ssh(self, host_key: str, command: str) -> tuple[int, str]:
        known_hosts = self.directory / "known_hosts"
        known_hosts.write_text(f"[{SSH_HOST}]:{self.ssh_port} {host_key}\n")
        options = ["-o", f"UserKnownHostsFile={known_hosts}", "-o", "StrictHostKeyChecking=yes", "-o", "BatchMode=yes"]
        process = await asyncio.create_subprocess_exec(
            "ssh", "-i", str(self.directory / "id"), *options, "-o", "ConnectTimeout=5", "-p", str(self.ssh_port),
            f"root@{SSH_HOST}", command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        output, _ = await process.communicate()
        return process.returncode or 0, output.decode()

    async def ssh_when_up(self, host_key: str, command: str, timeout_s: float = 300) -> str:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            exit_code, output = await self.ssh(host_key, command)
            if exit_code == 0:
                return output
            await asyncio.sleep(1)
        raise AssertionError(f"no SSH within {timeout_s} s:\n{self.console()[-3000:]}")

    @contextlib.contextmanager
    def timed(self, what: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.seconds[what] = round(time.monotonic() - started, 1)


@pytest.fixture(scope="module")
def base_image() -> tuple[Image, Path]:
    """The image of virtual machines, built once per recipe."""
    recipe = load_recipe(TEMPLATES, "debian-12")
    catalogue = ImageCatalogue(CACHE / "images" / digest(recipe).removeprefix("sha256:")[:16])
    image = build_image(catalogue, recipe, "2026.11.1")
    return image, catalogue.file_path(image)


@pytest.fixture
def machine_directory(tmp_path: Path) -> Path:
    """Where two blank disks and a login key lie."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "id")], check=True)
    for name in ("system.raw", "data.raw"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(1 << 30)
    return tmp_path


@pytest.fixture
async def machine(machine_directory: Path, base_image: tuple[Image, Path]) -> AsyncIterator[Machine]:
    store = MemoryDeploymentStore()
    server = BootServer(machine_directory / "state", store, _grant, http_port=0, https_port=0, node_host=GATEWAY)
    async with server.running() as address:
        yield Machine(machine_directory, *base_image, address, store, ssh_port=20000 + os.getpid() % 20000)


def _grant(deployment: Deployment, disk: Disk) -> int:
    assert (deployment.node, disk.serial) == ("lab-1", "SYS82")
    return 1


async def test_empty_disk_becomes_a_system_with_the_reported_host_key_and_used_media_do_nothing(
    machine: Machine, record_property: Callable[[str, object], None]
) -> None:
    prepared = await asyncio.to_thread(machine.prepare)
    medium, data_before = prepared.deployment.media_path, machine.disk_sha256("data.raw")
    with machine.timed("medium boot to power off"):
        await machine.boot_until_off(medium)
    deployment = machine.deployment(prepared)
    assert deployment.state is DeploymentState.DONE, machine.console()[-3000:]
    assert deployment.done is not None
    assert deployment.done.read_back_sha256 == machine.image.content_sha256
    assert deployment.done.disk.serial == "SYS82"
    assert machine.disk_sha256("data.raw") == data_before
    stamp = decode_stamp(read_stamp_area(str(machine.directory / "system.raw")))
    assert stamp == deployment.task.stamp.to_json()

    system_before = machine.disk_sha256("system.raw")
    await machine.boot_until_off(medium)
    assert "this medium was already used by run run-1" in machine.console()
    assert machine.disk_sha256("system.raw") == system_before

    process = await machine.start(None)
    try:
        host_key = str(deployment.done.ssh_host_key)
        with machine.timed("disk boot to SSH"):
            told = await machine.ssh_when_up(host_key, "hostname -f && python3 -V && df -B1 --output=size / | tail -1")
        name, python, size_bytes = told.splitlines()
        assert (name, python.partition(".")[0]) == ("lab-1.example.test", "Python 3")
        assert int(size_bytes) > 900_000_000
        _, failed_units = await machine.ssh(host_key, "systemctl --failed --plain --no-legend")
        assert failed_units == ""
        await machine.ssh(host_key, "systemctl poweroff")
        await asyncio.wait_for(process.wait(), 120)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    times = ", ".join(f"{what} {seconds} s" for what, seconds in {**deployment.done.seconds, **machine.seconds}.items())
    record_property("note", f"imaging in QEMU: {times}")


async def test_machine_that_is_not_the_declared_one_powers_off_unwritten(machine: Machine) -> None:
    prepared = await asyncio.to_thread(machine.prepare, serial="SN-83")
    before = machine.disk_sha256("system.raw")
    await machine.boot_until_off(prepared.deployment.media_path)
    failure = machine.deployment(prepared).failure
    assert failure is not None
    assert (failure.code.value, failure.expected, failure.found) == ("identity", "serial SN-83", "serial SN-82")
    assert "nothing was written to any disk" in machine.console()
    assert machine.disk_sha256("system.raw") == before
