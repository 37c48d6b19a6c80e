"""A blueprint that demands all that a report shows, so that any part that is lost or changed must be noticed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from metalwright.model.blueprint import Blueprint
from metalwright.model.rack import Node
from metalwright.model.report import HardwareReport

_VENDORS = {"NVIDIA": "nvidia", "AMD": "amd", "Intel": "intel"}


def blueprint_of(report: HardwareReport) -> Blueprint:
    """Every part that is known, by number, size and name."""
    system = {"manufacturer": report.system.manufacturer or "unknown", "models": [report.system.model or "unknown"]}
    hardware: dict[str, Any] = {"system": system, "cpus": _cpus(report), "memory": _memory(report)}
    hardware |= {"gpus": _gpus(report)} if report.gpus else {}
    hardware |= {"psus": _psus(report)} if report.psus else {}
    hardware |= {"nics": _nics(report), "drives": _drives(report)}
    image = {"name": "x", "version": "1", "file_sha256": "0" * 64}
    about = {"schema": 1, "name": "captured", "version": "1.0.0", "class": {"role": "x", "owner": "x", "why": "x"}}
    return Blueprint.model_validate(
        {**about, "hardware": hardware, "image": image, "acceptance": [{"test": "boot-id", "record": True}]}
    )


def node_of(report: HardwareReport) -> Node:
    """A node with the keys that the machine gives; two made-up ones where it gives too few."""
    keys = {"serial": report.system.serial or report.chassis.serial, "uuid": report.system.uuid}
    keys["bmc_mac"] = (report.bmc.macs or (None,))[0]
    given = {key: value for key, value in keys.items() if value is not None}
    made_up = {"serial": "MADE77UP", "bmc_mac": "02:00:00:00:00:01"} if len(given) < 2 else {}
    drive = next((drive.serial for drive in report.drives or () if drive.serial is not None), None)
    disk = {"system_disk": {"serial": drive}} if drive is not None else {}
    return Node.model_validate({"name": "captured", "blueprint": "captured@1.0.0", **made_up, **given, **disk})


def _cpus(report: HardwareReport) -> dict[str, Any]:
    cpus = report.cpus or ()
    models = sorted({cpu.model for cpu in cpus if cpu.model is not None})
    cores = {cpu.cores for cpu in cpus}
    return {"count": len(cpus) or 1, "models": models, "cores": cores.pop() if len(cores) == 1 else None}


def _memory(report: HardwareReport) -> dict[str, Any]:
    return {"total_gib": round(report.memory.total_gib or 1), "dimms": len(report.memory.dimms or ()) or None}


def _gpus(report: HardwareReport) -> dict[str, Any]:
    gpu = (report.gpus or ())[0]
    memory = round(gpu.memory_gib) if gpu.memory_gib else None
    vendor = _VENDORS.get(gpu.manufacturer or "", "nvidia")
    return {"count": len(report.gpus or ()), "vendor": vendor, "model": gpu.model or "unknown", "memory_gib": memory}


def _psus(report: HardwareReport) -> dict[str, Any]:
    watts = [psu.watts for psu in report.psus or () if psu.watts is not None]
    return {"count": len(report.psus or ()), "watts": min(watts, default=None)}


def _nics(report: HardwareReport) -> list[dict[str, Any]]:
    ports = Counter((port.link, port.speed_gbps) for nic in report.nics or () for port in nic.ports)
    return [
        {"role": f"role-{number}", "count": count, "speed_gbps": speed, "link": link}
        for number, ((link, speed), count) in enumerate(ports.items())
        if link is not None and speed is not None
    ]


def _drives(report: HardwareReport) -> list[dict[str, Any]]:
    sizes = Counter((drive.size_bytes, drive.protocol) for drive in report.drives or () if drive.size_bytes)
    groups = [
        {"role": f"role-{number}", "count": count, "min_bytes": size, "max_bytes": size, "protocol": protocol}
        for number, ((size, protocol), count) in enumerate(sizes.items())
    ] or [{"count": 1, "min_bytes": 1}]
    return [{**groups[0], "role": "system"}, *groups[1:]]
