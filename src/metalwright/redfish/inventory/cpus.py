"""Populated host sockets. FPGAs, accelerators and the cores that some BMCs list as processors do not count."""

from __future__ import annotations

import re

from metalwright.model.report import Cpu
from metalwright.redfish.inventory.estate import Host
from metalwright.redfish.inventory.resource import UNKNOWN, Resource
from metalwright.redfish.inventory.values import natural_key
from metalwright.redfish.inventory.walk import Walk

_NOT_A_SOCKET = re.compile(r"gpu|fpga|video|accel|sxm", re.IGNORECASE)
_MODEL_NUMBER = re.compile(r"(?<!0x)(?<![0-9a-f])(?=[A-Za-z-]*\d)[A-Za-z]*\d[\w+-]*", re.IGNORECASE)
_HEX = re.compile(r"^0x[0-9a-f]+$|^\d+$", re.IGNORECASE)


async def read_cpus(walk: Walk, host: Host) -> tuple[Cpu, ...] | None:
    """The sockets of the host system; ``None`` if the BMC does not list processors.

    A listed processor that cannot be read is a socket of which only the slot is known.
    """
    listing = await walk.listing(host.system.link("Processors"))
    if not listing.is_known:
        walk.note(host.system.uri, f"lists no processors: {UNKNOWN}")
        return None
    summary = host.system.text("ProcessorSummary", "Model")
    cpus = [_cpu(resource, summary) for resource in listing.present if _is_socket(resource)]
    hidden = [Cpu(slot=_last(uri)) for uri in listing.unreadable if not _NOT_A_SOCKET.search(_last(uri))]
    if not cpus and not hidden:
        walk.note(host.system.uri, f"lists no populated socket: processors {UNKNOWN}")
        return None
    return tuple(sorted([*cpus, *hidden], key=lambda cpu: natural_key(cpu.slot)))


def _is_socket(resource: Resource) -> bool:
    kind = (resource.text("ProcessorType") or "").casefold()
    if kind and kind != "cpu":
        return False
    if not kind:
        return resource.positive("TotalCores") is not None and not _NOT_A_SOCKET.search(resource.id)
    says_something = resource.positive("TotalCores") or resource.text("Model") or resource.state == "enabled"
    return bool(says_something or resource.text("Manufacturer"))


def _cpu(resource: Resource, summary: str | None) -> Cpu:
    resource.note_health()
    cpu = Cpu(
        slot=resource.slot,
        manufacturer=resource.text("Manufacturer"),
        model=model_of(resource, summary),
        architecture=resource.text("InstructionSet") or resource.text("ProcessorArchitecture"),
        cores=resource.positive("TotalCores") or resource.positive("TotalEnabledCores"),
        enabled_cores=resource.positive("TotalEnabledCores"),
        threads=resource.positive("TotalThreads"),
        max_mhz=resource.positive("MaxSpeedMHz"),
    )
    resource.note_unknown(model=cpu.model, cores=cpu.cores)
    return cpu


def model_of(resource: Resource, summary: str | None) -> str | None:
    """The first property with a model number in it: some BMCs put it into Version, VendorId or EffectiveFamily."""
    candidates = (
        resource.text("Model"),
        resource.text("Version"),
        resource.text("ProcessorId", "VendorId"),
        resource.text("ProcessorId", "EffectiveFamily"),
        summary,
    )
    given = [text for text in candidates if text is not None and not _HEX.match(text)]
    return next((text for text in given if _MODEL_NUMBER.search(text)), resource.text("Model"))


def _last(uri: str) -> str:
    return uri.rstrip("/").rpartition("/")[2]
