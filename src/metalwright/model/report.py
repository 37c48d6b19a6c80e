"""HardwareReport: what a BMC says is in a machine. ``None`` is unknown, an empty list was really listed empty."""

from __future__ import annotations

from typing import Literal

from metalwright.model.base import Frozen

CANNOT_SEE = "has no resource for"
"""A problem that starts so, followed by the name of a part (``drives``), says that an empty list is no evidence."""

CRITICAL = "is present, but its Health is Critical"
"""The problem of a part that counts and that its BMC calls broken."""

PowerState = Literal["On", "Off", "PoweringOn", "PoweringOff", "Paused"]


class BmcFacts(Frozen):
    """The BMC itself."""

    address: str | None = None
    manufacturer: str | None = None
    model: str | None = None
    firmware_version: str | None = None
    redfish_version: str | None = None
    macs: tuple[str, ...] | None = None


class SystemFacts(Frozen):
    """The host system; ``id`` is the last URI segment."""

    id: str
    manufacturer: str | None = None
    model: str | None = None
    sku: str | None = None
    part_number: str | None = None
    serial: str | None = None
    uuid: str | None = None
    bios_version: str | None = None
    power_state: PowerState | None = None
    hostname: str | None = None


class ChassisFacts(Frozen):
    """The enclosure that carries the sticker."""

    manufacturer: str | None = None
    model: str | None = None
    serial: str | None = None
    type: str | None = None


class Cpu(Frozen):
    """One populated host socket. ``cores`` are those of the chip, ``enabled_cores`` those that the BIOS left on."""

    slot: str | None = None
    manufacturer: str | None = None
    model: str | None = None
    architecture: str | None = None
    cores: int | None = None
    enabled_cores: int | None = None
    threads: int | None = None
    max_mhz: int | None = None


class Dimm(Frozen):
    """One populated DIMM; size in GiB, speed in MT/s."""

    slot: str | None = None
    manufacturer: str | None = None
    part_number: str | None = None
    type: str | None = None
    size_gib: float | None = None
    speed_mts: int | None = None


class MemoryFacts(Frozen):
    """Host memory, never HBM of accelerators."""

    total_gib: float | None = None
    dimms: tuple[Dimm, ...] | None = None


class Gpu(Frozen):
    """One GPU package."""

    slot: str | None = None
    manufacturer: str | None = None
    model: str | None = None
    memory_gib: float | None = None
    serial: str | None = None
    firmware_version: str | None = None


class NicPort(Frozen):
    """One physical host port; ``speed_gbps`` is what it can do, ``link`` the technology that it runs."""

    name: str | None = None
    mac: str | None = None
    speed_gbps: float | None = None
    link: Literal["ethernet", "infiniband"] | None = None


class Nic(Frozen):
    """One network adapter with its ports."""

    slot: str | None = None
    manufacturer: str | None = None
    model: str | None = None
    firmware_version: str | None = None
    ports: tuple[NicPort, ...] = ()


class Drive(Frozen):
    """One present drive."""

    slot: str | None = None
    manufacturer: str | None = None
    model: str | None = None
    serial: str | None = None
    protocol: str | None = None
    media: str | None = None
    size_bytes: int | None = None


class Psu(Frozen):
    """One present power supply."""

    slot: str | None = None
    manufacturer: str | None = None
    model: str | None = None
    watts: int | None = None
    serial: str | None = None


class FirmwareItem(Frozen):
    """One member of the firmware inventory."""

    id: str
    name: str | None = None
    version: str | None = None


class Problem(Frozen):
    """Something that the BMC did not say, or said wrongly."""

    uri: str
    what: str


class HardwareReport(Frozen):
    """One host system as its BMC describes it. ``None`` where a part is unknown."""

    bmc: BmcFacts
    system: SystemFacts
    chassis: ChassisFacts = ChassisFacts()
    cpus: tuple[Cpu, ...] | None = None
    memory: MemoryFacts = MemoryFacts()
    gpus: tuple[Gpu, ...] | None = None
    nics: tuple[Nic, ...] | None = None
    drives: tuple[Drive, ...] | None = None
    psus: tuple[Psu, ...] | None = None
    firmware: tuple[FirmwareItem, ...] | None = None
    problems: tuple[Problem, ...] = ()

    def cannot_see(self, part: str) -> bool:
        """Whether the BMC has no resource that could list this part, so that an empty list proves nothing."""
        return any(problem.what.startswith(f"{CANNOT_SEE} {part}") for problem in self.problems)

    @property
    def critical_parts(self) -> tuple[str, ...]:
        """The last URI segments of present parts that the BMC calls broken."""
        uris = (problem.uri for problem in self.problems if problem.what == CRITICAL)
        return tuple(uri.rstrip("/").rpartition("/")[2] for uri in uris)
