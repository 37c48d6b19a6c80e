"""``amd-smi static --json`` and ``amd-smi metric --json`` (pure), as AMD SMI 24 to 26 (ROCm 6 and 7) write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metalwright.accelerators.gpu import Clocks, Gpu, GpuReading, MemoryErrors, Mode, PcieLink, Power
from metalwright.accelerators.json_text import document, rows, table
from metalwright.accelerators.quantities import number, pci_address, said, size_bytes, switch, whole
from metalwright.accelerators.rocm_smi import GENERATIONS, NO_MIG
from metalwright.accelerators.tool_failures import failure_in

STATIC = "amd-smi static --json"
METRIC = "amd-smi metric --json"
"""The commands whose outputs :func:`parse` reads."""

_TOOL = "amd-smi"
_Tables = Mapping[str, Any]


def parse(static_text: str, metric_text: str = "") -> GpuReading:
    """Read both texts; the second adds what changes. Without the first there is a ``failure`` and no GPU."""
    parts = _by_index(static_text)
    if not parts:
        return GpuReading(tool=_TOOL, failure=failure_in(static_text))
    metrics = _by_index(metric_text)
    drivers = [table(part.get("driver")) for part in parts.values()]
    versions = [said(driver.get("version")) or said(driver.get("driver_version")) for driver in drivers]
    return GpuReading(
        tool=_TOOL,
        driver_version=next(filter(None, versions), None),
        attached=len(parts),
        gpus=tuple(_gpu(part, metrics.get(index, {})) for index, part in sorted(parts.items())),
    )


def _by_index(text: str) -> dict[int, _Tables]:
    """GPU number → its object. The list stands alone, or under ``gpu_data``."""
    found = document(text)
    listed = rows(found) or rows(table(found).get("gpu_data"))
    indexed = {whole(item.get("gpu")): item for item in listed}
    return {index: item for index, item in indexed.items() if index is not None}


def _gpu(part: _Tables, metric: _Tables) -> Gpu:
    asic, board, bus = table(part.get("asic")), table(part.get("board")), table(part.get("bus"))
    vbios = table(part.get("vbios")) or table(part.get("ifwi"))
    return Gpu(
        address=pci_address(bus.get("bdf")),
        name=said(asic.get("market_name")),
        architecture=said(asic.get("target_graphics_version")),
        pci_id=_pci_id(asic),
        serial=said(board.get("product_serial")),
        uuid=said(asic.get("asic_serial")),
        vbios=said(vbios.get("version")),
        memory_bytes=size_bytes(table(part.get("vram")).get("size")),
        temperature_c=_first(table(metric.get("temperature")), "hotspot", "edge"),
        ecc=_ecc(table(part.get("ras"))),
        mig=NO_MIG,
        partition=said(table(part.get("partition")).get("compute_partition")),
        link=_link(bus, table(metric.get("pcie"))),
        errors=_errors(table(metric.get("ecc"))),
        power=_power(table(part.get("limit")), table(metric.get("power"))),
        clocks=_clocks(table(metric.get("clock"))),
    )


def _pci_id(asic: _Tables) -> str | None:
    vendor, device = said(asic.get("vendor_id")), said(asic.get("device_id"))
    try:
        return f"{int(vendor or '', 16):04x}:{int(device or '', 16):04x}"
    except ValueError:
        return None


def _ecc(ras: _Tables) -> Mode:
    schemas = [switch(ras.get(name)) for name in ("single_bit_schema", "double_bit_schema")]
    return Mode(current=all(schemas)) if None not in schemas else Mode()


def _link(bus: _Tables, pcie: _Tables) -> PcieLink:
    rate, rate_max = number(pcie.get("speed")), number(bus.get("max_pcie_speed"))
    return PcieLink(
        generation=GENERATIONS.get(rate) if rate is not None else None,
        generation_max=GENERATIONS.get(rate_max) if rate_max is not None else None,
        lanes=whole(pcie.get("width")),
        lanes_max=whole(bus.get("max_pcie_width")),
    )


def _errors(ecc: _Tables) -> MemoryErrors:
    """The counters start with the driver."""
    return MemoryErrors(
        corrected=whole(ecc.get("total_correctable_count")), uncorrected=whole(ecc.get("total_uncorrectable_count"))
    )


def _power(limit: _Tables, power: _Tables) -> Power:
    ppt = table(limit.get("ppt0")) or limit
    return Power(
        draw_w=_first(power, "socket_power", "average_socket_power", "current_socket_power"),
        cap_w=_first(ppt, "socket_power_limit", "socket_power", "current_power", "power_cap"),
        cap_min_w=_first(ppt, "min_power_limit", "min_power"),
        cap_max_w=_first(ppt, "max_power_limit", "max_power"),
    )


def _clocks(clock: _Tables) -> Clocks:
    compute, memory = table(clock.get("gfx_0")), table(clock.get("mem_0"))
    return Clocks(
        compute_mhz=number(compute.get("clk")),
        compute_max_mhz=number(compute.get("max_clk")),
        memory_mhz=number(memory.get("clk")),
        memory_max_mhz=number(memory.get("max_clk")),
    )


def _first(values: _Tables, *names: str) -> float | None:
    return next((value for value in (number(values.get(name)) for name in names) if value is not None), None)
