"""The kernel of a node: which one runs, with which settings and arguments, and which packages would replace it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypedDict

from pyinfra.api import QuoteString, StringCommand
from pyinfra.api.exceptions import FactProcessError

from metalwright.facts.answers import NodeFact, all_marked, marked


class Kernel(TypedDict):
    """``release`` as ``uname -r`` tells it; ``packages``: each installed ``linux-*`` package → whether it is held."""

    release: str
    packages: dict[str, bool]


class KernelPackages(NodeFact[Kernel]):
    """The running kernel, and the packages of kernels that are installed."""

    def command(self) -> str:
        """Marked lines; ``dpkg-query`` fails where no package matches."""
        query = "dpkg-query --show --showformat 'kernel:${Package}|${db:Status-Abbrev}\\n'"
        return f"{query} 'linux-image-*' 'linux-headers-*' 'linux-modules-*' 2>/dev/null; echo \"release:$(uname -r)\""

    def process(self, output: list[str]) -> Kernel:
        """The abbreviation is wanted and found state, as ``hi``."""
        rows = [line.split("|") for line in all_marked(output, "kernel:")]
        held = {name: state[:1] == "h" for name, state in rows if state[1:2] == "i"}
        return {"release": marked(output, "release:"), "packages": held}


class Sysctls(NodeFact[dict[str, str | None]]):
    """Kernel settings by name; None where this kernel has no such setting."""

    def command(self, names: Sequence[str]) -> StringCommand:
        """One marked line a name."""
        words = [QuoteString(name) for name in names]
        read = 'value=$(sysctl --values "$name" 2>/dev/null) && echo "set:$name=$value" || echo "unset:$name"'
        return StringCommand("for name in", *words, f"; do {read}; done")

    def process(self, output: list[str]) -> dict[str, str | None]:
        """Tabs between numbers become one space."""
        found: dict[str, str | None] = dict.fromkeys(all_marked(output, "unset:"))
        for line in all_marked(output, "set:"):
            name, _, value = line.partition("=")
            found[name] = " ".join(value.split())
        if not found:
            raise FactProcessError(f"sysctl gave no answer: {output[-3:]}")
        return found


class Governors(NodeFact[tuple[str, ...]]):
    """The governor of each frequency policy; empty on a machine whose frequency the system does not set."""

    def command(self) -> str:
        """JSON on one marked line."""
        files = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
        return f"echo \"governors:$(cat {files} 2>/dev/null | tr '\\n' ' ')\""

    def process(self, output: list[str]) -> tuple[str, ...]:
        """Words."""
        return tuple(marked(output, "governors:").split())


class BootArguments(TypedDict):
    """Our arguments in the ``next`` boot and of the ``running`` kernel.

    ``loader`` gives them to the kernel; where there is none that is known, ``problem`` says why.
    """

    loader: str
    next: list[str]
    running: list[str]
    problem: str


class KernelArguments(NodeFact[BootArguments]):
    """What the kernel was given, and what the boot loader will give it; read by our own program on the node."""

    def command(self, program: str) -> str:
        """Without the program nothing of ours was ever set."""
        nothing = '{"loader": "unknown", "next": [], "running": [], "problem": ""}'
        text = f"$(python3 {program} show)"
        return f"if [ -e {program} ]; then echo \"arguments:{text}\"; else echo 'arguments:{nothing}'; fi"

    def process(self, output: list[str]) -> BootArguments:
        """One line of JSON."""
        try:
            found: BootArguments = json.loads(marked(output, "arguments:"))
        except ValueError as error:
            raise FactProcessError(f"no answer about kernel arguments: {output[-3:]}") from error
        return found
