"""The command line of one start of a machine. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from metalwright.simulator.boot import CD, PXE, disk_device
from metalwright.simulator.qemu.accelerator import Accelerator
from metalwright.simulator.spec import DiskSpec, MachineSpec, NicSpec

CD_ID = "cd0"
_TRANSLATION_CACHE_MIB = 128


@dataclass(frozen=True)
class Start:
    """All that one start depends on; ``serial_fd`` and ``qmp_fd`` are inherited sockets."""

    spec: MachineSpec
    qemu: str
    accelerator: Accelerator
    code: Path
    variables: Path
    disks: Mapping[str, Path]
    console: Path
    devices: Sequence[str]
    media: Path | None
    serial_fd: int
    qmp_fd: int


def command_line(start: Start) -> list[str]:
    """QEMU's arguments. The firmware tries ``start.devices`` in that order and nothing else."""
    spec = start.spec
    argv = [start.qemu, "-name", spec.name.replace(",", ",,"), "-nodefaults", "-no-user-config", "-display", "none"]
    argv += ["-machine", "q35", *_accelerator(start.accelerator)]
    argv += ["-smp", str(spec.cpus), "-m", str(spec.memory_mib), "-action", "reboot=shutdown"]
    argv += ["-smbios", _smbios(spec)]
    argv += _flash(start.code, start.variables)
    argv += ["-chardev", f"socket,id=serial0,fd={start.serial_fd},logfile={_escape(start.console)},logappend=on"]
    argv += ["-serial", "chardev:serial0"]
    argv += ["-chardev", f"socket,id=qmp0,fd={start.qmp_fd}", "-mon", "chardev=qmp0,mode=control"]
    argv += ["-device", "virtio-rng-pci"]
    for version in ("IPv6",) if PXE in start.devices else ("IPv4", "IPv6"):
        argv += ["-fw_cfg", f"name=opt/org.tianocore/{version}PXESupport,string=no"]
    argv += _cd(start.media, _index(CD, start.devices))
    for number, disk in enumerate(spec.disks):
        boot_index = _index(disk_device(disk.serial), start.devices)
        argv += _disk(number, disk, start.disks[disk.serial], boot_index)
    for number, nic in enumerate(spec.nics):
        argv += _nic(number, nic, _index(PXE, start.devices) if number == 0 else None)
    return argv


def _accelerator(accelerator: Accelerator) -> list[str]:
    if accelerator == "kvm":
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", f"tcg,tb-size={_TRANSLATION_CACHE_MIB}", "-cpu", "max"]


def _index(device: str, devices: Sequence[str]) -> int | None:
    return list(devices).index(device) + 1 if device in devices else None


def _smbios(spec: MachineSpec) -> str:
    fields = {
        "manufacturer": spec.manufacturer,
        "product": spec.model,
        "serial": spec.serial,
        "uuid": spec.uuid,
        "sku": spec.sku,
    }
    return "type=1," + ",".join(f"{name}={_escape(value)}" for name, value in fields.items() if value)


def _flash(code: Path, variables: Path) -> list[str]:
    return [
        "-drive",
        f"if=pflash,format=raw,unit=0,readonly=on,file={_escape(code)}",
        "-drive",
        f"if=pflash,format=raw,unit=1,file={_escape(variables)}",
    ]


def _cd(media: Path | None, boot_index: int | None) -> list[str]:
    device = f"ide-cd,id={CD_ID},bus=ide.0{_boot_index(boot_index)}"
    if media is None:
        return ["-device", device]
    node = {
        "driver": "raw",
        "node-name": "cdmedium",
        "read-only": True,
        "file": {"driver": "file", "filename": str(media), "read-only": True},
    }
    return ["-blockdev", json.dumps(node), "-device", f"{device},drive=cdmedium"]


def _disk(number: int, disk: DiskSpec, path: Path, boot_index: int | None) -> list[str]:
    node = {
        "driver": "raw",
        "node-name": f"disk{number}",
        "discard": "unmap",
        "cache": {"direct": False, "no-flush": True},
        "file": {
            "driver": "file",
            "filename": str(path),
            "discard": "unmap",
            "cache": {"direct": False, "no-flush": True},
        },
    }
    kind = "nvme" if disk.protocol == "NVMe" else f"ide-hd,bus=ide.{number + 1}"
    device = f"{kind},drive=disk{number},serial={_escape(disk.serial)}{_boot_index(boot_index)}"
    return ["-blockdev", json.dumps(node), "-device", device]


def _nic(number: int, nic: NicSpec, boot_index: int | None) -> list[str]:
    device = f"{nic.model},netdev=net{number},mac={nic.mac},romfile={_boot_index(boot_index)}"
    if nic.tap is not None:
        tap = f"tap,id=net{number},ifname={_escape(nic.tap)},script=no,downscript=no"
        return ["-netdev", tap, "-device", device]
    options = [f"user,id=net{number}", f"net={nic.net}", f"host={nic.host}", "ipv6=off"]
    for forward in nic.forwards:
        options.append(f"hostfwd=tcp:{forward.listen}-{nic.guest or ''}:{forward.guest_port}")
    if nic.tftp_root and nic.bootfile:
        options += [f"tftp={_escape(nic.tftp_root)}", f"bootfile={_escape(nic.bootfile)}"]
    return ["-netdev", ",".join(options), "-device", device]


def _boot_index(index: int | None) -> str:
    return f",bootindex={index}" if index is not None else ""


def _escape(value: object) -> str:
    return str(value).replace(",", ",,")
