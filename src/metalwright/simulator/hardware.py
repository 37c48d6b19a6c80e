"""The seam between a BMC and the machine that it controls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Protocol

from metalwright.simulator.spec import MachineSpec


class Exit(Enum):
    """Why a machine is no longer running."""

    POWERED_OFF = "the guest powered off"
    RESET = "the guest asked for a reset"
    DIED = "unexpected end"


class MachineListener(Protocol):
    """What a machine tells its BMC; called in the event loop."""

    def boot_started(self, device: str) -> None:
        """The firmware really started an operating system from ``device``."""

    def nothing_to_boot(self, tried: Sequence[str]) -> None:
        """The firmware found no bootable device."""

    def machine_exited(self, why: Exit, detail: str) -> None:
        """The machine stopped by itself (never called for :meth:`Machine.cut_power`)."""


class Machine(Protocol):
    """A back end: real or pretended hardware that can be powered. All methods run in one event loop."""

    console_path: Path
    listener: MachineListener | None

    @property
    def is_running(self) -> bool:
        """Whether the power is on."""

    async def start(self, devices: Sequence[str], media: Path | None, http_uri: str = "") -> None:
        """Power on and let the firmware try ``devices``; raises :class:`~metalwright.errors.LabError`.

        ``http_uri`` is what the device ``http`` loads.
        """

    async def cut_power(self) -> None:
        """Power off at once; returns when nothing runs any more."""

    async def press_power_button(self) -> None:
        """Ask the guest to shut down; it may not listen."""

    async def send_nmi(self) -> None:
        """Send a non-maskable interrupt."""

    async def change_media(self, media: Path | None) -> None:
        """Change or eject the CD while the machine runs."""


def prepare_disks(spec: MachineSpec, machine_dir: Path) -> dict[str, Path]:
    """Create missing disks as sparse files; serial → path, in the order of the spec."""
    folder = machine_dir / "disks"
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for disk in spec.disks:
        path = folder / f"{disk.serial}.raw"
        if not path.exists():
            with path.open("wb") as file:
                file.truncate(disk.size_bytes)
        paths[disk.serial] = path
    return paths


def write_description(spec: MachineSpec, machine_dir: Path, disks: dict[str, Path]) -> Path:
    """Write ``machine.json``: what software on the machine can see of its hardware. No secrets."""
    path = machine_dir / "machine.json"
    data = {
        "name": spec.name,
        "identity": {"serial": spec.serial, "uuid": spec.uuid, "macs": [nic.mac for nic in spec.nics]},
        "memory_bytes": spec.memory_mib * 1024**2,
        "disks": [
            {
                "path": str(disks[disk.serial]),
                "serial": disk.serial,
                "model": disk.model,
                "protocol": disk.protocol,
                "size_bytes": disk.size_bytes,
            }
            for disk in spec.disks
        ],
    }
    path.write_text(json.dumps(data, indent=1), encoding="utf-8")
    return path
