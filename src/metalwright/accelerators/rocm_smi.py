"""``rocm-smi --json`` (pure). Key names of ROCm 4.3 to 6.2 are known, in any case of letters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from metalwright.accelerators.gpu import Clocks, Gpu, GpuReading, Mode, PcieLink, Power
from metalwright.accelerators.json_text import document, table
from metalwright.accelerators.quantities import number, pci_address, said, size_bytes
from metalwright.accelerators.tool_failures import failure_in

QUERY = "rocm-smi --showallinfo --showserial --showmeminfo vram --json"
"""The command whose output :func:`parse` reads."""

GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""Transfer rate of a PCIe lane in GT/s → generation."""

NO_MIG = Mode(is_absent=True)
"""MIG is NVIDIA's; AMD's GPUs are divided by partitions."""

_TOOL = "rocm-smi"
_CARD = re.compile(r"card\d+")
_LANES = re.compile(r"([\d.]+)\s*GT/s\s*x(\d{1,3})", re.ASCII)


def parse(text: str) -> GpuReading:
    """Read the JSON; text without it gives a reading with a ``failure`` and no GPUs."""
    found = table(document(text))
    cards = {name: _lower(table(card)) for name, card in found.items() if _CARD.fullmatch(name)}
    if not cards:
        return GpuReading(tool=_TOOL, failure=failure_in(text))
    system = _lower(table(found.get("system")))
    return GpuReading(
        tool=_TOOL,
        driver_version=said(system.get("driver version")),
        attached=len(cards),
        gpus=tuple(_gpu(cards[name]) for name in sorted(cards, key=lambda name: (len(name), name))),
    )


def _lower(card: Mapping[str, Any]) -> dict[str, Any]:
    return {key.lower().rstrip(":"): value for key, value in card.items()}


def _first(card: Mapping[str, Any], *keys: str) -> Any:
    return next((card[key] for key in keys if said(str(card.get(key, ""))) is not None), None)


def _gpu(card: Mapping[str, Any]) -> Gpu:
    device = re.fullmatch(r"0x([0-9a-f]{4})", str(_first(card, "device id", "gpu id")), re.IGNORECASE)
    draw = _first(
        card,
        "current socket graphics package power (w)",
        "average graphics package power (w)",
        "socket power (w)",
    )
    return Gpu(
        address=pci_address(card.get("pci bus")),
        name=said(_first(card, "device name", "card series")),
        architecture=said(card.get("gfx version")),
        pci_id=f"1002:{device[1].lower()}" if device else None,
        serial=said(card.get("serial number")),
        uuid=said(card.get("unique id")),
        vbios=said(card.get("vbios version")),
        memory_bytes=size_bytes(card.get("vram total memory (b)"), "B"),
        temperature_c=number(_first(card, "temperature (sensor junction) (c)", "temperature (sensor edge) (c)")),
        mig=NO_MIG,
        partition=said(card.get("compute partition")),
        link=_link(said(card.get("pcie clock level"))),
        power=Power(draw_w=number(draw), cap_w=number(card.get("max graphics package power (w)"))),
        clocks=Clocks(compute_mhz=_clock(card, "sclk"), memory_mhz=_clock(card, "mclk")),
    )


def _clock(card: Mapping[str, Any], name: str) -> float | None:
    """``(300Mhz)``, or the level with the clock behind it: ``0 (300Mhz)``."""
    found = re.search(
        r"\(?(\d{1,6})\s*mhz", str(_first(card, f"{name} clock speed", f"{name} clock level")), re.I | re.A
    )
    return float(found[1]) if found else None


def _link(level: str | None) -> PcieLink:
    found = _LANES.search(level or "")
    rate = number(found[1]) if found else None
    return PcieLink(generation=GENERATIONS.get(rate or 0.0), lanes=int(found[2])) if found else PcieLink()
