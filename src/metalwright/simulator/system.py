"""Power, boot, media and BIOS of one machine, independent of what the machine is made of."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path

from metalwright.errors import LabError
from metalwright.simulator.attributes import factory_values
from metalwright.simulator.boot import CD, disk_device, plan_boot
from metalwright.simulator.events import EventLog, iso_time
from metalwright.simulator.faults import Fault, Faults
from metalwright.simulator.hardware import Exit, Machine
from metalwright.simulator.spec import MachineSpec
from metalwright.simulator.state import Boot, BootOverride, MachineState, Media, StateFile

RESET_TYPES = ("On", "ForceOff", "GracefulShutdown", "ForceRestart", "GracefulRestart", "PowerCycle", "Nmi")
_NEEDS_POWER = frozenset(RESET_TYPES) - {"On", "ForceOff"}


class SystemStateError(LabError):
    """A reset type that does not fit the power state."""


class SimulatedSystem:
    """One machine under the control of its BMC. Use it in one event loop.

    ``at_power_on`` is called at each power on, before anything boots; ``power_draw_w`` when the BMC is asked for watts.
    With ``keeps_files`` off nothing is written to ``machine_dir`` but inserted media.
    ``boot_counts`` counts what the firmware really started, per medium: ``disk:<serial>`` or ``cd:<sha256>``.
    """

    graceful_timeout_s = 120.0

    def __init__(
        self,
        spec: MachineSpec,
        machine_dir: Path,
        machine: Machine,
        clock: Callable[[], float] = time.time,
        *,
        keeps_files: bool = True,
    ) -> None:
        if keeps_files:
            machine_dir.mkdir(parents=True, exist_ok=True)
        self.spec = spec
        self.machine_dir = machine_dir
        self.machine = machine
        self.clock = clock
        self.log = EventLog(machine_dir / "events.jsonl" if keeps_files else None, clock)
        self.faults = Faults(on_set=self._note_fault)
        self.store = StateFile(machine_dir / "state.json" if keeps_files else None)
        self.at_power_on: Callable[[], None] = lambda: None
        self.power_draw_w: Callable[[], float] = lambda: 20.0 if self.power_state == "On" else 2.0
        self.power_state = "On" if machine.is_running else "Off"
        self.boot_progress = "None"
        self._kept_override: BootOverride | None = None
        self._turn = asyncio.Lock()
        self._is_off = asyncio.Event()
        if not machine.is_running:
            self._is_off.set()
        self._jobs: set[asyncio.Task[None]] = set()
        machine.listener = self
        if self.store.is_new:
            self._leave_factory()

    @property
    def state(self) -> MachineState:
        """What the machine remembers; call :meth:`save` after a change."""
        return self.store.state

    def save(self) -> None:
        """Keep the state."""
        self.store.save()

    @property
    def boot_counts(self) -> dict[str, int]:
        """Boots per medium that the firmware really started."""
        return dict(Counter(boot.medium for boot in self.state.boots))

    def now(self) -> str:
        """The BMC's clock."""
        return iso_time(self.clock() + self.state.manager.clock_offset_s)

    # -- power -----------------------------------------------------------------------------------------------

    async def reset(self, kind: str) -> None:
        """Do one reset type; graceful ones return when the guest was asked. Raises :class:`SystemStateError`."""
        self.log.add("ResetRequested", kind)
        if self.faults.take("reset-ignored"):
            return
        if kind in _NEEDS_POWER and not self.machine.is_running:
            raise SystemStateError(
                "the system is off", where=self.spec.name, expected="power On", found=f"Off for {kind}"
            )
        if kind in ("GracefulShutdown", "GracefulRestart"):
            await self.machine.press_power_button()
            if kind == "GracefulRestart":
                self._in_background(self._power_on_after_shutdown())
            return
        async with self._turn:
            await self._reset_at_once(kind)

    async def _reset_at_once(self, kind: str) -> None:
        if kind == "Nmi":
            await self.machine.send_nmi()
            return
        if kind == "On" and self.machine.is_running:
            return
        if kind != "On":
            await self._cut_power(kind)
        if kind != "ForceOff":
            await self._power_on()

    async def _cut_power(self, why: str) -> None:
        was_on = self.machine.is_running
        await self.machine.cut_power()
        self._went_off(why, log=was_on)

    async def _power_on(self) -> None:
        state = self.state
        self._apply_bios()
        self.at_power_on()
        state.power_ons += 1
        state.last_reset_at = iso_time(self.clock() + state.manager.clock_offset_s, is_precise=True)
        override = self._kept_override or state.override
        if override.enabled != "Disabled" and self.faults.take("override-kept"):
            self._kept_override = override
        plan = plan_boot(override, state.boot_order)
        devices, http_uri = plan.devices, override.http_uri
        if self.faults.take("override-ignored"):
            devices = tuple(state.boot_order)
        if plan.consumes_override:
            state.override = BootOverride(mode=state.override.mode, http_uri=http_uri)
        self.power_state = "On"
        self._is_off.clear()
        self.boot_progress = "SystemHardwareInitializationComplete"
        self.save()
        self.log.add("PowerOn", state.power_ons)
        try:
            await self.machine.start(devices, Path(state.media.path) if state.media.path else None, http_uri)
        except LabError as error:
            self.log.add("MachineDied", error.what)
            self._went_off("the machine could not be started", log=False)
            raise

    def _went_off(self, why: str, *, log: bool = True) -> None:
        self.power_state = "Off"
        self.boot_progress = "None"
        self._is_off.set()
        if log:
            self.log.add("PowerOff", why)

    async def _power_on_after_shutdown(self) -> None:
        try:
            await asyncio.wait_for(self._is_off.wait(), self.graceful_timeout_s)
        except TimeoutError:
            self.log.add("GracefulIgnored", self.graceful_timeout_s)
            return
        await self._power_on_if_off()

    async def _power_on_if_off(self) -> None:
        async with self._turn:
            if not self.machine.is_running:
                await self._power_on()

    async def close(self) -> None:
        """Cut the power and end all background work; the state stays on disk."""
        for job in list(self._jobs):
            job.cancel()
            with contextlib.suppress(asyncio.CancelledError, LabError):
                await job
        async with self._turn:
            if self.machine.is_running:
                await self._cut_power("the lab was stopped")
        self.save()

    # -- what the machine says ---------------------------------------------------------------------------------

    def boot_started(self, device: str) -> None:
        """Count a boot that the firmware really started."""
        medium = device
        if device == CD:
            medium = f"cd:{self.state.media.sha256[:16]}"
        self.state.boots.append(Boot(device=device, medium=medium, at=self.now()))
        self.boot_progress = "OSBootStarted"
        self.save()
        self.log.add("BootStarted", device, medium, self.boot_counts[medium])

    def nothing_to_boot(self, tried: Sequence[str]) -> None:
        """The firmware sits in its own menu."""
        self.boot_progress = "SetupEntered"
        self.log.add("NoBootDevice", ", ".join(tried) or "an empty boot order")

    def machine_exited(self, why: Exit, detail: str) -> None:
        """Follow the machine: off, or a new start with the next boot configuration."""
        if why is Exit.RESET:
            self.log.add("GuestReset")
            self._in_background(self._power_on_if_off())
            return
        if why is Exit.DIED:
            self.log.add("MachineDied", detail)
        self._went_off(detail or why.value)

    # -- media ---------------------------------------------------------------------------------------------------

    async def insert_media(self, image: str, path: Path, *, write_protected: bool = True) -> None:
        """Put a local copy of ``image`` into the drive; the old medium is gone."""
        size_bytes, sha256 = await asyncio.to_thread(_measure, path)
        self.state.media = Media(image=image, path=str(path), sha256=sha256, write_protected=write_protected)
        self.save()
        self.log.add("MediaInserted", size_bytes, sha256)
        if self.machine.is_running:
            await self.machine.change_media(path)

    async def eject_media(self) -> None:
        """Empty the drive and remove the local copy."""
        old = self.state.media.path
        self.state.media = Media()
        self.save()
        self.log.add("MediaEjected")
        if self.machine.is_running:
            await self.machine.change_media(None)
        if old:
            await asyncio.to_thread(Path(old).unlink, missing_ok=True)

    # -- inner ---------------------------------------------------------------------------------------------------

    def _apply_bios(self) -> None:
        """Bring pending attributes into force; on BMCs with a job queue only when a job says so."""
        scheduled = [job for job in self.state.jobs if job.kind == "BIOSConfiguration" and job.state == "Scheduled"]
        if self.spec.bmc.oem == "dell" and not scheduled:
            return
        pending, self.state.bios_pending = self.state.bios_pending, {}
        for job in scheduled:
            job.state = "Completed"
        ignored = self.faults.take("bios-ignored") if pending else None
        if ignored is not None:
            names = ignored.body if isinstance(ignored.body, list) else list(pending)
            pending = {name: value for name, value in pending.items() if name not in names}
        if not pending:
            return
        overwritten = self.faults.take("bios-overwritten")
        self.state.bios.update(pending | (overwritten.body if overwritten is not None else {}))
        self.state.bios_applied_at = self.now()
        self.log.add("BiosApplied", ", ".join(sorted(pending)))

    def _leave_factory(self) -> None:
        self.state.bios = factory_values(self.spec.firmware.get("BIOS", ""), self.spec.bios_attributes)
        self.state.boot_order = [*(disk_device(disk.serial) for disk in self.spec.disks), CD]
        self.state.manager.hostname = f"bmc-{self.spec.serial}".lower()
        self.save()

    def _note_fault(self, fault: Fault) -> None:
        self.log.add("FaultSet", fault.name)

    def _in_background(self, work: Coroutine[object, object, None]) -> None:
        job = asyncio.get_running_loop().create_task(work)
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)


def _measure(path: Path) -> tuple[int, str]:
    with path.open("rb") as file:
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()
