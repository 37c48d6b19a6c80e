"""Bootable disk images and EFI file systems, as other tools read them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.disk_images import efi_program

from metalwright.errors import ImageError
from metalwright.imaging.agent.grow import find_root
from metalwright.imaging.disk_image import write_disk_image
from metalwright.imaging.efi_file_system import DEFAULT_PROGRAM, write_efi_file_system
from metalwright.imaging.signed_boot import SignedBoot, boot_menu

MIB = 1 << 20


def file_system_type(path: Path) -> str:
    argv = ["blkid", "-p", "-s", "VERSION", "-o", "value", str(path)]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(("size_mib", "version"), [(16, "FAT12"), (264, "FAT32")])
def test_efi_file_system_holds_the_program_that_firmware_starts(tmp_path: Path, size_mib: int, version: str) -> None:
    efi, path = tmp_path / "x.efi", tmp_path / "esp.img"
    efi.write_bytes(bytes(range(256)) * 4096)
    write_efi_file_system(path, {DEFAULT_PROGRAM: efi}, size_mib * MIB)
    assert path.stat().st_size == size_mib * MIB
    assert file_system_type(path) == version
    argv = ["mtype", "-i", str(path), "::/EFI/BOOT/BOOTX64.EFI"]
    assert subprocess.run(argv, capture_output=True, check=True).stdout == efi.read_bytes()


def test_efi_file_system_that_is_too_small_is_refused_with_the_key_to_change(tmp_path: Path) -> None:
    efi = tmp_path / "x.efi"
    efi.write_bytes(bytes(8 * MIB))
    with pytest.raises(ImageError, match="too small") as caught:
        write_efi_file_system(tmp_path / "esp.img", {DEFAULT_PROGRAM: efi}, 9 * MIB)
    assert "esp_mib" in str(caught.value)


def test_disk_image_has_the_root_last_boots_it_by_its_own_id_and_leaves_the_stamp_area_free(tmp_path: Path) -> None:
    kernel, root, out = tmp_path / "vmlinuz", tmp_path / "root.ext4", tmp_path / "image.raw"
    kernel.write_bytes(b"kernel" * 1000)
    root.write_bytes(bytes(3 * MIB) + b"root file system")
    write_disk_image(
        out, ref="debian-12@1", root_file_system=root, kernel=kernel, initramfs=None, cmdline="quiet", esp_mib=8
    )
    table = json.loads(subprocess.run(["sfdisk", "--json", str(out)], capture_output=True, check=True).stdout)
    esp, last = table["partitiontable"]["partitions"]
    assert (esp["start"], esp["size"], esp["name"]) == (2048, 8 * 2048, "esp")
    assert (find_root(str(out)).number, find_root(str(out)).start_bytes) == (2, 9 * MIB)
    content = out.read_bytes()
    assert content[12 * MIB : 12 * MIB + 16] == b"root file system"
    assert not any(content[524288:528384])
    offset = esp["start"] * 512
    efi = subprocess.run(
        ["mtype", "-i", f"{out}@@{offset}", "::/EFI/BOOT/BOOTX64.EFI"], capture_output=True, check=True
    ).stdout
    assert f"root=PARTUUID={last['uuid'].lower()} rootfstype=ext4 rw quiet".encode() in efi


SIGNED = SignedBoot(*(Path(__file__) for _ in range(3)))


def test_a_kernel_that_nobody_signed_is_refused_for_a_signed_chain(tmp_path: Path) -> None:
    kernel, root = tmp_path / "vmlinuz", tmp_path / "root.ext4"
    kernel.write_bytes(efi_program())
    root.write_bytes(bytes(MIB))
    with pytest.raises(ImageError, match="Secure Boot would refuse") as caught:
        write_disk_image(
            tmp_path / "image", ref="x@1", root_file_system=root, kernel=kernel, initramfs=None, cmdline="", esp_mib=8,
            signed=SIGNED,
        )  # fmt: skip
    assert (caught.value.found, caught.value.hint is not None) == ("no signature", True)


def test_the_menu_starts_one_kernel_at_once_and_keeps_words_from_grub() -> None:
    assert boot_menu("/boot/vmlinuz", "/boot/initrd", "root=PARTUUID=1-2 a;b console=ttyS0,115200n8") == (
        "set timeout=0\nlinux /boot/vmlinuz root=PARTUUID=1-2 'a;b' console=ttyS0,115200n8\ninitrd /boot/initrd\nboot\n"
    )
    with pytest.raises(ImageError, match="quote"):
        boot_menu("/k", None, "a'b")
