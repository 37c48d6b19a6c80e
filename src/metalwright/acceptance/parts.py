"""What a node's operating system counts of its parts, before and after its power was off (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from metalwright.acceptance.burn_in.measurement import TOOL_PATH
from metalwright.model.certificate import TestResult

COUNTS: Mapping[str, str] = MappingProxyType(
    {
        "PCI devices": "ls /sys/bus/pci/devices | wc -l",
        "GPUs of the driver": "{ nvidia-smi -L || rocm-smi --showid; } 2>&1 | grep -c '^GPU[ \\[]'",
        "network ports": "ls -d /sys/class/net/*/device | wc -l",
        "RDMA devices": "ls /sys/class/infiniband 2>&1 | grep -vc 'cannot access'",
        "disks": "lsblk --nodeps --noheadings --output TYPE | grep -c disk",
        "memory in GiB": "awk '/^MemTotal:/ {printf \"%.0f\\n\", $2 / 1048576}' /proc/meminfo",
        "processors": "nproc --all",
    }
)
"""Part → the shell line that counts it; a line that counts none ends with another status and still prints 0."""


def count_command() -> str:
    """One shell line that prints every count."""
    return TOOL_PATH + "; ".join(f"echo {name.replace(' ', '_')}=$({line})" for name, line in COUNTS.items())


def read_counts(text: str) -> dict[str, int]:
    """Part → count; what is no number is left out."""
    rows = (line.partition("=") for line in text.splitlines())
    return {name.replace("_", " "): int(count) for name, _, count in rows if count.strip().isdecimal()}


def compare_counts(
    name: str, before: Mapping[str, int], after: Mapping[str, int], boots: tuple[str | None, str | None]
) -> TestResult:
    """PASS when the node really booted anew and every part is there again; what was not counted is NOT-RUN."""
    if None in boots or boots[0] == boots[1]:
        return TestResult(
            name=name, verdict="NOT-RUN", why=f"the node did not boot anew: boot {boots[0]}, then {boots[1]}"
        )
    missing = COUNTS.keys() - before.keys() | COUNTS.keys() - after.keys()
    if missing:
        return TestResult(name=name, verdict="NOT-RUN", why=f"not counted: {', '.join(sorted(missing))}")
    changed = [f"{part}: {before[part]} before, {after[part]} after" for part in COUNTS if before[part] != after[part]]
    if changed:
        return TestResult(name=name, verdict="FAIL", why="; ".join(changed))
    shown = ", ".join(f"{after[part]} {part}" for part in COUNTS)
    return TestResult(name=name, verdict="PASS", why=f"boot {boots[0]}, then {boots[1]}: {shown}")
