"""The accelerator's driver: installed and held whole, built for the kernel that will boot, loaded or waiting for it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from pyinfra import host
from pyinfra.api import FunctionCommand, StringCommand

from metalwright.accelerators.packages import AcceleratorSetup
from metalwright.errors import DeployError
from metalwright.facts.accelerator import KernelModules, ModuleState
from metalwright.facts.apt import PackageFamily
from metalwright.operations.apt import pinned
from metalwright.operations.differences import line, show_diff
from metalwright.operations.failure import answer, node_operation, step
from metalwright.operations.restart import ask_for_restart

Commands = Generator[StringCommand | FunctionCommand, None, None]
Setup = Mapping[str, Any] | None
"""``AcceleratorSetup`` as JSON; ``None`` for a node without accelerators, on which there is nothing to do."""

NOTHING = "the blueprint has no accelerator"
HOLD_FAMILY = (
    "dpkg-query --show --showformat '${{db:Status-Status}} ${{Package}} ${{Version}}\\n' | "
    "awk '$1 == \"installed\" && $3 ~ /^([0-9]+:)?{pattern}-/ {{print $2}}' | xargs --no-run-if-empty apt-mark hold"
)
REFRESH_INITRAMFS = "if command -v update-initramfs >/dev/null; then update-initramfs -u -k all; fi"
LOAD = (
    'for m in {modules}; do modprobe $m || {{ echo "modprobe $m failed: $(dmesg 2>/dev/null | '
    "grep -i -e {module} -e 'rejected by service' | tail -n 3)\" >&2; exit 1; }}; done"
)


@node_operation
def driver_packages(setup: Setup, *, allow_downgrade: bool = False) -> Commands:
    """Every package of the stack at its version; all that carries the driver's version held; the module built.

    It must be built for the kernel that will boot, whose headers are installed for it; else the host fails before
    anything is restarted.
    """
    if setup is None:
        host.noop(NOTHING)
        return
    wanted = AcceleratorSetup.model_validate(setup)
    state = module_state(wanted)
    headers = [f"linux-headers-{kernel}" for kernel in state["kernels"][-1:] if kernel not in state["headers"]]
    pins = [pin.to_json() for pin in wanted.pins]
    install = pinned._inner(pins=pins, present=[*wanted.present, *headers], allow_downgrade=allow_downgrade)
    has_installed = False
    for command in install:
        has_installed = True
        yield command
    family = answer(PackageFamily, version=wanted.version)
    if has_installed or not all(family.values()):
        yield StringCommand(HOLD_FAMILY.format(pattern=wanted.version.replace(".", "[.]")))
    if has_installed or not is_built(wanted, state):
        yield StringCommand(f"dkms autoinstall --kernelver {state['boots']}")
        yield step(_require_built, wanted)


def module_state(wanted: AcceleratorSetup) -> ModuleState:
    """What the node says of its modules and kernels now."""
    return answer(KernelModules, modules=[wanted.module, *wanted.rivals])


def is_built(wanted: AcceleratorSetup, state: ModuleState) -> bool:
    """Whether the wanted version is installed for the kernel that will boot."""
    built = state["built"].get(f"{wanted.module} {state['boots']}")
    return built is not None and _is_version(wanted, built.partition("-")[0])


def _is_version(wanted: AcceleratorSetup, told: str) -> bool:
    """AMD's module tells a shorter version than its package."""
    return told == wanted.version or (wanted.vendor == "amd" and told != "" and wanted.version.startswith(f"{told}."))


def _require_built(wanted: AcceleratorSetup) -> None:
    state = module_state(wanted)
    if is_built(wanted, state):
        return
    others = [f"{version} for {name}" for name, version in sorted(state["built"].items())]
    raise DeployError(
        f"no {wanted.module} module is built for the kernel that will boot",
        where=host.name,
        expected=f"{wanted.module} {wanted.version} for {state['boots']}",
        found=", ".join(others) or "no module for any kernel",
        hint=f"nothing was restarted; on the node: apt-get install linux-headers-{state['boots']}, then read make.log "
        f"under /var/lib/dkms/{wanted.module}",
    )


def restart_reason(wanted: AcceleratorSetup, state: ModuleState) -> str | None:
    """Why the driver can be in force only after a restart, or ``None``."""
    rival = next((name for name in wanted.rivals if name in state["loaded"]), None)
    if rival is not None:
        return f"the module {rival} holds the GPUs"
    loaded = state["loaded"].get(wanted.module)
    if loaded is not None and not _is_version(wanted, loaded):
        return f"{wanted.module} {loaded or 'of the kernel'} is loaded, {wanted.version} is installed"
    if state["running"] != state["boots"]:
        return f"kernel {state['running']} runs, {state['boots']} will boot"
    return None


@node_operation
def driver_loaded(setup: Setup) -> Commands:
    """The module of the wanted version is loaded, or a restart is asked for; a refused module fails the host."""
    if setup is None:
        host.noop(NOTHING)
        return
    wanted = AcceleratorSetup.model_validate(setup)
    state = module_state(wanted)
    reason = restart_reason(wanted, state)
    if reason is not None and reason in state["waits"]:
        host.noop(f"waits for a restart: {reason}")
    elif reason is not None:
        show_diff([line("restart", "none", reason)])
        if any(name in state["loaded"] for name in wanted.rivals):
            yield StringCommand(REFRESH_INITRAMFS)
        yield ask_for_restart(reason)
    elif wanted.module in state["loaded"]:
        host.noop(f"{wanted.module} {wanted.version} is loaded")
    else:
        show_diff([line(f"module {wanted.module}", "not loaded", wanted.version)])
        yield StringCommand(LOAD.format(modules=" ".join(wanted.load), module=wanted.module))
        yield step(_require_loaded, wanted)


def _require_loaded(wanted: AcceleratorSetup) -> None:
    loaded = module_state(wanted)["loaded"].get(wanted.module)
    if loaded is None or not _is_version(wanted, loaded):
        raise DeployError(
            f"{wanted.module} is not loaded as it was installed",
            where=host.name,
            expected=wanted.version,
            found=loaded if loaded else "not loaded, or of no version",
            hint=f"on the node: modinfo {wanted.module}; dmesg",
        )
