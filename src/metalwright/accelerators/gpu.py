"""One GPU as its driver sees it, whoever made it. Units are in the names; ``None`` is unknown."""

from __future__ import annotations

from typing import Literal

from metalwright.model.base import Frozen

FailureKind = Literal[
    "driver-library-mismatch", "no-driver", "no-devices", "gpu-lost", "no-permission", "no-answer", "unreadable"
]


class Mode(Frozen):
    """A setting that takes effect at the next reset: what holds now, and what will hold then.

    ``is_absent``: the tool says that this GPU has no such setting. One that says nothing at all leaves it false.
    """

    current: bool | None = None
    pending: bool | None = None
    is_absent: bool = False

    def is_settled_at(self, wanted: bool) -> bool | None:
        """Whether both are ``wanted``; one that is absent is off. ``None`` where the tool tells neither."""
        if self.is_absent:
            return not wanted
        if self.current is None and self.pending is None:
            return None
        return (self.current, self.pending) == (wanted, wanted)


class PcieLink(Frozen):
    """Generation (1 …) and lanes of the PCIe link. An idle GPU lowers its generation; it never drops lanes."""

    generation: int | None = None
    generation_max: int | None = None
    lanes: int | None = None
    lanes_max: int | None = None


class MemoryErrors(Frozen):
    """ECC errors since the driver was loaded, and over the life of the board."""

    corrected: int | None = None
    uncorrected: int | None = None
    corrected_ever: int | None = None
    uncorrected_ever: int | None = None


class Repair(Frozen):
    """Memory that was taken out of use: rows that were remapped, pages that were retired."""

    remapped_corrected: int | None = None
    remapped_uncorrected: int | None = None
    is_remap_pending: bool | None = None
    has_remap_failed: bool | None = None
    retired_pages: int | None = None
    is_retirement_pending: bool | None = None


class Power(Frozen):
    """Power drawn now, the cap in force, and the range in which a cap may be set, in watts."""

    draw_w: float | None = None
    cap_w: float | None = None
    cap_default_w: float | None = None
    cap_min_w: float | None = None
    cap_max_w: float | None = None


class Clocks(Frozen):
    """Clocks of the compute units and of the memory, now and at most, in MHz."""

    compute_mhz: float | None = None
    compute_max_mhz: float | None = None
    memory_mhz: float | None = None
    memory_max_mhz: float | None = None


class Fabric(Frozen):
    """NVLink fabric: CUDA works on NVSwitch boards once ``state`` is ``Completed`` and ``status`` is ``Success``."""

    state: str | None = None
    status: str | None = None


class Gpu(Frozen):
    """One GPU. ``throttling`` are the reasons that are active now (empty: none; ``None``: the tool did not say).

    ``address`` is its PCI address as ``0000:4f:00.0``, ``pci_id`` vendor and device as ``10de:2330``.
    ``recovery`` is what the driver asks for (``None`` when it asks for nothing or does not say).
    """

    address: str | None = None
    name: str | None = None
    architecture: str | None = None
    pci_id: str | None = None
    serial: str | None = None
    uuid: str | None = None
    vbios: str | None = None
    memory_bytes: int | None = None
    temperature_c: float | None = None
    is_persistent: bool | None = None
    ecc: Mode = Mode()
    mig: Mode = Mode()
    partition: str | None = None
    link: PcieLink = PcieLink()
    errors: MemoryErrors = MemoryErrors()
    repair: Repair = Repair()
    power: Power = Power()
    clocks: Clocks = Clocks()
    fabric: Fabric = Fabric()
    throttling: tuple[str, ...] | None = None
    recovery: str | None = None
    is_lost: bool = False


class Failure(Frozen):
    """Why a tool gave no reading, in the tool's own words (shortened)."""

    kind: FailureKind
    said: str


class GpuReading(Frozen):
    """Everything that one call of a tool said. ``platform_version`` is the CUDA or ROCm version.

    ``attached`` is the tool's own count (``None``: not said), which can exceed the GPUs that it describes.
    """

    tool: Literal["nvidia-smi", "rocm-smi", "amd-smi"]
    driver_version: str | None = None
    platform_version: str | None = None
    attached: int | None = None
    gpus: tuple[Gpu, ...] = ()
    failure: Failure | None = None
