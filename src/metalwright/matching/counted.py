"""Parts that a blueprint counts: sockets, DIMMs, GPUs, power supplies. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from metalwright.matching.identity import source_of
from metalwright.matching.names import is_any_model, is_gpu, is_model
from metalwright.model.blueprint import Blueprint, Cpus, Gpus, Memory, Psus
from metalwright.model.finding import Finding
from metalwright.model.report import Cpu, Dimm, Gpu, HardwareReport, Psu

MEMORY_TOLERANCE = 0.03
"""Firmware rounds, mirrors and reserves; a missing DIMM is more than this."""

_MAKERS = {"nvidia": "nvidia", "amd": "amd", "intel": "intel"}


@dataclass(frozen=True)
class Look:
    """What all checks of one report share."""

    report: HardwareReport
    alternates: dict[str, tuple[str, ...]]

    def fail(self, code: str, slot: str | None, expected: str, found: str, hint: str | None = None) -> Finding:
        """A contradiction."""
        return Finding(
            code=code,
            verdict="FAIL",
            slot=slot,
            expected=expected,
            found=found,
            source=source_of(self.report),
            hint=hint,
        )

    def unknown(self, part: str, expected: str, slot: str | None = None, found: str = "unknown") -> Finding:
        """Something that only a better witness can tell."""
        return Finding(
            code=f"unknown-{part}",
            verdict="DEFERRED",
            slot=slot,
            expected=expected,
            found=found,
            source=source_of(self.report),
            hint="the BMC does not tell; the ramdisk and the operating system will",
        )

    def would_do(self, section: str, wanted: Sequence[str], present: Sequence[str | None] = ()) -> str:
        """Which parts a technician may fit: like those that are there and right, the blueprint's, its alternates."""
        like = next((text for text in present if text is not None), None)
        names = [*([f"another {like}"] if like is not None else []), *wanted]
        names += [f"{name} (alternate)" for name in self.alternates.get(section, ())]
        return f"would do: {', '.join(dict.fromkeys(names))}" if names else "see the blueprint for the part"


def look_at(blueprint: Blueprint, report: HardwareReport) -> Look:
    """The context for the checks of one report."""
    return Look(report, blueprint.hardware.alternates)


def cpu_findings(look: Look, wanted: Cpus) -> Iterator[Finding]:
    """Sockets by count, model and cores."""
    cpus = look.report.cpus
    yield from _count(look, "cpu", cpus, wanted.count, "sockets", look.would_do("cpus", wanted.models))
    for cpu in filter(_is_described, cpus or ()):
        yield from _cpu(look, cpu, wanted)


def _cpu(look: Look, cpu: Cpu, wanted: Cpus) -> Iterator[Finding]:
    models = (*wanted.models, *look.alternates.get("cpus", ()))
    expected = " or ".join(wanted.models)
    if wanted.models and cpu.model is None:
        yield look.unknown("cpu-model", expected, cpu.slot)
    elif wanted.models and not is_any_model(models, cpu.model):
        yield look.fail("cpu-model", cpu.slot, expected, str(cpu.model), look.would_do("cpus", wanted.models))
    if wanted.cores is not None and cpu.cores is None:
        yield look.unknown("cpu-cores", f"{wanted.cores} cores", cpu.slot)
    elif wanted.cores is not None and cpu.cores != wanted.cores:
        hint = "cores switched off in the BIOS, or another model: see the socket's marking"
        yield look.fail("cpu-cores", cpu.slot, f"{wanted.cores} cores", f"{cpu.cores} cores", hint)


def memory_findings(look: Look, wanted: Memory) -> Iterator[Finding]:
    """Total of the host memory and number of populated DIMMs; a DIMM of another size than the rest is named."""
    memory = look.report.memory
    expected = f"{wanted.total_gib} GiB"
    if memory.total_gib is None:
        yield look.unknown("memory", expected)
    elif abs(memory.total_gib - wanted.total_gib) > MEMORY_TOLERANCE * wanted.total_gib:
        yield look.fail("memory-total", None, expected, f"{memory.total_gib:g} GiB", _odd_dimms(memory.dimms or ()))
    if wanted.dimms is not None:
        usual = _usual_dimm(memory.dimms or ())
        hint = look.would_do("memory", [], [usual.part_number if usual is not None else None])
        yield from _count(look, "dimm", memory.dimms, wanted.dimms, "DIMMs", hint)


def _usual_dimm(dimms: Sequence[Dimm]) -> Dimm | None:
    sizes = Counter(dimm.size_gib for dimm in dimms if dimm.size_gib is not None)
    usual = sizes.most_common(1)[0][0] if sizes else None
    return next((dimm for dimm in dimms if usual is not None and dimm.size_gib == usual), None)


def _odd_dimms(dimms: Sequence[Dimm]) -> str | None:
    usual = _usual_dimm(dimms)
    if usual is None:
        return None
    odd = [f"{dimm.slot} {dimm.size_gib:g} GiB" for dimm in dimms if dimm.size_gib not in (None, usual.size_gib)]
    return f"most are {usual.size_gib:g} GiB, these are not: {', '.join(odd)}" if odd else None


