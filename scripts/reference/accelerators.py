"""The page of accelerators: what was captured and what was made up, and the tables that ship with the package."""

from __future__ import annotations

from collections import defaultdict

from tests.accelerators.texts import names, origin

from metalwright.accelerators.table import DriverRow, GpuRow, container_rows, driver_rows, gpu_rows
from metalwright.accelerators.xid import meanings

_LEAD = """\
# Accelerators

What the vendors' tools say is read by parsers that take any text: what a text does not say is unknown, never zero.
No GPU was at hand when they were written. They are tested against texts of two kinds, which the first line of each
file in `tests/accelerators/fixtures` tells apart: captured from real machines by somebody who published them, or made
up after the vendor's documentation.

"""
_XIDS = """
## Errors in the kernel log

What the driver logs as *Xid*, and what to do first. The same code again after that is a case for the vendor. A code
that is not here counts as a warning and as the vendor's case. Rows marked * were written with the source's entry for
that code at hand; the other rows are operators' common knowledge, and the source is where to check them.

"""
_STACKS = """
## Driver stacks

`metalwright check` judges each blueprint's `software.accelerator`, container runtime and GPU policy by these tables.
What they contradict is refused with the nearest version that works; what they do not know is said as unknown. A GPU
that is not here is refused until the blueprint names its `kernel_modules`. Rows marked * were written with the source
at hand, for what decides; first drivers, caps and the other rows are common knowledge, and the source is where to check
them.

"""
_ACTIONS = {
    "none": "watch it",
    "restart-workload": "restart the workload",
    "reset-gpu": "drain, reset the GPU",
    "reseat": "drain, power off, look at cables and seat",
    "reboot": "drain, reboot",
    "power-cycle": "drain, power cycle",
    "update-software": "update the software",
    "replace": "drain, vendor's case",
}


def render() -> str:
    """The page, as Markdown."""
    return _LEAD + _fixtures() + _STACKS + _gpus() + _drivers() + _containers() + _XIDS + _xids()


def _gpus() -> str:
    head = (
        "| GPU | architecture | kernel modules | driver from | last branch | NVSwitch | MIG | cap, W | |\n" + "|---" * 9
    )
    return "\n".join([head + "|", *map(_gpu, gpu_rows())]) + "\n\n"


def _gpu(row: GpuRow) -> str:
    switch = (
        f"from {row.nvswitch_from} GPUs{', subnet manager' if row.subnet_manager else ''}" if row.nvswitch_from else ""
    )
    cells = (
        f"{row.name}{_mark(row.is_read)}", row.architecture, row.modules, row.driver_min, row.last_branch or "", switch,
        "yes" if row.has_mig else "", f"{row.power_cap_w[0]}–{row.power_cap_w[1]}", f"[source]({row.source})",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _drivers() -> str:
    head = (
        "| driver branch | kernel modules | CUDA or ROCm | fabric manager | kernels tested to | supported until | |\n"
    )
    return "\n".join([head + "|---" * 7 + "|", *map(_driver, driver_rows())]) + "\n\n"


def _driver(row: DriverRow) -> str:
    platform = f"CUDA {row.cuda}" if row.cuda else f"ROCm {', '.join(row.rocm)}"
    cells = (
        f"{row.vendor} {row.branch}{_mark(row.is_read)}", ", ".join(row.modules), platform, row.fabric_manager or "",
        row.kernel_tested or "unknown", row.ends or "unknown", f"[source]({row.source})",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _containers() -> str:
    rows = [
        f"| {row.name}{_mark(row.is_read)} | {row.oldest} | {row.can} | [source]({row.source}) |"
        for row in container_rows().values()
    ]
    return "\n".join(["| program | from | because it can | |", "|---|---|---|---|", *rows]) + "\n"


def _mark(is_read: bool) -> str:
    return " *" if is_read else ""


def _fixtures() -> str:
    kinds: dict[str, dict[str, int]] = defaultdict(lambda: {"captured": 0, "synthetic": 0})
    for name in names():
        tool = next(tool for tool in _TOOLS if name.startswith(tool))
        kinds[tool][origin(name).partition(":")[0]] += 1
    rows = [f"| {_TOOLS[tool]} | {count['captured']} | {count['synthetic']} |" for tool, count in sorted(kinds.items())]
    total = [sum(count[kind] for count in kinds.values()) for kind in ("captured", "synthetic")]
    head = "| output of | captured | synthetic |\n|---|---|---|\n"
    return head + "\n".join([*rows, f"| **all** | **{total[0]}** | **{total[1]}** |"]) + "\n"


_TOOLS = {
    "nvidia-smi": "`nvidia-smi -q -x`",
    "rocm-smi": "`rocm-smi --json`",
    "amd-smi": "`amd-smi --json`",
    "dcgm": "`dcgmi diag -j`",
    "nccl": "NCCL's and RCCL's tests",
    "kernel-log": "kernel log",
}


def _xids() -> str:
    rows = [
        f"| {row.code}{' *' if row.is_read else ''} | {row.severity} | {row.meaning} | {_ACTIONS[row.action]} "
        f"| [source]({row.source}) |"
        for row in meanings().values()
    ]
    return "| Xid | severity | meaning | first | |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
