"""What is wrong with the GPUs of a node, from one reading (pure). Nothing found is not the same as nothing known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from metalwright.accelerators.gpu import Failure, Gpu, GpuReading
from metalwright.model.base import Frozen

GpuAction = Literal["reset-gpu", "reboot", "replace", "configure", "look"]
_COMPLETED, _SUCCESS = "completed", "success"
_AFTER_FAILURE: dict[str, GpuAction] = {"driver-library-mismatch": "reboot", "gpu-lost": "reboot"}


class GpuFault(Frozen):
    """One thing that is wrong or unknown. ``gpu`` is a PCI address; ``None`` means all of them, or no single one."""

    code: str
    gpu: str | None
    expected: str
    found: str
    action: GpuAction


class WantedGpus(Frozen):
    """What a blueprint wants of the GPUs. ``None`` is not judged."""

    count: int | None = None
    mig: bool | None = None
    ecc: bool | None = None
    has_fabric: bool = False
    driver_version: str | None = None
    power_cap_w: float | None = None


def faults(reading: GpuReading, wanted: WantedGpus) -> tuple[GpuFault, ...]:
    """Everything that is not as it must be. What the tool does not say, though it is judged, is a fault too."""
    if reading.failure is not None:
        return (_failed(reading.failure),)
    return (*_node(reading, wanted), *(fault for gpu in reading.gpus for fault in _gpu(gpu, wanted)))


def _failed(failure: Failure) -> GpuFault:
    action = _AFTER_FAILURE.get(failure.kind, "look")
    return GpuFault(code=failure.kind, gpu=None, expected="a reading of the GPUs", found=failure.said, action=action)


def _node(reading: GpuReading, wanted: WantedGpus) -> Iterator[GpuFault]:
    present = sum(not gpu.is_lost for gpu in reading.gpus)
    if wanted.count is not None and present != wanted.count:
        yield GpuFault(
            code="gpu-count", gpu=None, expected=f"{wanted.count} GPUs", found=f"{present} GPUs", action="reboot"
        )
    if wanted.driver_version not in (None, reading.driver_version):
        yield GpuFault(
            code="driver-version",
            gpu=None,
            expected=f"driver {wanted.driver_version}",
            found=f"driver {reading.driver_version or 'unknown'}",
            action="reboot",
        )


def _gpu(gpu: Gpu, wanted: WantedGpus) -> Iterator[GpuFault]:
    def fault(code: str, expected: str, found: str, action: GpuAction) -> GpuFault:
        return GpuFault(code=code, gpu=gpu.address, expected=expected, found=found, action=action)

    if gpu.is_lost:
        yield fault("gpu-lost", "a GPU that answers", "it fell off the bus", "reboot")
        return
    repair = gpu.repair
    if repair.has_remap_failed:
        yield fault("remap-failed", "every bad row remapped", "a row could not be remapped", "replace")
    if repair.is_remap_pending or repair.is_retirement_pending:
        yield fault("remap-pending", "no repair of memory pending", "a repair waits for a reset", "reset-gpu")
    if gpu.errors.uncorrected:
        yield fault("ecc-uncorrected", "0 uncorrected errors", f"{gpu.errors.uncorrected}", "reset-gpu")
    if gpu.recovery is not None:
        yield fault("recovery-wanted", "no recovery asked for", gpu.recovery, "reset-gpu")
    if gpu.link.lanes_max and gpu.link.lanes is not None and gpu.link.lanes < gpu.link.lanes_max:
        yield fault("link-narrow", f"{gpu.link.lanes_max} lanes", f"{gpu.link.lanes} lanes", "look")
    yield from _modes(gpu, wanted)


def _modes(gpu: Gpu, wanted: WantedGpus) -> Iterator[GpuFault]:
    for name, mode, value in (("mig", gpu.mig, wanted.mig), ("ecc", gpu.ecc, wanted.ecc)):
        settled = None if value is None else mode.is_settled_at(value)
        if value is None or settled:
            continue
        pends = mode.pending == value
        yield GpuFault(
            code=f"{name}-{'pending' if pends else 'unsupported' if mode.is_absent else 'differs'}",
            gpu=gpu.address,
            expected=f"{name} {_word(value)}, now and after a reset",
            found=f"now {_word(mode.current)}, after a reset {_word(mode.pending)}",
            action="reset-gpu" if pends else "configure",
        )
    yield from _fabric_and_cap(gpu, wanted)


def _fabric_and_cap(gpu: Gpu, wanted: WantedGpus) -> Iterator[GpuFault]:
    state, status = (gpu.fabric.state or "").lower(), (gpu.fabric.status or "").lower()
    if wanted.has_fabric and (state, status) != (_COMPLETED, _SUCCESS):
        found = f"state {gpu.fabric.state or 'unknown'}, status {gpu.fabric.status or 'unknown'}"
        expected = "state Completed, status Success"
        yield GpuFault(code="fabric", gpu=gpu.address, expected=expected, found=found, action="look")
    cap = gpu.power.cap_w
    if wanted.power_cap_w is not None and (cap is None or abs(cap - wanted.power_cap_w) >= 1):
        found = f"{cap:g} W" if cap is not None else "unknown"
        expected = f"a cap of {wanted.power_cap_w:g} W"
        yield GpuFault(code="power-cap", gpu=gpu.address, expected=expected, found=found, action="configure")


def _word(value: bool | None) -> str:
    return "unknown" if value is None else "enabled" if value else "disabled"