def gpu_findings(look: Look, wanted: Gpus) -> Iterator[Finding]:
    """GPU packages by count, maker, model and memory."""
    gpus = look.report.gpus
    good = [gpu.model for gpu in gpus or () if gpu.model is not None and is_gpu(wanted.model, gpu.model)]
    hint = look.would_do("gpus", [wanted.model], good)
    if gpus == () and look.report.cannot_see("gpus"):
        yield look.unknown("gpus", f"{wanted.count} GPUs", found="the BMC lists no PCIe devices")
        return
    yield from _count(look, "gpu", gpus, wanted.count, "GPUs", hint)
    for gpu in filter(_is_described, gpus or ()):
        yield from _gpu(look, gpu, wanted, hint)


def _gpu(look: Look, gpu: Gpu, wanted: Gpus, hint: str) -> Iterator[Finding]:
    is_alternate = is_any_model(look.alternates.get("gpus", ()), gpu.model)
    if gpu.model is None:
        yield look.unknown("gpu-model", wanted.model, gpu.slot)
    elif not is_alternate and not is_gpu(wanted.model, gpu.model):
        yield look.fail("gpu-model", gpu.slot, wanted.model, gpu.model, hint)
    if gpu.manufacturer is not None and _MAKERS[wanted.vendor] not in _maker_text(gpu.manufacturer):
        yield look.fail("gpu-vendor", gpu.slot, wanted.vendor, gpu.manufacturer, hint)
    if wanted.memory_gib is None or is_alternate:
        return
    if gpu.memory_gib is None:
        yield look.unknown("gpu-memory", f"{wanted.memory_gib} GiB", gpu.slot)
    elif abs(gpu.memory_gib - wanted.memory_gib) > 0.1 * wanted.memory_gib:
        yield look.fail("gpu-memory", gpu.slot, f"{wanted.memory_gib} GiB", f"{gpu.memory_gib:g} GiB", hint)


def _maker_text(manufacturer: str) -> str:
    return manufacturer.casefold().replace("advanced micro devices", "amd").replace("habana", "intel")


def psu_findings(look: Look, wanted: Psus) -> Iterator[Finding]:
    """Power supplies by count and rating."""
    psus = look.report.psus
    good = [psu.model for psu in psus or () if psu.watts is not None and psu.watts >= (wanted.watts or 0)]
    hint = look.would_do("psus", [], good)
    yield from _count(look, "psu", psus, wanted.count, "power supplies", hint)
    for psu in filter(_is_described, psus or ()):
        yield from _psu(look, psu, wanted, hint)


def _psu(look: Look, psu: Psu, wanted: Psus, hint: str) -> Iterator[Finding]:
    if wanted.watts is None or is_any_model(look.alternates.get("psus", ()), psu.model):
        return
    if psu.watts is None:
        yield look.unknown("psu-watts", f"{wanted.watts} W", psu.slot)
    elif psu.watts < wanted.watts:
        yield look.fail("psu-watts", psu.slot, f"{wanted.watts} W", f"{psu.watts} W", hint)


def _count(
    look: Look, code: str, parts: Sequence[BaseModel] | None, wanted: int, noun: str, hint: str
) -> Iterator[Finding]:
    """A count that cannot be met is FAIL; one that unreadable members could still make right is DEFERRED."""
    expected = f"{wanted} {noun}"
    if parts is None:
        yield look.unknown(f"{code}s", expected)
        return
    described = [part for part in parts if _is_described(part)]
    hidden = len(parts) - len(described)
    if len(described) == wanted and not hidden:
        return
    found = f"{len(described)} {noun}" + (f" and {hidden} that cannot be read" if hidden else "")
    if len(described) <= wanted <= len(parts):
        yield look.unknown(f"{code}s", expected, found=found)
        return
    missing = missing_slots([str(getattr(part, "slot", None)) for part in parts], wanted)
    slot = ", ".join(missing) or None
    yield look.fail(f"{code}-count", slot, expected, found, hint if len(parts) < wanted else None)


def missing_slots(slots: Sequence[str], wanted: int) -> list[str]:
    """The slots that are empty, where slots are numbered without a gap: ``SXM1 … SXM7`` of 8 lacks ``SXM8``."""
    numbered = [re.fullmatch(r"(.*?)(\d+)", slot) for slot in slots]
    if not slots or len(slots) >= wanted or any(item is None for item in numbered):
        return []
    prefixes = {item.group(1) for item in numbered if item is not None}
    numbers = {int(item.group(2)) for item in numbered if item is not None}
    first = 0 if 0 in numbers else 1
    expected = set(range(first, first + wanted))
    if len(prefixes) != 1 or not numbers <= expected:
        return []
    (prefix,) = prefixes
    return [f"{prefix}{number}" for number in sorted(expected - numbers)]


def _is_described(part: BaseModel) -> bool:
    """Whether more than the slot is known; a member that cannot be read is a slot of unknown content."""
    return any(value is not None and value != () for name, value in part if name != "slot")


def system_findings(look: Look, blueprint: Blueprint) -> Iterator[Finding]:
    """Maker and model of the server."""
    wanted, system = blueprint.hardware.system, look.report.system
    models = (*wanted.models, *look.alternates.get("system", ()))
    if system.manufacturer is None:
        yield look.unknown("manufacturer", wanted.manufacturer)
    elif not is_model(wanted.manufacturer.split()[0], system.manufacturer):
        yield look.fail("system-manufacturer", None, wanted.manufacturer, system.manufacturer, _CLASS_HINT)
    if system.model is None:
        yield look.unknown("model", " or ".join(wanted.models))
    elif not is_any_model(models, system.model, system.part_number):
        yield look.fail("system-model", None, " or ".join(wanted.models), system.model, _CLASS_HINT)


_CLASS_HINT = "this server is of another class: pin the node to a blueprint of its class, or rack the right server"
