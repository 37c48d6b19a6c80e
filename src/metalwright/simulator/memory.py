"""A machine without virtualisation: booting means running a command, or nothing."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path

from metalwright.errors import LabError
from metalwright.simulator.boot import CD, DISK_PREFIX, HTTP, PXE
from metalwright.simulator.hardware import Exit, MachineListener, prepare_disks, write_description
from metalwright.simulator.http_boot import fetch_by_script, fetch_program
from metalwright.simulator.processes import end, spawn
from metalwright.simulator.spec import MachineSpec

_BOOT_AREA_BYTES = 1024**2


class MemoryMachine:
    """Power state in memory, disks as sparse files.

    Booting from the CD or the network runs ``boot_command``, booting from a disk runs ``disk_boot_command``; when the
    command ends the power goes off. Without a command the machine just stays on. A disk is bootable when its first
    MiB is not all zero. What the command prints goes to the console log.
    """

    def __init__(self, spec: MachineSpec, machine_dir: Path) -> None:
        self.spec = spec
        self.machine_dir = machine_dir
        self.console_path = machine_dir / "console.log"
        self.console_path.touch()
        self.disks = prepare_disks(spec, machine_dir)
        self.description = write_description(spec, machine_dir, self.disks)
        self.listener: MachineListener | None = None
        self._on = False
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._media: Path | None = None
        self._loaded: Path | None = None

    @property
    def is_running(self) -> bool:
        """Whether the power is on."""
        return self._on

    async def start(self, devices: Sequence[str], media: Path | None, http_uri: str = "") -> None:
        """Power on; the first bootable device wins. What HTTP boot loads is fetched now, and is then the medium."""
        if self._on:
            raise LabError("the machine is already running", where=self.spec.name)
        self._on = True
        self._loaded = await self._load(devices, http_uri)
        self._media = self._loaded or media
        device = next((device for device in devices if self._is_bootable(device)), None)
        if device is None:
            if self.listener is not None:
                self.listener.nothing_to_boot(devices)
            return
        if self.listener is not None:
            self.listener.boot_started(device)
        is_disk = device.startswith(DISK_PREFIX)
        command = self.spec.disk_boot_command if is_disk else self.spec.boot_command
        if command:
            self._process = await spawn(self._expand(command), self.console_path)
            self._watch = asyncio.create_task(self._wait(self._process))

    async def _load(self, devices: Sequence[str], http_uri: str) -> Path | None:
        """What the firmware loads over the network, where that comes first."""
        nic = next(iter(self.spec.nics), None)
        if HTTP in devices:
            return await fetch_program(http_uri, self.machine_dir)
        if PXE in devices and nic is not None and nic.ipxe_script:
            return await fetch_by_script(nic.ipxe_script, nic.mac, self.machine_dir)
        return None

    async def cut_power(self) -> None:
        """Kill the command and all that it started."""
        self._on = False
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if self._process is not None:
            process, self._process = self._process, None
            await end(process)

    async def press_power_button(self) -> None:
        """SIGTERM for the command; without one the power goes off at once."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
        elif self._on:
            self._stop(Exit.POWERED_OFF, "power button")

    async def send_nmi(self) -> None:
        """Note it on the console."""
        with self.console_path.open("a", encoding="utf-8") as console:
            console.write("NMI received\n")

    async def change_media(self, media: Path | None) -> None:
        """Nothing reads the medium after the boot."""
        self._media = media

    async def _wait(self, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        self._process = None
        self._watch = None
        self._stop(Exit.POWERED_OFF, f"the booted command ended with {code}")

    def _stop(self, why: Exit, detail: str) -> None:
        self._on = False
        if self.listener is not None:
            self.listener.machine_exited(why, detail)

    def _is_bootable(self, device: str) -> bool:
        if device in (HTTP, PXE):
            return self._loaded is not None
        if device == CD:
            return self._media is not None
        path = self.disks.get(device.removeprefix(DISK_PREFIX))
        if path is None or not path.exists():
            return False
        with path.open("rb") as disk:
            return any(disk.read(_BOOT_AREA_BYTES))

    def _expand(self, command: Sequence[str]) -> list[str]:
        places = {
            "{media}": str(self._media or ""),
            "{machine_dir}": str(self.machine_dir),
            "{machine}": str(self.description),
        }
        argv: list[str] = []
        for element in command:
            if element == "{disks}":
                argv.extend(str(path) for path in self.disks.values())
                continue
            for place, value in places.items():
                element = element.replace(place, value)
            argv.append(element)
        return argv
