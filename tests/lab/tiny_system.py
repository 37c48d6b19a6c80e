"""Boot media for tests of the lab: Debian's kernel with busybox, as a unified kernel image. Never committed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache" / "tiny-system"
_STUB = Path("/usr/lib/systemd/boot/efi/linuxx64.efi.stub")
_MIB = 1024**2

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /bin
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
role=$(sed 's/.*role=\\([a-z]*\\).*/\\1/' /proc/cmdline)
echo "TINY role=$role serial=$(cat /sys/class/dmi/id/product_serial) uuid=$(cat /sys/class/dmi/id/product_uuid)"
for disk in /sys/block/nvme*; do echo "TINY disk=$(cat $disk/device/serial) sectors=$(cat $disk/size)"; done
for nic in /sys/class/net/e*; do echo "TINY mac=$(cat $nic/address)"; done
if [ $role = stay ]; then echo "TINY staying"; while :; do sleep 1; done; fi
if [ $role = disk ] && ! head -c 6 /dev/nvme1n1 | grep -q marker; then
    printf marker | dd of=/dev/nvme1n1 conv=notrunc 2>/dev/null; sync; echo "TINY reboots"; reboot -f
fi
echo "TINY ends"; sync; poweroff -f
"""


def run(*argv: str | Path, cwd: Path | None = None, data: bytes | None = None) -> bytes:
    return subprocess.run([str(a) for a in argv], cwd=cwd, input=data, check=True, capture_output=True).stdout


def find_kernel() -> Path:
    """A Debian cloud kernel (NVMe built in), fetched through apt the first time."""
    found = sorted(CACHE.glob("boot/vmlinuz-*cloud*"))
    if found:
        return found[-1]
    CACHE.mkdir(parents=True, exist_ok=True)
    depends = run("apt-cache", "depends", "linux-image-cloud-amd64").decode().split()
    name = next(word for word in depends[1:] if word.startswith("linux-image-") and word.endswith("-cloud-amd64"))
    run("apt-get", "download", name, cwd=CACHE)
    package = next(CACHE.glob("linux-image-*.deb"))
    run("dpkg-deb", "-x", package, CACHE)
    package.unlink()
    shutil.rmtree(CACHE / "lib", ignore_errors=True)
    return sorted(CACHE.glob("boot/vmlinuz-*cloud*"))[-1]


def unified_kernel_image(role: str, folder: Path) -> Path:
    """Kernel, initrd and command line in one EFI program."""
    root = folder / "root"
    (root / "bin").mkdir(parents=True, exist_ok=True)
    shutil.copy(shutil.which("busybox") or "/bin/busybox", root / "bin/busybox")
    (root / "init").write_text(INIT)
    (root / "init").chmod(0o755)
    names = b"init\nbin\nbin/busybox\n"
    (folder / "initrd").write_bytes(run("cpio", "-o", "-H", "newc", "--quiet", cwd=root, data=names))
    (folder / "cmdline").write_text(f"console=ttyS0 panic=1 quiet role={role}")
    sections = [
        (".cmdline", folder / "cmdline", 0x30000),
        (".linux", find_kernel(), 0x2000000),
        (".initrd", folder / "initrd", 0x3000000),
    ]
    argv: list[str | Path] = ["objcopy"]
    for section, file, address in sections:
        argv += ["--add-section", f"{section}={file}", "--change-section-vma", f"{section}={address:#x}"]
    target = folder / f"{role}.efi"
    run(*argv, _STUB, target)
    return target


def esp(role: str, folder: Path) -> Path:
    """A FAT file system that boots ``role``."""
    folder.mkdir(parents=True, exist_ok=True)
    efi = unified_kernel_image(role, folder)
    image = folder / f"{role}.fat"
    with image.open("wb") as file:
        file.truncate((efi.stat().st_size // _MIB + 3) * _MIB)
    run("mformat", "-i", image, "::")
    run("mmd", "-i", image, "::/EFI", "::/EFI/BOOT")
    run("mcopy", "-i", image, efi, "::/EFI/BOOT/BOOTX64.EFI")
    return image


def iso(role: str, folder: Path) -> Path:
    """A CD that boots ``role``."""
    fat = esp(role, folder)
    tree = folder / "tree"
    tree.mkdir()
    fat.rename(tree / "efi.img")
    target = folder / f"{role}.iso"
    run("xorriso", "-as", "mkisofs", "-quiet", "-V", "TINY", "-o", target, "-e", "efi.img", "-no-emul-boot", tree)
    return target


def write_disk(role: str, folder: Path, disk: Path) -> None:
    """Make an existing disk file bootable: GPT with one EFI system partition at 1 MiB."""
    fat = esp(role, folder)
    size_bytes = fat.stat().st_size
    table = f"label: gpt\nstart=2048, size={size_bytes // 512}, type=U\n"
    run("sfdisk", "-q", disk, data=table.encode())
    with disk.open("r+b") as file:
        file.seek(_MIB)
        file.write(fat.read_bytes())
        os.fsync(file.fileno())
