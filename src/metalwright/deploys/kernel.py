"""The kernel: settings, CPU governor, and that it stays the one that the image brought."""

from __future__ import annotations

from importlib.resources import files

from pyinfra import host
from pyinfra.api import deploy

from metalwright.deploys.rendering import rendered_files
from metalwright.node_files import GOVERNOR_UNIT, KEPT_KERNEL, SYSCTL_SETTINGS, kernel_files
from metalwright.operations import kernel as operations
from metalwright.operations.files import rendered

ARGUMENTS_PROGRAM = "/usr/local/lib/metalwright/kernel_arguments.py"


@deploy("Kernel", data_defaults={"sysctl": {}, "cpu_governor": None, "kernel_args": []})
def kernel() -> None:
    """``software.sysctl``, ``numa_balancing`` and ``cpu_governor`` in force now and after a boot; the kernel kept.

    ``software.kernel_args`` are set for the next boot; until then the node asks for a restart, which `metalwright
    provision` carries out. A driver is built for one kernel: a new kernel comes with a new image.
    """
    text = files("metalwright.operations.on_node").joinpath("kernel_arguments.py").read_text(encoding="utf-8")
    program = {"path": ARGUMENTS_PROGRAM, "text": text, "mode": "755"}
    sysctl, wanted = host.data.sysctl, host.data.cpu_governor
    rendered(name="Kernel settings and governor", files=[*rendered_files(kernel_files(sysctl, wanted)), program])
    operations.settings(name="Kernel settings in force", wanted=sysctl, path=SYSCTL_SETTINGS)
    operations.governor(name="CPU governor", wanted=wanted, unit=GOVERNOR_UNIT)
    operations.kept(name="Kernel stays", preferences=rendered_files([KEPT_KERNEL])[0])
    operations.arguments(name="Kernel arguments", wanted=host.data.kernel_args, program=ARGUMENTS_PROGRAM)
