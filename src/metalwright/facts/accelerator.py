"""What a node says of its kernel modules, of the kernel that it will boot, and of its GPUs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypedDict

from pyinfra.api import QuoteString, StringCommand
from pyinfra.api.exceptions import FactProcessError

from metalwright.accelerators import nvidia_smi, rocm_smi
from metalwright.accelerators.gpu import GpuReading
from metalwright.facts.answers import NodeFact, all_marked, marked
from metalwright.model.node_paths import RESTART_REASONS

_DKMS = re.compile(r"(?P<name>[\w.-]+)(?:/|, )(?P<version>[^,]+), (?P<kernel>[^,]+), [^:]+: (?P<state>\w+)")
"""``nvidia/580.95.05, 6.1.0-41-amd64, x86_64: installed``; older versions of dkms write a comma for the stroke."""


class ModuleState(TypedDict):
    """``running``: the kernel that runs. ``boots``: the one that the next start takes, the newest in /boot.

    ``kernels``: those in /boot. ``loaded``: module → its version (empty: it tells none). ``built``: ``module kernel`` →
    version, as DKMS installed it. ``headers``: kernels whose headers are here. ``waits``: noted reasons for a restart.
    """

    running: str
    boots: str
    kernels: tuple[str, ...]
    loaded: dict[str, str]
    built: dict[str, str]
    headers: tuple[str, ...]
    waits: tuple[str, ...]


class KernelModules(NodeFact[ModuleState]):
    """Which modules are loaded and built, for the running kernel and for the one that will boot."""

    def command(self, modules: Sequence[str]) -> StringCommand:
        """Marked lines; ``modules`` are the driver's and its rivals."""
        loaded = f"for m in {' '.join(modules)}; do [ -d /sys/module/$m ] && "
        parts = [
            'echo "running:$(uname -r)"',
            'for k in /boot/vmlinuz-*; do [ -e "$k" ] && echo "kernel:${k#/boot/vmlinuz-}"; done',
            'for h in /lib/modules/*/build; do [ -e "$h/." ] && h=${h%/build} && echo "headers:${h##*/}"; done',
            f'{loaded}echo "loaded:$m $(cat /sys/module/$m/version 2>/dev/null)"; done',
            "dkms status 2>/dev/null | sed 's/^/dkms:/'",
            f"sed 's/^/waits:/' {RESTART_REASONS} 2>/dev/null",
            "echo modules-end",
        ]
        return StringCommand("; ".join(parts))

    def process(self, output: list[str]) -> ModuleState:
        """No closing line is no answer and fails the host."""
        if "modules-end" not in output:
            raise FactProcessError(f"the kernel's state gave no answer: {output[-3:]}")
        running = marked(output, "running:")
        kernels = sorted(all_marked(output, "kernel:"), key=kernel_order)
        pairs = [line.partition(" ") for line in all_marked(output, "loaded:")]
        return {
            "running": running,
            "boots": kernels[-1] if kernels else running,
            "kernels": tuple(kernels),
            "loaded": {name: version for name, _, version in pairs},
            "built": dict(self._built(output)),
            "headers": all_marked(output, "headers:"),
            "waits": all_marked(output, "waits:"),
        }

    def _built(self, output: list[str]) -> list[tuple[str, str]]:
        rows = [_DKMS.match(line) for line in all_marked(output, "dkms:")]
        return [
            (f"{row['name']} {row['kernel'].strip()}", row["version"].strip())
            for row in rows
            if row is not None and row["state"] == "installed"
        ]


def kernel_order(release: str) -> list[tuple[int, str]]:
    """The order of kernel releases: numbers by value.

    >>> sorted(["6.1.0-9-amd64", "6.1.0-41-amd64"], key=kernel_order)[-1]
    '6.1.0-41-amd64'
    """
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|[^\d]+", release)]


class GpuState(NodeFact[GpuReading]):
    """What the vendor's tool says of the GPUs; a tool that is not there or fails is a reading with its failure."""

    def command(self, vendor: str) -> str:
        """``nvidia-smi`` or ``rocm-smi``; its exit code is told by its words."""
        query = nvidia_smi.QUERY if vendor == "nvidia" else f"/opt/rocm/bin/{rocm_smi.QUERY}"
        return f"{{ {query}; }} 2>&1 | sed 's/^/gpu:/'; echo 'gpu-vendor:{vendor}'"

    def process(self, output: list[str]) -> GpuReading:
        """See the parsers of :mod:`metalwright.accelerators`."""
        vendors = all_marked(output, "gpu-vendor:")
        if not vendors:
            raise FactProcessError(f"the GPU tool gave no answer: {output[-3:]}")
        text = "\n".join(all_marked(output, "gpu:"))
        return nvidia_smi.parse(text) if vendors[0] == "nvidia" else rocm_smi.parse(text)


class DeviceSpecification(TypedDict):
    """``is_there``: the CDI specification exists; ``missing``: files of the host that it names and that are not."""

    is_there: bool
    missing: tuple[str, ...]


class ContainerDevices(NodeFact[DeviceSpecification]):
    """A CDI specification (YAML or JSON), and whether every file of the host that it names exists."""

    def command(self, path: str) -> StringCommand:
        """Marked lines and a closing one."""
        pattern = r's/.*"\{0,1\}hostPath"\{0,1\}: *"\{0,1\}\([^",]*\).*/\1/p'
        test = 'while read -r file; do [ -e "$file" ] || echo "missing:$file"; done'
        return StringCommand(
            "[ -e", QuoteString(path), "] && echo cdi-there; sed -n", QuoteString(pattern), QuoteString(path),
            f"2>/dev/null | sort -u | {test}; echo cdi-end",
        )  # fmt: skip

    def process(self, output: list[str]) -> DeviceSpecification:
        """No closing line is no answer."""
        if "cdi-end" not in output:
            raise FactProcessError(f"the CDI specification gave no answer: {output[-3:]}")
        return {"is_there": "cdi-there" in output, "missing": all_marked(output, "missing:")}
