"""What the GPU driver says of every GPU, against what the blueprint wants (pure). What it does not say is unknown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from metalwright.accelerators import nvidia_smi, rocm_smi
from metalwright.accelerators.gpu import Failure, Gpu, GpuReading
from metalwright.accelerators.xid import XidEvent, events
from metalwright.model.blueprint import Blueprint

READERS: Mapping[str, tuple[str, Callable[[str], GpuReading]]] = MappingProxyType(
    {"nvidia": (nvidia_smi.QUERY, nvidia_smi.parse), "amd": (rocm_smi.QUERY, rocm_smi.parse)}
)
"""By maker: the command, and the reader of its output."""

XID = "xid"
RAS = "ras"
RAS_COUNTS = "grep -H ue: /sys/class/drm/card*/device/ras/umc_err_count"
"""The command whose output :func:`ras_fault` reads: AMD's driver counts errors of each GPU's memory there."""

HARD_LIMITS = ("hw_", "sw_thermal")
"""Beginnings of the reasons for lower clocks that no healthy GPU at rest shows."""

CAP_TOLERANCE_W = 1.0


class UnknownError(ValueError):
    """The tool does not tell; the text says what is missing."""


def gpu_checks(blueprint: Blueprint) -> list[dict[str, Any]]:
    """The checks of a node whose driver is declared: ``{"id": …, "vendor": …, …}``; none without GPUs or driver."""
    gpus, driver = blueprint.hardware.gpus, blueprint.software.accelerator
    if gpus is None or driver is None or gpus.vendor not in READERS:
        return []
    facts = {"vendor": gpus.vendor, "count": gpus.count}
    link = {"id": "link", **facts, "generation": gpus.pcie_generation, "lanes": gpus.pcie_lanes}
    ecc = {"id": "ecc", **facts, "wanted": gpus.ecc}
    checks: list[dict[str, Any]] = [{"id": "count", **facts}]
    if gpus.vendor == "nvidia":
        checks += [{"id": "driver", **facts, "version": driver.driver}, {"id": "memory", **facts}, ecc, link]
        checks += [{"id": "clocks", **facts}, {"id": XID, **facts}]
    else:  # rocm-smi tells neither memory errors nor reasons for lower clocks; the kernel counts the errors
        checks += [{"id": RAS, **facts}, *([ecc] if gpus.ecc is not None else [])]
        checks += [link] if gpus.pcie_generation is not None or gpus.pcie_lanes is not None else []
    if driver.fabric_manager:
        checks.append({"id": "fabric", **facts})
    if blueprint.policy.mig is not None:
        checks.append({"id": "mig", **facts, "wanted": blueprint.policy.mig == "enabled"})
    if blueprint.policy.power_cap_w is not None:
        checks.append({"id": "power_cap", **facts, "watts": blueprint.policy.power_cap_w})
    return checks


def with_status(reading: GpuReading, rc: int) -> GpuReading:
    """The reading, as a failure where the tool answered in full and ended with another status than 0 all the same."""
    if rc == 0 or reading.failure is not None or any(gpu.is_lost for gpu in reading.gpus):
        return reading
    return reading.model_copy(update={"failure": Failure(kind="unreadable", said=f"exit status {rc} at the end")})


def gpu_fault(check: Mapping[str, Any], reading: GpuReading) -> str | None:
    """What is wrong, in words; ``None``: nothing. ``check`` is one of :func:`gpu_checks`, but ``xid``.

    Raises:
        UnknownError: the tool does not tell what the check needs.
    """
    absent = _absent(check, reading)
    if absent is not None:
        return absent
    return _JUDGES[check["id"]](check, reading)


def kernel_log_fault(log_text: str) -> str | None:
    """The GPU errors since the boot that the driver wrote to the kernel log, but those that are only information.

    Raises:
        UnknownError: the log is empty, as no kernel's is.
    """
    if not any(line.strip() and not line.startswith("-- ") for line in log_text.splitlines()):
        raise UnknownError("the kernel log of this boot is empty")
    bad = [event for event in events(log_text) if event.severity != "info"]
    if not bad:
        return None
    shown = "; ".join(f"{_where(event)}: {event.kind} {event.code} ({_meaning(event)})" for event in bad[:3])
    return f"{shown}{f' and {len(bad) - 3} more' if len(bad) > 3 else ''}"


def ras_fault(counts_text: str, gpus: int) -> str | None:
    """GPUs whose memory had errors that could not be corrected, since the driver started.

    Raises:
        UnknownError: the driver does not count for every GPU.
    """
    counts = {found[1]: int(found[2]) for found in re.finditer(r"/(card\d+)/\S*ue:\s*(\d+)", counts_text)}
    if len(counts) != gpus:
        raise UnknownError(f"the driver counts memory errors of {len(counts)} of {gpus} GPUs")
    bad = [f"{card}: {count}" for card, count in sorted(counts.items()) if count]
    return f"uncorrected memory errors since the driver started: {', '.join(bad)}" if bad else None


def _where(event: XidEvent) -> str:
    return event.address or "a GPU"


def _meaning(event: XidEvent) -> str:
    return f"{event.known.meaning}; do: {event.action}" if event.known else f"unknown code: {event.said}"


def _absent(check: Mapping[str, Any], reading: GpuReading) -> str | None:
    """A GPU that is not there makes every other answer worthless."""
    if reading.failure is not None:
        return f"{reading.tool} says: {reading.failure.said} ({reading.failure.kind})"
    lost = [gpu.address or "?" for gpu in reading.gpus if gpu.is_lost]
    if lost:
        return f"lost: {', '.join(lost)}"
    if len(reading.gpus) != check["count"]:
        return f"{reading.tool} lists {len(reading.gpus)} of {check['count']} GPUs"
    return None


def _count(_check: Mapping[str, Any], _reading: GpuReading) -> str | None:
    return None  # what there is to say was said before


def _driver(check: Mapping[str, Any], reading: GpuReading) -> str | None:
    if reading.driver_version is None:
        raise UnknownError(f"{reading.tool} names no driver version")
    wanted = check["version"]
    is_wanted = reading.driver_version == wanted or wanted.startswith(f"{reading.driver_version}-")
    return None if is_wanted else f"driver {reading.driver_version} is loaded, the blueprint pins {wanted}"


def _memory(_check: Mapping[str, Any], reading: GpuReading) -> str | None:
    """A pending remap or retirement wants a restart; a failed remap or an uncorrected error rejects the GPU."""
    told = [
        gpu.repair.is_remap_pending is not None or gpu.repair.is_retirement_pending is not None for gpu in reading.gpus
    ]
    if not all(told):
        raise UnknownError(f"{told.count(False)} GPUs tell nothing of remapped rows or retired pages")
    if any(gpu.repair.is_remap_pending is not None and gpu.repair.has_remap_failed is None for gpu in reading.gpus):
        raise UnknownError("a GPU does not tell whether a row remap failed")
    uncounted = [gpu for gpu in reading.gpus if gpu.ecc.current is True and gpu.errors.uncorrected is None]
    if uncounted:
        raise UnknownError(f"{len(uncounted)} GPUs with ECC on do not count their memory errors")
    return (
        _each(
            reading.gpus,
            lambda gpu: gpu.repair.has_remap_failed is True,
            "a row remap failed: reject the GPU",
        )
        or _each(
            reading.gpus,
            lambda gpu: gpu.repair.is_remap_pending is True or gpu.repair.is_retirement_pending is True,
            "a memory repair is pending: restart the node, then accept again",
        )
        or _each(
            reading.gpus, lambda gpu: bool(gpu.errors.uncorrected), "uncorrected memory errors since the driver started"
        )
    )


def _ecc(check: Mapping[str, Any], reading: GpuReading) -> str | None:
    """Without a wish ECC must be on wherever the GPU has it."""
    wanted = True if check["wanted"] is None else check["wanted"]
    if any(gpu.ecc.is_settled_at(wanted) is None for gpu in reading.gpus):
        raise UnknownError("a GPU does not tell its ECC mode")
    judged = [gpu for gpu in reading.gpus if check["wanted"] is not None or not gpu.ecc.is_absent]
    state = "on" if wanted else "off"
    return _each(
        judged, lambda gpu: not gpu.ecc.is_settled_at(wanted), f"ECC is not {state}, now and after the next reset"
    )


def _mig(check: Mapping[str, Any], reading: GpuReading) -> str | None:
    wanted = bool(check["wanted"])
    if any(gpu.mig.is_settled_at(wanted) is None for gpu in reading.gpus):
        raise UnknownError("a GPU does not tell its MIG mode")
    if wanted and any(gpu.mig.is_absent for gpu in reading.gpus):
        return "a GPU has no MIG mode"
    return _each(
        reading.gpus,
        lambda gpu: not gpu.mig.is_settled_at(wanted),
        f"MIG is not {'on' if wanted else 'off'}, now and after the next reset",
    )


def _link(check: Mapping[str, Any], reading: GpuReading) -> str | None:
    """Lanes as they are now; the generation that slot and GPU can do together, since an idle GPU lowers its own."""
    lanes, generation = check["lanes"], check["generation"]
    if any(gpu.link.lanes is None or (lanes or gpu.link.lanes_max) is None for gpu in reading.gpus):
        raise UnknownError("a GPU does not tell the lanes of its PCIe link")
    if generation is not None and any(_generation(gpu) is None for gpu in reading.gpus):
        raise UnknownError("a GPU does not tell the generation of its PCIe link")
    return _each(
        reading.gpus,
        lambda gpu: gpu.link.lanes != (lanes or gpu.link.lanes_max),
        f"fewer PCIe lanes than {lanes or 'it has'}",
    ) or _each(
        reading.gpus,
        lambda gpu: generation is not None and (_generation(gpu) or 0) < generation,
        f"its slot allows less than PCIe generation {generation}",
    )


def _generation(gpu: Gpu) -> int | None:
    """What slot and GPU can do together; where the tool does not tell it, what they do now."""
    return gpu.link.generation_max or gpu.link.generation


def _clocks(_check: Mapping[str, Any], reading: GpuReading) -> str | None:
    """Slowed down by heat or by the power supply, at rest."""
    if any(gpu.throttling is None for gpu in reading.gpus):
        raise UnknownError(f"{reading.tool} does not tell for every GPU why its clocks are lower")
    return _each(
        reading.gpus,
        lambda gpu: any(reason.startswith(HARD_LIMITS) for reason in gpu.throttling or ()),
        "slowed down by heat or power (" + ", ".join(_reasons(reading.gpus)) + ")",
    )


def _reasons(gpus: Sequence[Gpu]) -> list[str]:
    return sorted({reason for gpu in gpus for reason in gpu.throttling or () if reason.startswith(HARD_LIMITS)})


def _fabric(_check: Mapping[str, Any], reading: GpuReading) -> str | None:
    if any(gpu.fabric.state is None for gpu in reading.gpus):
        raise UnknownError("a GPU does not tell the state of its NVLink fabric")
    states = {f"{gpu.fabric.state}/{gpu.fabric.status}" for gpu in reading.gpus}
    return _each(
        reading.gpus,
        lambda gpu: (gpu.fabric.state, gpu.fabric.status) != ("Completed", "Success"),
        f"the NVLink fabric is {', '.join(sorted(states))}, expected Completed/Success",
    )


def _power_cap(check: Mapping[str, Any], reading: GpuReading) -> str | None:
    if any(gpu.power.cap_w is None for gpu in reading.gpus):
        raise UnknownError("a GPU does not tell its power cap")
    return _each(
        reading.gpus,
        lambda gpu: abs((gpu.power.cap_w or 0) - check["watts"]) > CAP_TOLERANCE_W,
        f"its power cap is not {check['watts']} W",
    )


def _each(gpus: Iterable[Gpu], is_bad: Callable[[Gpu], bool], what: str) -> str | None:
    """``what``, with the GPUs for which ``is_bad`` holds by PCI address; ``None`` when it holds for none."""
    bad = [gpu.address or gpu.uuid or f"GPU {index}" for index, gpu in enumerate(gpus) if is_bad(gpu)]
    return f"{', '.join(bad)}: {what}" if bad else None


CheckName = Literal["count", "driver", "memory", "ecc", "mig", "link", "clocks", "fabric", "power_cap"]
_JUDGES: Mapping[CheckName, Callable[[Mapping[str, Any], GpuReading], str | None]] = {
    "count": _count,
    "driver": _driver,
    "memory": _memory,
    "ecc": _ecc,
    "mig": _mig,
    "link": _link,
    "clocks": _clocks,
    "fabric": _fabric,
    "power_cap": _power_cap,
}
