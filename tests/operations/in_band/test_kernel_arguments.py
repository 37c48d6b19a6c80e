"""Kernel arguments: in unified kernel images of the real stub, in entries of systemd-boot, and by GRUB on a machine."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.failures.machine_site import BARE, write_stand_ins
from tests.machines import can_run_machines, segment
from tests.machines.site import machine_site
from tests.operations.in_band.stand_in import commands_of, run_function

from metalwright.errors import DeployError
from metalwright.imaging.unified_kernel_image import STUB_PATH, write_unified_kernel_image
from metalwright.operations.kernel import arguments
from metalwright.operations.on_node import kernel_arguments

OWN = "root=PARTUUID=1 rootfstype=ext4 rw console=ttyS0,115200n8 quiet"
GRUB = """
mkdir -p /etc/default/grub.d
echo GRUB_CMDLINE_LINUX_DEFAULT=quiet > /etc/default/grub
cat > /usr/local/sbin/update-grub <<'X'
#!/bin/sh
. /etc/default/grub
. /etc/default/grub.d/90-metalwright.cfg
echo "root=PARTUUID=1 rw $GRUB_CMDLINE_LINUX_DEFAULT" > /boot/cmdline
X
chmod 755 /usr/local/sbin/update-grub
"""
PROGRAM = Path(kernel_arguments.__file__)
needs_stub = pytest.mark.skipif(
    not STUB_PATH.exists() or shutil.which("objcopy") is None, reason="systemd-boot-efi or binutils is not installed"
)


@pytest.fixture
def esp(tmp_path: Path) -> Path:
    """A mounted EFI system partition with one unified kernel image."""
    (tmp_path / "EFI/BOOT").mkdir(parents=True)
    (tmp_path / "kernel").write_bytes(b"kernel" * 1000)
    write_unified_kernel_image(
        tmp_path / "EFI/BOOT/BOOTX64.EFI",
        kernel=tmp_path / "kernel",
        cmdline=OWN,
        initrd=b"initrd" * 99,
        title="image@1",
    )
    return tmp_path


def run(esp: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The program as the node runs it."""
    return subprocess.run(
        [sys.executable, str(PROGRAM), *words],
        env={"METALWRIGHT_ESP": str(esp), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def section(image: Path, name: str) -> bytes:
    """What binutils finds in a section."""
    out = image.with_suffix(name)
    subprocess.run(["objcopy", "-O", "binary", f"--only-section={name}", str(image), str(out)], check=True)
    return out.read_bytes()


@needs_stub
def test_arguments_are_added_changed_and_taken_away_again(esp: Path) -> None:
    image = esp / "EFI/BOOT/BOOTX64.EFI"
    kernel, initrd = section(image, ".linux"), section(image, ".initrd")
    for words in (["iommu=pt"], ["iommu=pt", "pci=realloc", "x" * 900], ["hugepages=16"]):
        done = run(esp, "set", *words)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["next"] == words
        line = section(image, ".cmdline").rstrip(b"\0").decode()
        assert line == f"{OWN} metalwright.args {' '.join(words)}"
    assert run(esp, "set").returncode == 0
    assert section(image, ".cmdline").rstrip(b"\0").decode() == OWN
    assert (section(image, ".linux"), section(image, ".initrd")) == (kernel, initrd)


@needs_stub
def test_setting_what_is_set_writes_nothing(esp: Path) -> None:
    run(esp, "set", "iommu=pt")
    image = esp / "EFI/BOOT/BOOTX64.EFI"
    before = (image.read_bytes(), image.stat().st_mtime_ns)
    assert json.loads(run(esp, "set", "iommu=pt").stdout)["loader"] == "unified kernel image"
    assert (image.read_bytes(), image.stat().st_mtime_ns) == before


@needs_stub
def test_a_loss_of_power_in_the_middle_leaves_the_old_arguments(esp: Path) -> None:
    """All bytes of the first write, none of the second: the new text is behind the file and nothing points to it."""
    image = esp / "EFI/BOOT/BOOTX64.EFI"
    before = image.read_bytes()
    run(esp, "set", "iommu=pt")
    after = image.read_bytes()
    changed = [index for index in range(len(before)) if before[index] != after[index]]
    assert max(changed) - min(changed) < 16
    image.write_bytes(before + after[len(before) :])
    assert section(image, ".cmdline").rstrip(b"\0").decode() == OWN
    assert run(esp, "set", "iommu=pt").returncode == 0


@needs_stub
def test_a_signed_image_is_refused_and_left_as_it_is(esp: Path) -> None:
    image = esp / "EFI/BOOT/BOOTX64.EFI"
    data = bytearray(image.read_bytes())
    header = struct.unpack_from("<I", data, 0x3C)[0]
    struct.pack_into("<II", data, header + 24 + 112 + 32, len(data), 512)
    image.write_bytes(data)
    done = run(esp, "set", "iommu=pt")
    assert done.returncode != 0
    assert "is signed" in done.stderr
    assert image.read_bytes() == data


def test_entries_of_systemd_boot_get_the_arguments(tmp_path: Path) -> None:
    (tmp_path / "loader/entries").mkdir(parents=True)
    entry = tmp_path / "loader/entries/1.conf"
    entry.write_text("title Linux\nlinux /vmlinuz\noptions root=UUID=1 quiet\n")
    done = json.loads(run(tmp_path, "set", "iommu=pt").stdout)
    assert (done["loader"], done["next"]) == ("systemd-boot", ["iommu=pt"])
    assert entry.read_text() == "title Linux\nlinux /vmlinuz\noptions root=UUID=1 quiet metalwright.args iommu=pt\n"


def test_a_system_without_a_known_loader_is_told_only_where_arguments_are_wanted() -> None:
    facts = {"KernelArguments": {"loader": "", "next": [], "running": [], "problem": "no boot loader is known here"}}
    assert commands_of(arguments, facts, wanted=[], program="/p")[0] == []
    (command,), _ = commands_of(arguments, facts, wanted=["iommu=pt"], program="/p")
    with pytest.raises(DeployError, match="cannot be set"):
        run_function(command, {})


@pytest.mark.parametrize(
    ("following", "running", "commands"),
    [(["a"], ["a"], 0), (["a"], [], 1), ([], [], 2), (["b"], ["b"], 2), (["b"], ["a"], 1)],
)
def test_what_is_set_and_what_runs_are_two_things(following: list[str], running: list[str], commands: int) -> None:
    facts: dict[str, Any] = {
        "KernelArguments": {"loader": "GRUB", "next": following, "running": running, "problem": ""}
    }
    assert len(commands_of(arguments, facts, wanted=["a"], program="/p")[0]) == commands


@pytest.mark.skipif(not can_run_machines(), reason="machines of namespaces need root, systemd and sshd")
def test_a_machine_asks_for_a_restart_until_its_kernel_has_the_arguments(tmp_path: Path) -> None:
    """GRUB: a stand-in for update-grub takes over what the drop-in says; the machine's next boot has it."""
    with segment() as wires:
        software = "{kernel_args: [iommu=pt, pci=realloc]}"
        site = machine_site(tmp_path / "site", wires, setup=BARE + GRUB, software=software)
        node = site.machines["lab-1"]
        node.put("/srv/stand-ins", write_stand_ins(tmp_path / "stand-ins"))
        for _ in range(2):
            done = site.deploy("software")
            assert done.code == 0, done.text
            assert "Kernel arguments" in done.changed
        reasons = node.run("cat /run/metalwright/restart").stdout
        assert reasons == "kernel arguments iommu=pt pci=realloc instead of none of ours\n"
        node.disk_script("cat > {0}/cmdline", node.run("cat /boot/cmdline").stdout)
        node.run("systemctl reboot", check=False)
        node.wait_until_off()
        node.boot()
        assert node.run("cat /proc/cmdline").stdout.split()[-3:] == ["metalwright.args", "iommu=pt", "pci=realloc"]
        done = site.deploy("software")
        assert (done.code, done.changed) == (0, set()), done.text
        assert node.run("test -e /run/metalwright/restart", check=False).returncode != 0
