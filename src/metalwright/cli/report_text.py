"""A hardware report as a person reads it. Unknown is shown as ``?``, an empty list as *none*."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from metalwright.model.report import HardwareReport

MAX_PROBLEMS = 20


def print_report(out: Console, report: HardwareReport) -> None:
    """Print one report: what it is, its parts a line a kind, and its problems."""
    system, bmc, chassis = report.system, report.bmc, report.chassis
    out.print(Text(f"{shown(system.manufacturer)} {shown(system.model)}, system {system.id}", style="bold"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    rows: list[tuple[str, str]] = [
        ("serial", f"{shown(system.serial)}  (chassis {shown(chassis.serial)}, SKU {shown(system.sku)})"),
        ("uuid", shown(system.uuid)),
        ("power", shown(system.power_state)),
        ("BIOS", shown(system.bios_version)),
        ("BMC", f"{shown(bmc.firmware_version)} at {shown(bmc.address)}, MAC {listed(bmc.macs)}"),
        ("CPUs", grouped(report.cpus, lambda cpu: f"{shown(cpu.model)}, {shown(cpu.cores)} cores")),
        ("memory", f"{shown(report.memory.total_gib)} GiB: {_dimms(report)}"),
        ("GPUs", grouped(report.gpus, lambda gpu: f"{shown(gpu.model)}")),
        ("NICs", grouped(report.nics, lambda nic: f"{shown(nic.model)} with {len(nic.ports) or '?'} ports")),
        ("MACs", listed([port.mac for nic in report.nics or () for port in nic.ports if port.mac is not None])),
        ("drives", grouped(report.drives, _drive)),
        ("PSUs", grouped(report.psus, lambda psu: f"{shown(psu.model)}, {shown(psu.watts)} W")),
        ("firmware", "?" if report.firmware is None else f"{len(report.firmware)} items (--json lists them)"),
    ]
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(value))
    out.print(table)
    for problem in report.problems[:MAX_PROBLEMS]:
        out.print(Text(f"  ! {problem.uri}: {problem.what}"))
    if len(report.problems) > MAX_PROBLEMS:
        out.print(Text(f"  … and {len(report.problems) - MAX_PROBLEMS} more problems (--json lists them)"))


def shown(value: Any) -> str:
    """A value, or ``?`` for unknown."""
    if value is None:
        return "?"
    return f"{value:g}" if isinstance(value, float) else str(value)


def listed(values: Sequence[str] | None) -> str:
    """A list in one line."""
    return "?" if values is None else ", ".join(values) or "none"


def grouped(parts: Sequence[Any] | None, describe: Any) -> str:
    """Equal parts together: ``8 × NVIDIA H100 SXM 80GB``."""
    if parts is None:
        return "?"
    counts = Counter(describe(part) for part in parts)
    return "; ".join(f"{count} × {text}" for text, count in counts.items()) or "none"


def _dimms(report: HardwareReport) -> str:
    return grouped(report.memory.dimms, lambda dimm: f"{shown(dimm.size_gib)} GiB {shown(dimm.type)}")


def _drive(drive: Any) -> str:
    return f"{shown(drive.model)} ({shown(drive.protocol)}, {_size(drive.size_bytes)})"


def _size(size_bytes: int | None) -> str:
    if size_bytes is None:
        return "?"
    return f"{size_bytes / 1e12:.2f} TB" if size_bytes >= 1e11 else f"{size_bytes / 1e9:.1f} GB"
