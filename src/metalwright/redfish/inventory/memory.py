"""Host memory: populated DIMMs and their sum. HBM of accelerators is listed elsewhere or left out."""

from __future__ import annotations

import re

from metalwright.model.report import Dimm, MemoryFacts
from metalwright.redfish.inventory.estate import Host
from metalwright.redfish.inventory.resource import UNKNOWN, Resource
from metalwright.redfish.inventory.values import natural_key
from metalwright.redfish.inventory.walk import Walk

_MODULE_SIZES_GIB = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
_NEAR = 0.06
"""A size that is no whole GiB is a module size written in wrong units (16 GB as 15625 MiB); they differ by < 6 %."""

_DISAGREE = 0.03
_ACCELERATOR = re.compile(r"gpu|accel|hbm", re.IGNORECASE)


async def read_memory(walk: Walk, host: Host) -> MemoryFacts:
    """DIMMs of the host system and their sum in GiB; the system's own summary only where the DIMMs are unknown."""
    summary_gib = host.system.number("MemorySummary", "TotalSystemMemoryGiB") or None
    listing = await walk.listing(host.system.link("Memory"))
    if not listing.is_known:
        walk.note(host.system.uri, f"lists no memory modules: {UNKNOWN}")
        return MemoryFacts(total_gib=summary_gib, dimms=None)
    dimms = [_dimm(resource) for resource in listing.present if _is_populated(resource)]
    dimms += [Dimm(slot=uri.rstrip("/").rpartition("/")[2]) for uri in listing.unreadable]
    if not dimms:
        walk.note(host.system.uri, f"lists no populated module: memory {UNKNOWN}")
        return MemoryFacts(total_gib=summary_gib, dimms=None)
    sizes = [dimm.size_gib for dimm in dimms if dimm.size_gib is not None]
    sum_gib = sum(sizes) if len(sizes) == len(dimms) and listing.is_complete else None
    if sum_gib and summary_gib and abs(sum_gib - summary_gib) > _DISAGREE * sum_gib:
        walk.note(host.system.uri, f"MemorySummary says {summary_gib:g} GiB, the modules sum to {sum_gib:g} GiB")
    return MemoryFacts(
        total_gib=sum_gib if sum_gib is not None else summary_gib,
        dimms=tuple(sorted(dimms, key=lambda dimm: natural_key(dimm.slot))),
    )


def _is_populated(resource: Resource) -> bool:
    """Capacity 0, null or missing with nothing else said is an empty slot."""
    kind = resource.text("MemoryDeviceType") or ""
    if _ACCELERATOR.search(kind) or _ACCELERATOR.search(resource.id):
        return False
    return bool(
        resource.positive("CapacityMiB") or resource.identity("SerialNumber") or resource.identity("PartNumber")
    )


def _dimm(resource: Resource) -> Dimm:
    resource.note_health()
    size_gib = _size_gib(resource)
    resource.note_unknown(size_gib=size_gib)
    return Dimm(
        slot=resource.slot,
        manufacturer=resource.text("Manufacturer"),
        part_number=resource.identity("PartNumber"),
        type=resource.text("MemoryDeviceType"),
        size_gib=size_gib,
        speed_mts=resource.positive("OperatingSpeedMhz"),
    )


def _size_gib(resource: Resource) -> float | None:
    capacity_mib = resource.positive("CapacityMiB")
    if capacity_mib is None or capacity_mib % 1024 == 0:
        return capacity_mib / 1024 if capacity_mib is not None else None
    size_gib = capacity_mib / 1024
    nearest = min(_MODULE_SIZES_GIB, key=lambda size: abs(size - size_gib))
    if abs(nearest - size_gib) > _NEAR * nearest:
        return round(size_gib, 3)
    resource.note(resource.uri, f"CapacityMiB {capacity_mib} is no whole GiB: taken as a {nearest} GiB module")
    return float(nearest)
