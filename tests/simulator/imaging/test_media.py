"""Boot media: what UEFI finds on them, and what the agent finds in them."""

from __future__ import annotations

import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from metalwright.errors import ImageError
from metalwright.imaging.agent.media import read_media
from metalwright.imaging.deployments import MediaNetwork
from metalwright.imaging.media import remove_other_media, write_media
from metalwright.imaging.ramdisk import Ramdisk, agent_layer

MIB = 1 << 20


@pytest.fixture
def ramdisk(tmp_path: Path) -> Ramdisk:
    kernel, initramfs = tmp_path / "vmlinuz", tmp_path / "initramfs"
    kernel.write_bytes(b"kernel" * MIB)
    initramfs.write_bytes(b"initramfs" * MIB)
    return Ramdisk(kernel, initramfs, agent_layer(), "sha256:test")


def extract(iso: Path, directory: Path) -> Path:
    """Return the EFI program of the medium, taken out as UEFI would."""
    image, efi = directory / "efi.img", directory / "BOOTX64.EFI"
    xorriso = ["xorriso", "-report_about", "SORRY", "-osirrox", "on", "-indev", str(iso), "-extract", "/efi.img"]
    subprocess.run([*xorriso, str(image)], check=True, capture_output=True)
    subprocess.run(["mcopy", "-i", str(image), "::/EFI/BOOT/BOOTX64.EFI", str(efi)], check=True)
    return efi


def section(efi: Path, name: str) -> bytes:
    out = efi.with_suffix(name)
    subprocess.run(["objcopy", "-O", "binary", "--only-section", name, str(efi), str(out)], check=True)
    return out.read_bytes()


async def test_medium_boots_our_ramdisk_and_carries_its_configuration(
    bench: Any, ramdisk: Ramdisk, tmp_path: Path
) -> None:
    prepared = bench.prepare()
    network = MediaNetwork(mac="52:54:00:82:00:01", address="10.1.0.11/24", gateway="10.1.0.2")
    config = prepared.media_config("https://10.1.0.2:8481", bench.server.server_cert_pem, network)
    iso = prepared.deployment.media_path
    started = time.monotonic()
    write_media(ramdisk, config, iso)
    assert time.monotonic() - started < 10
    assert stat.S_IMODE(iso.stat().st_mode) == 0o600
    assert [path.name for path in iso.parent.iterdir()] == [iso.name]
    efi = extract(iso, tmp_path)
    cmdline = section(efi, ".cmdline").decode()
    assert "console=tty0 console=ttyS0,115200n8 rdinit=/metalwright/init panic=1" in cmdline
    assert section(efi, ".initrd")[: 9 * MIB] == b"initramfs" * MIB
    media = read_media(iso)
    assert (media.token, media.nonce) == (prepared.secrets.token, prepared.secrets.nonce)
    assert media.network == (network.mac, network.address, network.gateway)
    assert prepared.secrets.token not in cmdline


async def test_failed_medium_leaves_nothing_behind(bench: Any, ramdisk: Ramdisk, tmp_path: Path) -> None:
    prepared = bench.prepare()
    broken = ramdisk._replace(kernel_path=tmp_path / "absent")
    with pytest.raises(ImageError, match="objcopy failed"):
        write_media(broken, bench.config(prepared), prepared.deployment.media_path)
    assert list(prepared.deployment.media_path.parent.iterdir()) == []


def test_media_of_earlier_deployments_of_the_node_are_removed(tmp_path: Path) -> None:
    names = [f"lab-1-{'a' * 16}.iso", f"lab-1-{'b' * 16}.iso", f"lab-1-x-{'c' * 16}.iso", f"lab-11-{'d' * 16}.iso"]
    for name in names:
        (tmp_path / name).touch()
    remove_other_media(tmp_path / names[0], "lab-1")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([names[0], *names[2:]])


def test_agent_layer_holds_init_and_the_whole_agent(tmp_path: Path) -> None:
    subprocess.run(["cpio", "-idm", "--quiet"], input=agent_layer(), cwd=tmp_path, check=True)
    top = tmp_path / "metalwright"
    assert (top / "init").stat().st_mode & 0o111
    listing = ["python3", "-S", "-c", "import metalwright.imaging.agent.__main__ as agent; print(agent.EXIT_DONE)"]
    result = subprocess.run(listing, cwd=top / "lib", capture_output=True, text=True, check=True)
    assert result.stdout == "0\n"
