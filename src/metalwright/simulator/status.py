"""What a lab says about its machines: a judge's view, from the running daemon or from the files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from metalwright.simulator.events import Event
from metalwright.simulator.spec import MachineSpec
from metalwright.simulator.state import MachineState


class DiskStatus(BaseModel):
    """One disk file; ``allocated_bytes`` is 0 for a disk that nobody ever wrote."""

    serial: str
    path: str
    size_bytes: int
    allocated_bytes: int
    note: str


class LogEntry(BaseModel):
    """One entry of the BMC's own log; ``kind`` is a key of :data:`metalwright.simulator.events.KINDS`."""

    id: int
    at: str
    kind: str
    args: list[str]
    message: str


class MachineStatus(BaseModel):
    """One machine. ``boots`` counts what the firmware really started, per ``disk:<serial>`` or ``cd:<sha256>``."""

    name: str
    serial: str
    backend: str
    power: str
    pid: int | None
    boots: dict[str, int]
    power_ons: int
    media: str | None
    bmc_url: str
    bmc_user: str
    ssh: list[str]
    disks: list[DiskStatus]
    console: str
    directory: str
    faults: list[str]
    resets: list[LogEntry]
    requests: list[LogEntry]
    log: list[LogEntry]


class LabStatus(BaseModel):
    """The whole lab; ``accelerator`` is None until a QEMU machine has been started."""

    name: str
    directory: str
    is_up: bool
    pid: int | None = None
    accelerator: str | None = None
    machines: list[MachineStatus]

    def machine(self, name: str) -> MachineStatus:
        """The machine of this name; raises :class:`KeyError`."""
        for machine in self.machines:
            if machine.name == name:
                return machine
        raise KeyError(name)


def describe_machine(
    spec: MachineSpec,
    directory: Path,
    state: MachineState,
    events: list[Event],
    *,
    bmc_url: str,
    power: str = "Off",
    pid: int | None = None,
    faults: list[str] | None = None,
) -> MachineStatus:
    """Put together what is known of one machine."""
    log = [_entry(event) for event in events]
    return MachineStatus(
        name=spec.name,
        serial=spec.serial,
        backend=spec.backend,
        power=power,
        pid=pid,
        boots=dict(Counter(boot.medium for boot in state.boots)),
        power_ons=state.power_ons,
        media=state.media.image or None,
        bmc_url=bmc_url,
        bmc_user=spec.bmc.user,
        ssh=[forward.listen for nic in spec.nics for forward in nic.forwards if forward.guest_port == 22],
        disks=[_disk(directory / "disks" / f"{disk.serial}.raw", disk.serial, disk.note) for disk in spec.disks],
        console=str(directory / "console.log"),
        directory=str(directory),
        faults=faults or [],
        resets=[entry for entry in log if entry.kind in ("ResetRequested", "GuestReset")],
        requests=[entry for entry in log if entry.kind == "Request"],
        log=log,
    )


def as_json(status: LabStatus) -> dict[str, Any]:
    """The status as published: with its schema number."""
    return {"schema": 1, **status.model_dump(mode="json")}


def _entry(event: Event) -> LogEntry:
    return LogEntry(id=event.id, at=event.at, kind=event.kind, args=list(event.args), message=event.message)


def _disk(path: Path, serial: str, note: str) -> DiskStatus:
    if not path.exists():
        return DiskStatus(serial=serial, path=str(path), size_bytes=0, allocated_bytes=0, note=note)
    about = path.stat()
    return DiskStatus(
        serial=serial, path=str(path), size_bytes=about.st_size, allocated_bytes=about.st_blocks * 512, note=note
    )
