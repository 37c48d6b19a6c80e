"""``nvidia-smi -q -x`` (pure). Element names of the drivers 450 to 590 are known; others are left out."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from metalwright.accelerators.gpu import (
    Clocks,
    Fabric,
    Gpu,
    GpuReading,
    MemoryErrors,
    Mode,
    PcieLink,
    Power,
    Repair,
)
from metalwright.accelerators.quantities import has_none, number, pci_address, said, size_bytes, switch, whole
from metalwright.accelerators.tool_failures import failure_in

QUERY = "nvidia-smi -q -x"
"""The command whose output :func:`parse` reads."""

_TOOL = "nvidia-smi"
_REASONS = ("clocks_event_reasons", "clocks_throttle_reasons")
_HARMLESS = frozenset({"gpu_idle", "applications_clocks_setting", "display_clocks_setting"})


def parse(text: str) -> GpuReading:
    """Read the XML. Text that is no such document, or is cut off, gives a reading with a ``failure`` and no GPUs."""
    start = text.find("<?xml")
    start = text.find("<nvidia_smi_log") if start < 0 else start
    root = _root(text[start:]) if start >= 0 else None
    if root is None:
        return GpuReading(tool=_TOOL, failure=failure_in(text))
    gpus = tuple(map(_gpu, root.findall("gpu")))
    attached = whole(root.findtext("attached_gpus"))
    return GpuReading(
        tool=_TOOL,
        driver_version=said(root.findtext("driver_version")),
        platform_version=said(root.findtext("cuda_version")),
        attached=attached,
        gpus=gpus,
        failure=None if gpus or attached == 0 else failure_in(text[:start] or "a document without a GPU"),
    )


def _root(text: str) -> ElementTree.Element | None:
    if "<!ENTITY" in text:
        return None
    end = text.rfind("</nvidia_smi_log>")  # a tool that fails half-way adds its complaint behind the document
    try:
        root = ElementTree.fromstring(text[: end + len("</nvidia_smi_log>")] if end >= 0 else text)  # noqa: S314 - no entities, see above
    except (ElementTree.ParseError, ValueError):
        return None
    return root if root.tag == "nvidia_smi_log" else None


def _gpu(node: ElementTree.Element) -> Gpu:
    text = node.findtext
    return Gpu(
        address=pci_address(node.get("id") or text("pci/pci_bus_id")),
        name=said(text("product_name")),
        architecture=said(text("product_architecture")),
        pci_id=_pci_id(text("pci/pci_device_id")),
        serial=said(text("serial")),
        uuid=said(text("uuid")),
        vbios=said(text("vbios_version")),
        memory_bytes=size_bytes(text("fb_memory_usage/total")),
        temperature_c=number(text("temperature/gpu_temp")),
        is_persistent=switch(text("persistence_mode")),
        ecc=_mode(node, "ecc"),
        mig=_mode(node, "mig"),
        link=_link(node),
        errors=_errors(node),
        repair=_repair(node),
        power=_power(node),
        clocks=_clocks(node),
        fabric=Fabric(state=said(text("fabric/state")), status=said(text("fabric/status"))),
        throttling=_throttling(node),
        recovery=said(text("gpu_recovery_action")),
        is_lost="gpu is lost" in (text("product_name") or text("uuid") or "").lower(),
    )


def _pci_id(text: str | None) -> str | None:
    """``233010DE`` or ``0x233010DE``: device, then vendor."""
    found = re.fullmatch(r"(?:0x)?([0-9A-Fa-f]{4})([0-9A-Fa-f]{4})", (text or "").strip(), re.ASCII)
    return f"{found[2]}:{found[1]}".lower() if found else None


def _mode(node: ElementTree.Element, name: str) -> Mode:
    """``ecc_mode`` or ``mig_mode``: ``N/A`` says that the GPU has none, an element that is missing says nothing."""
    now, then = (node.findtext(f"{name}_mode/{when}_{name}") for when in ("current", "pending"))
    return Mode(current=switch(now), pending=switch(then), is_absent=has_none(now) and has_none(then))


def _link(node: ElementTree.Element) -> PcieLink:
    where = "pci/pci_gpu_link_info"
    return PcieLink(
        generation=whole(node.findtext(f"{where}/pcie_gen/current_link_gen")),
        generation_max=whole(node.findtext(f"{where}/pcie_gen/max_link_gen")),
        lanes=whole(node.findtext(f"{where}/link_widths/current_link_width")),
        lanes_max=whole(node.findtext(f"{where}/link_widths/max_link_width")),
    )


def _errors(node: ElementTree.Element) -> MemoryErrors:
    return MemoryErrors(
        corrected=_counted(node, "volatile", "corr"),
        uncorrected=_counted(node, "volatile", "uncorr"),
        corrected_ever=_counted(node, "aggregate", "corr"),
        uncorrected_ever=_counted(node, "aggregate", "uncorr"),
    )


def _counted(node: ElementTree.Element, since: str, kind: str) -> int | None:
    """The sum over SRAM and DRAM (new drivers), or the total of single or double bit errors (old ones)."""
    group = node.find(f"ecc_errors/{since}")
    if group is None:
        return None
    names = re.compile(rf"[sd]ram_{kind}(ectable)?(_parity|_secded)?")
    counts = [whole(item.text) for item in group if names.fullmatch(item.tag)]
    known = [count for count in counts if count is not None]
    old = group.findtext(f"{'single_bit' if kind == 'corr' else 'double_bit'}/total")
    return sum(known) if known else whole(old)


def _repair(node: ElementTree.Element) -> Repair:
    text, rows = node.findtext, "remapped_rows/remapped_row"
    pages = [
        whole(text(f"retired_pages/{kind}/retired_count"))
        for kind in ("multiple_single_bit_retirement", "double_bit_retirement")
    ]
    known = [count for count in pages if count is not None]
    pending = text("retired_pages/pending_retirement") or text("retired_pages/pending_blacklist")
    return Repair(
        remapped_corrected=whole(text(f"{rows}_corr")),
        remapped_uncorrected=whole(text(f"{rows}_unc")),
        is_remap_pending=switch(text(f"{rows}_pending")),
        has_remap_failed=switch(text(f"{rows}_failure")),
        retired_pages=sum(known) if known else None,
        is_retirement_pending=switch(pending),
    )


def _power(node: ElementTree.Element) -> Power:
    """``power_readings`` until driver 530, ``gpu_power_readings`` after it."""
    group = node.find("gpu_power_readings")
    group = node.find("power_readings") if group is None else group
    if group is None:
        return Power()
    return Power(
        draw_w=_first(group, "power_draw", "instant_power_draw", "average_power_draw"),
        cap_w=_first(group, "enforced_power_limit", "current_power_limit", "power_limit"),
        cap_default_w=_first(group, "default_power_limit"),
        cap_min_w=_first(group, "min_power_limit"),
        cap_max_w=_first(group, "max_power_limit"),
    )


def _first(group: ElementTree.Element, *names: str) -> float | None:
    return next((value for value in (number(group.findtext(name)) for name in names) if value is not None), None)


def _clocks(node: ElementTree.Element) -> Clocks:
    return Clocks(
        compute_mhz=number(node.findtext("clocks/sm_clock")),
        compute_max_mhz=number(node.findtext("max_clocks/sm_clock")),
        memory_mhz=number(node.findtext("clocks/mem_clock")),
        memory_max_mhz=number(node.findtext("max_clocks/mem_clock")),
    )


def _throttling(node: ElementTree.Element) -> tuple[str, ...] | None:
    """Active reasons but those that lower clocks on purpose (idle, clocks that somebody set)."""
    group = next((found for found in map(node.find, _REASONS) if found is not None), None)
    if group is None:
        return None
    states = {re.sub(r"^clocks_(event|throttle)_reason_", "", item.tag): switch(item.text) for item in group}
    if not any(state is not None for name, state in states.items() if name.startswith("hw_")):
        return None  # without these a slow GPU would seem to have no reason
    return tuple(sorted(name for name, state in states.items() if state and name not in _HARMLESS))
