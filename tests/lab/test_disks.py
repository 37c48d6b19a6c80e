"""What only the real ramdisk meets, in plain QEMU: XFS, the firmware's variables, a drive whose I/O really fails."""

from __future__ import annotations

import asyncio
import os
import shutil
import struct
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.disk_images import MIB
from tests.lab.test_imaging import GATEWAY, Machine, _grant, machine_directory
from tests.load_options import ELSEWHERE, FORMER, load_option
from tests.simulator.nvram_judge import read_variable
from tests.xfs_images import make_xfs_image, mounted, needs_xfs

from metalwright.imaging.agent.stamp import PARTIAL_MAGIC, decode_stamp, read_stamp_area
from metalwright.imaging.memory_store import MemoryDeploymentStore
from metalwright.imaging.server import BootServer
from metalwright.model.agent_protocol import FailureCode
from metalwright.model.deployment import Deployment, DeploymentState
from metalwright.model.image import Image
from metalwright.simulator.qemu.firmware import find_firmware
from metalwright.simulator.qemu.nvram import set_variable

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(900), needs_xfs]
__all__ = ["machine_directory"]

ROOT_SECTOR = 2 * MIB // 512
REFUSES_WRITES = f"""
[inject-error]
event = "none"
iotype = "write"
sector = "{ROOT_SECTOR}"
errno = "5"
once = "off"
"""


@pytest.fixture(scope="module")
def xfs_image(tmp_path_factory: pytest.TempPathFactory) -> tuple[Image, Path]:
    return make_xfs_image(tmp_path_factory.mktemp("xfs-image"))


@pytest.fixture
async def machine(machine_directory: Path, xfs_image: tuple[Image, Path]) -> AsyncIterator[Machine]:
    store = MemoryDeploymentStore()
    server = BootServer(machine_directory / "state", store, _grant, http_port=0, https_port=0, node_host=GATEWAY)
    async with server.running() as address:
        yield Machine(machine_directory, *xfs_image, address, store, ssh_port=20000 + os.getpid() % 20000)


async def test_an_xfs_root_is_grown_and_seeded_and_entries_of_the_former_system_are_removed(machine: Machine) -> None:
    """In the real ramdisk, on a disk that carried another system with a boot entry of its own."""
    disk, variables = machine.directory / "system.raw", machine.directory / "variables.fd"
    table = f"label: gpt\nsize=64MiB, type=U, uuid={FORMER}\n"
    await asyncio.to_thread(subprocess.run, ["sfdisk", "-q", str(disk)], input=table.encode(), check=True)
    shutil.copyfile(find_firmware().variables, variables)
    machine.keeps_variables = True
    set_variable(variables, "Boot0042", load_option("former", FORMER))
    set_variable(variables, "Boot0043", load_option("elsewhere", ELSEWHERE))
    set_variable(variables, "BootOrder", struct.pack("<HH", 0x42, 0x43))

    prepared = await asyncio.to_thread(machine.prepare, overwrite=True)
    await machine.boot_until_off(prepared.deployment.media_path)
    deployment = machine.deployment(prepared)
    assert deployment.state is DeploymentState.DONE, machine.console()[-3000:]
    assert deployment.done is not None
    assert deployment.done.removed_boot_entries == ("Boot0042 (former)",)
    assert read_variable(variables, "Boot0042") is None
    assert (read_variable(variables, "Boot0043") or b"").endswith(load_option("elsewhere", ELSEWHERE)[-40:])
    order = read_variable(variables, "BootOrder") or b""
    assert b"\x42\0" not in [order[at : at + 2] for at in range(0, len(order), 2)]
    assert b"\x43\0" in [order[at : at + 2] for at in range(0, len(order), 2)]
    is_seeded(machine, deployment)


def is_seeded(machine: Machine, deployment: Deployment) -> None:
    """The written disk carries stamp, names and host key, in a root as large as the disk."""
    disk = machine.directory / "system.raw"
    assert deployment.done is not None
    assert decode_stamp(read_stamp_area(str(disk))) == deployment.task.stamp.to_json()
    with mounted(disk, machine.directory / "mounted") as root:
        assert (root / "etc/hostname").read_text() == "lab-1\n"
        assert (root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().strip() == deployment.done.ssh_host_key
        seen = os.statvfs(root)
        assert seen.f_blocks * seen.f_frsize > 900_000_000


async def test_a_drive_that_refuses_a_write_ends_failed_and_one_more_attempt_writes_it(
    machine: Machine,
) -> None:
    """The kernel reports the error of the drive; nothing half-written boots or is called ready."""
    disk = machine.directory / "system.raw"
    faults = machine.directory / "blkdebug.conf"
    faults.write_text(REFUSES_WRITES)
    machine.faults["system.raw"] = faults
    prepared = await asyncio.to_thread(machine.prepare)
    await machine.boot_until_off(prepared.deployment.media_path)
    deployment = machine.deployment(prepared)
    assert deployment.state is DeploymentState.FAILED, machine.console()[-3000:]
    assert deployment.failure is not None
    assert (deployment.failure.code, deployment.failure.wrote) == (FailureCode.WRITE, True)
    assert deployment.failure.found == "the drive reports a defective medium (No data available)"
    assert decode_stamp(read_stamp_area(str(disk))) is None
    assert decode_stamp(read_stamp_area(str(disk)), PARTIAL_MAGIC) is not None
    with disk.open("rb") as file:
        assert not any(file.read(MIB // 2)), "no partition table: it does not boot"

    machine.faults.clear()
    prepared = await asyncio.to_thread(machine.prepare)
    await machine.boot_until_off(prepared.deployment.media_path)
    deployment = machine.deployment(prepared)
    assert deployment.state is DeploymentState.DONE, machine.console()[-3000:]
    is_seeded(machine, deployment)
