"""Parts that a blueprint counts: sockets, GPUs, power supplies; and the server itself. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from metalwright.matching.look import Look, is_described
from metalwright.matching.names import is_any_model, is_gpu, is_model
from metalwright.model.blueprint import Blueprint, Cpus, Gpus, Psus
from metalwright.model.finding import Finding
from metalwright.model.report import Cpu, Gpu, Psu

_MAKERS = {"nvidia": "nvidia", "amd": "amd", "intel": "intel"}


def system_findings(look: Look, blueprint: Blueprint) -> Iterator[Finding]:
    """Maker and model of the server."""
    wanted, system = blueprint.hardware.system, look.report.system
    models = (*wanted.models, *look.alternates.get("system", ()))
    hint = "rack the server that the blueprint describes, or pin this node to a blueprint of its own class"
    if system.manufacturer is None:
        yield look.unknown("manufacturer", wanted.manufacturer)
    elif not is_model(wanted.manufacturer.split()[0], system.manufacturer):
        yield look.fail("system-manufacturer", None, wanted.manufacturer, system.manufacturer, hint)
    if system.model is None:
        yield look.unknown("model", " or ".join(wanted.models))
    elif not is_any_model(models, system.model, system.part_number):
        yield look.fail("system-model", None, " or ".join(models), system.model, hint)


def health_findings(look: Look) -> Iterator[Finding]:
    """Parts that are there and that the BMC calls broken."""
    for slot in look.report.critical_parts:
        hint = "read the BMC's event log, then reseat or replace the part"
        yield look.fail("part-health", slot, "Health OK", "Health Critical", hint)


def cpu_findings(look: Look, wanted: Cpus) -> Iterator[Finding]:
    """Sockets by count, model and cores."""
    cpus = look.report.cpus
    yield from look.count("cpu", cpus, wanted.count, "sockets", look.would_do("cpus", wanted.models))
    for cpu in filter(is_described, cpus or ()):
        yield from _cpu(look, cpu, wanted)


def _cpu(look: Look, cpu: Cpu, wanted: Cpus) -> Iterator[Finding]:
    models = (*wanted.models, *look.alternates.get("cpus", ()))
    if wanted.models and cpu.model is None:
        yield look.unknown("cpu-model", " or ".join(wanted.models), cpu.slot)
    elif wanted.models and not is_any_model(models, cpu.model):
        hint = look.would_do("cpus", wanted.models)
        yield look.fail("cpu-model", cpu.slot, " or ".join(models), str(cpu.model), hint)
        return
    yield from _cores(look, cpu, wanted.cores)


def _cores(look: Look, cpu: Cpu, wanted: int | None) -> Iterator[Finding]:
    if wanted is None:
        return
    expected = f"{wanted} cores"
    if cpu.cores is None:
        yield look.unknown("cpu-cores", expected, cpu.slot)
    elif cpu.cores != wanted:
        hint = "another model than its name says, or cores switched off in the BIOS: compare the BIOS set-up"
        yield look.fail("cpu-cores", cpu.slot, expected, f"{cpu.cores} cores", hint)
    elif cpu.enabled_cores is not None and cpu.enabled_cores < wanted:
        hint = "cores are switched off: set the number of active cores in the BIOS to all"
        yield look.fail("cpu-cores", cpu.slot, expected, f"{cpu.enabled_cores} of {cpu.cores} cores enabled", hint)


def gpu_findings(look: Look, wanted: Gpus) -> Iterator[Finding]:
    """GPU packages by count, maker, model and memory."""
    gpus = look.report.gpus
    good = [gpu.model for gpu in gpus or () if gpu.model is not None and is_gpu(wanted.model, gpu.model)]
    hint = look.would_do("gpus", [wanted.model] if not good else [], good)
    if gpus == () and look.report.cannot_see("gpus"):
        yield look.unknown("gpus", f"{wanted.count} GPUs", found="the BMC lists no PCIe devices")
        return
    yield from look.count("gpu", gpus, wanted.count, "GPUs", hint)
    for gpu in filter(is_described, gpus or ()):
        yield from _gpu(look, gpu, wanted, hint)


def _gpu(look: Look, gpu: Gpu, wanted: Gpus, hint: str) -> Iterator[Finding]:
    is_alternate = is_any_model(look.alternates.get("gpus", ()), gpu.model)
    if gpu.model is None:
        yield look.unknown("gpu-model", wanted.model, gpu.slot)
    elif not is_alternate and not is_gpu(wanted.model, gpu.model):
        yield look.fail("gpu-model", gpu.slot, wanted.model, gpu.model, hint)
        return
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


_COUNT_THEM = "count them in the machine and write it into the rack file: attested: {{psus: {count}{watts}}}"


def psu_findings(look: Look, wanted: Psus) -> Iterator[Finding]:
    """Power supplies by count and rating. Where the BMC does not tell, the rack file's ``attested`` is the witness."""
    psus, attested = look.report.psus, look.node.attested
    watts = f", psu_watts: {wanted.watts}" if wanted.watts is not None else ""
    ask = _COUNT_THEM.format(count=wanted.count, watts=watts)
    good = [psu.model for psu in psus or () if psu.watts is not None and psu.watts >= (wanted.watts or 0)]
    rated = [f"a supply of {wanted.watts} W"] if wanted.watts is not None and not any(good) else []
    hint = look.would_do("psus", rated, good)
    if psus is not None:
        yield from look.count("psu", psus, wanted.count, "power supplies", hint)
    elif attested.psus is None:
        yield look.unknown("psus", f"{wanted.count} power supplies", hint=f"the BMC does not tell: {ask}")
    elif attested.psus != wanted.count:
        found = f"{attested.psus} by the rack file (attested)"
        yield look.fail("psu-count", None, f"{wanted.count} power supplies", found, hint)
    unseen = (Psu(model="attested"),) if psus is None and attested.psus is not None else ()
    for psu in filter(is_described, psus or unseen):
        yield from _psu(look, psu, wanted, hint, ask)


def _psu(look: Look, psu: Psu, wanted: Psus, hint: str, ask: str) -> Iterator[Finding]:
    if wanted.watts is None or is_any_model(look.alternates.get("psus", ()), psu.model):
        return
    watts = psu.watts if psu.watts is not None else look.node.attested.psu_watts
    if watts is None:
        yield look.unknown("psu-watts", f"{wanted.watts} W", psu.slot, hint=f"the BMC does not tell: {ask}")
    elif watts < wanted.watts:
        yield look.fail("psu-watts", psu.slot, f"{wanted.watts} W", f"{watts} W", hint)
