"""Disks as sysfs shows them, and what is on them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from metalwright.imaging.agent.disks import partition_path, read_disks
from metalwright.imaging.agent.signatures import probe_content

MIB = 1 << 20


class Sysfs:
    """Builds /sys/block and /dev with file-backed devices."""

    def __init__(self, top: Path) -> None:
        self.sys, self.dev = top / "sys", top / "dev"
        (self.sys / "block").mkdir(parents=True)
        self.dev.mkdir()

    def add(self, name: str, place: str, files: dict[str, str | bytes]) -> None:
        real = self.sys / "devices" / place / "block" / name
        for path, content in {"size": "4096", "ro": "0", "removable": "0", **files}.items():
            (real / path).parent.mkdir(parents=True, exist_ok=True)
            (real / path).write_bytes(content.encode() if isinstance(content, str) else content)
        (self.sys / "block" / name).symlink_to(real)
        with (self.dev / name).open("wb") as device:
            device.truncate(2 * MIB)


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    return Sysfs(tmp_path)


def test_nvme_sata_sas_and_virtio_disks_are_described(sysfs: Sysfs) -> None:
    sysfs.add("nvme0n1", "pci0/nvme/nvme0", {"device/serial": "N1  \n", "wwid": "eui.00\n", "device/model": "SSD\n"})
    page = b"\x00\x80\x00\x08" + b"  S4TA01"
    sysfs.add("sda", "pci0/ata1/host0/target0:0:0", {"device/vpd_pg80": page, "device/wwid": "naa.5000\n"})
    sysfs.add("sdb", "pci0/host1/port-1:0/end_device-1:0", {"device/vpd_pg80": page[:4] + b"SAS01"})
    sysfs.add("vda", "pci0/virtio0", {"serial": "V1\n"})
    disks = read_disks(sysfs.sys, sysfs.dev)
    facts = [(Path(disk.path).name, disk.protocol, disk.serial, disk.wwn, disk.model) for disk in disks]
    assert facts == [
        ("nvme0n1", "NVMe", "N1", "eui.00", "SSD"),
        ("sda", "SATA", "S4TA01", "naa.5000", None),
        ("sdb", "SAS", "SAS01", None, None),
        ("vda", "VIRTIO", "V1", None, None),
    ]
    assert {disk.size_bytes for disk in disks} == {2 * MIB}
    assert {disk.content.state for disk in disks} == {"blank"}


def test_optical_loop_and_mapped_devices_are_no_disks(sysfs: Sysfs) -> None:
    for name in ("sr0", "loop0", "ram0", "zram0", "dm-0", "md0", "fd0", "nbd0"):
        sysfs.add(name, "virtual", {})
    assert read_disks(sysfs.sys, sysfs.dev) == ()


def test_im_07_usb_disks_count_as_removable_and_unknown_flags_as_the_worse(sysfs: Sysfs) -> None:
    """Read-only, removable and USB disks, the BMC's virtual ones too, are never written, whatever the rule says."""
    sysfs.add("sda", "pci0/usb1/1-1/host2", {})
    sysfs.add("sdb", "pci0/ata1", {"removable": "1"})
    sysfs.add("sdc", "pci0/ata2", {"ro": ""})
    usb, removable, unknown = read_disks(sysfs.sys, sysfs.dev)
    assert usb.removable
    assert removable.removable
    assert unknown.read_only


@pytest.mark.parametrize(
    ("disk", "expected"),
    [
        ("/dev/sda", "/dev/sda2"),
        ("/dev/vdb", "/dev/vdb2"),
        ("/dev/nvme0n1", "/dev/nvme0n1p2"),
        ("/dev/mmcblk0", "/dev/mmcblk0p2"),
        ("/dev/md0", "/dev/md0p2"),
    ],
)
def test_im_09_partition_names_follow_the_kernel(disk: str, expected: str) -> None:
    """One function names partitions, with a ``p`` after a digit; no script is made from names."""
    assert partition_path(disk, 2) == expected


def make_disk(path: Path, fill: bytes = b"", at: int = 0) -> str:
    with path.open("wb") as file:
        file.seek(at)
        file.write(fill)
        file.truncate(8 * MIB)
    return str(path)


def test_zeroed_disk_is_blank(tmp_path: Path) -> None:
    assert probe_content(make_disk(tmp_path / "disk"), 8 * MIB).state == "blank"


@pytest.mark.parametrize("at", [0, 100_000, 8 * MIB - 512])
def test_unknown_data_at_either_end_is_foreign(tmp_path: Path, at: int) -> None:
    content = probe_content(make_disk(tmp_path / "disk", b"x", at), 8 * MIB)
    assert (content.state, content.summary) == ("foreign", ("data without a known signature",))


def test_file_system_without_a_partition_table_is_foreign_and_named(tmp_path: Path) -> None:
    path = make_disk(tmp_path / "disk")
    subprocess.run(["mkfs.ext4", "-q", "-F", "-L", "payroll", path], check=True, capture_output=True)
    content = probe_content(path, 8 * MIB)
    assert (content.state, content.summary) == ("foreign", ("ext4 on the whole disk labelled payroll",))


def test_partitions_are_listed_with_what_is_on_them(tmp_path: Path) -> None:
    path = make_disk(tmp_path / "disk")
    table = b"label: gpt\nstart=2048, size=2048\nstart=4096, size=8192\n"
    subprocess.run(["sfdisk", "-q", path], input=table, check=True)
    mkfs = ["mkfs.ext4", "-q", "-F", "-L", "data", "-E", f"offset={4096 * 512}", path, "4M"]
    subprocess.run(mkfs, check=True, capture_output=True)
    content = probe_content(path, 8 * MIB)
    assert (content.state, content.summary) == ("foreign", ("gpt: 2 partitions", "ext4 on p2 labelled data"))


def test_unreadable_disk_is_foreign(tmp_path: Path) -> None:
    content = probe_content(str(tmp_path / "absent"), 8 * MIB)
    assert (content.state, content.summary) == ("foreign", (f"unreadable: {os.strerror(2)}",))


def test_drive_without_a_medium_is_foreign(tmp_path: Path) -> None:
    assert probe_content(make_disk(tmp_path / "disk"), 0).state == "foreign"
