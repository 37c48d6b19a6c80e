"""The QEMU back end: a powered-off machine has no process."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

from metalwright.errors import LabError
from metalwright.simulator.boot import HTTP
from metalwright.simulator.hardware import Exit, MachineListener, prepare_disks, write_description
from metalwright.simulator.processes import end, spawn
from metalwright.simulator.qemu.accelerator import distrust_kvm, find_accelerator
from metalwright.simulator.qemu.command import CD_ID, Start, command_line
from metalwright.simulator.qemu.console import BootWitness
from metalwright.simulator.qemu.firmware import find_firmware, find_qemu
from metalwright.simulator.qemu.nvram import set_http_boot
from metalwright.simulator.qemu.qmp import Json, Qmp
from metalwright.simulator.spec import MachineSpec

_READ_BYTES = 64 * 1024
_TAIL_BYTES = 500


class QemuMachine:
    """One virtual machine; its process dies with ours, whatever kills us.

    A guest that resets itself ends the process too, so that the next start can use another boot order.
    """

    def __init__(self, spec: MachineSpec, machine_dir: Path) -> None:
        self.spec = spec
        self.machine_dir = machine_dir
        self.console_path = machine_dir / "console.log"
        self.console_path.touch()
        self.disks = prepare_disks(spec, machine_dir)
        write_description(spec, machine_dir, self.disks)
        self.listener: MachineListener | None = None
        self.accelerator: str | None = None
        self._qemu = find_qemu()
        self._firmware = find_firmware()
        self._process: asyncio.subprocess.Process | None = None
        self._qmp: Qmp | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._reason: str | None = None

    @property
    def is_running(self) -> bool:
        """Whether there is a process."""
        return self._process is not None

    @property
    def pid(self) -> int | None:
        """The process of the machine, None when it is off."""
        return self._process.pid if self._process is not None else None

    async def start(self, devices: Sequence[str], media: Path | None, http_uri: str = "") -> None:
        """Start the process; returns when QEMU answers, long before the firmware is through."""
        if self._process is not None:
            raise LabError("the machine is already running", where=self.spec.name)
        accelerator = await asyncio.to_thread(find_accelerator, self._qemu, self._firmware)
        self.accelerator = accelerator
        variables = await asyncio.to_thread(self._nvram)
        if HTTP in devices:
            await asyncio.to_thread(set_http_boot, variables, http_uri)
        ours_serial, theirs_serial = socket.socketpair()
        ours_qmp, theirs_qmp = socket.socketpair()
        with theirs_serial, theirs_qmp:
            argv = command_line(
                Start(
                    spec=self.spec,
                    qemu=self._qemu,
                    accelerator=accelerator,
                    code=self._firmware.code,
                    variables=variables,
                    disks=self.disks,
                    console=self.console_path,
                    devices=devices,
                    media=media,
                    serial_fd=theirs_serial.fileno(),
                    qmp_fd=theirs_qmp.fileno(),
                )
            )
            self._output.write_bytes(b"")
            fds = (theirs_serial.fileno(), theirs_qmp.fileno())
            self._process = await spawn(argv, self._output, fds)
        await self._connect(ours_serial, ours_qmp, devices)

    async def cut_power(self) -> None:
        """Kill the process at once."""
        for task in self._tasks[1:]:  # the watcher, which would report an unexpected end
            task.cancel()
        if self._process is not None:
            await end(self._process)
        await self._clean_up()

    async def press_power_button(self) -> None:
        """ACPI power button; the guest decides."""
        if self._qmp is not None:
            await self._qmp.execute("system_powerdown")

    async def send_nmi(self) -> None:
        """Inject a non-maskable interrupt."""
        if self._qmp is not None:
            await self._qmp.execute("inject-nmi")

    async def change_media(self, media: Path | None) -> None:
        """Change or eject the CD live."""
        if self._qmp is None:
            return
        if media is None:
            await self._qmp.execute("eject", id=CD_ID, force=True)
        else:
            arguments = {"id": CD_ID, "filename": str(media), "format": "raw", "read-only-mode": "read-only"}
            await self._qmp.execute("blockdev-change-medium", force=True, **arguments)

    @property
    def _output(self) -> Path:
        return self.machine_dir / "qemu.log"

    def _nvram(self) -> Path:
        path = self.machine_dir / "nvram.fd"
        if not path.exists():
            draft = path.with_suffix(".new")
            shutil.copyfile(self._firmware.variables, draft)
            draft.replace(path)
        return path

    async def _connect(self, serial: socket.socket, qmp: socket.socket, devices: Sequence[str]) -> None:
        self._reason = None
        self._qmp = Qmp(self.spec.name, self._note_event)
        try:
            await self._qmp.connect(qmp)
        except LabError as error:
            if self._process is not None:
                await end(self._process)
            await self._clean_up()
            serial.close()
            found = await asyncio.to_thread(self._last_words)
            raise LabError("QEMU did not start", where=self.spec.name, found=found or error.what) from error
        if self._process is not None:
            reading = asyncio.create_task(self._read_console(serial, devices))
            self._tasks = [reading, asyncio.create_task(self._watch(self._process))]

    def _note_event(self, name: str, data: Json) -> None:
        if name == "SHUTDOWN":
            self._reason = data.get("reason")
        elif (
            name == "STOP" and self._process is not None and self._reason is None
        ):  # nobody asked for it: the processor cannot go on
            self._reason = "the virtual processor stopped"
            distrust_kvm(self._qemu)
            self._process.kill()

    async def _read_console(self, serial: socket.socket, devices: Sequence[str]) -> None:
        witness = BootWitness([disk.serial for disk in self.spec.disks])
        reader, writer = await asyncio.open_connection(sock=serial)
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(_READ_BYTES):
                for device in witness.feed(data):
                    self._report(device, devices)
        writer.close()

    def _report(self, device: str | None, devices: Sequence[str]) -> None:
        if self.listener is None:
            return
        if device is None:
            self.listener.nothing_to_boot(devices)
        else:
            self.listener.boot_started(device)

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        why, detail = self._why(code)
        self._tasks = self._tasks[:1]
        await self._clean_up()
        if self.listener is not None:
            self.listener.machine_exited(why, detail)

    def _why(self, code: int) -> tuple[Exit, str]:
        if self._reason == "guest-reset":
            return Exit.RESET, ""
        if self._reason == "guest-shutdown":
            return Exit.POWERED_OFF, Exit.POWERED_OFF.value
        detail = f"QEMU ended with {code}, reason {self._reason}"
        return Exit.DIED, f"{detail}: {self._last_words()}".rstrip(": ")

    def _last_words(self) -> str:
        return self._output.read_bytes()[-_TAIL_BYTES:].decode("utf-8", "replace").strip()

    async def _clean_up(self) -> None:
        tasks, self._tasks = self._tasks, []
        if tasks:
            await asyncio.wait(tasks, timeout=5)
        if self._qmp is not None:
            qmp, self._qmp = self._qmp, None
            await qmp.close()
        self._process = None
