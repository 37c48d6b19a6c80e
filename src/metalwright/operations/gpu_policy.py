"""Services and policy of GPUs: MIG, power cap, fabric and devices for containers, in force now and at every boot."""

from __future__ import annotations

import time
from collections.abc import Generator

from pyinfra import host
from pyinfra.api import FunctionCommand, StringCommand

from metalwright.accelerators.health import WantedGpus, faults
from metalwright.accelerators.packages import POLICY_UNIT, AcceleratorSetup
from metalwright.errors import DeployError
from metalwright.facts.accelerator import ContainerDevices, GpuState
from metalwright.facts.systemd import ServiceStates
from metalwright.operations.accelerator import NOTHING, Setup, module_state, restart_reason
from metalwright.operations.differences import line, show_diff
from metalwright.operations.failure import answer, node_operation, step
from metalwright.operations.restart import ask_for_restart
from metalwright.operations.systemd import running

Commands = Generator[StringCommand | FunctionCommand, None, None]
OURS = frozenset({"driver-version", "mig-pending", "mig-differs", "mig-unsupported", "fabric", "power-cap"})
"""Faults that the deploy itself answers for; acceptance judges the others."""

MIG_WAITS = "MIG waits for a reset of the GPUs"
MIG_MODES = "nvidia-smi --query-gpu=mig.mode.current,mig.mode.pending --format=csv,noheader"
_UNSETTLED = "Enabled, Disabled|Disabled, Enabled"
_ASK = ask_for_restart(MIG_WAITS)
FABRIC_S, POLL_S = 120.0, 5.0


@node_operation
def gpu_units(setup: Setup) -> Commands:
    """The stack's services run; nothing is started while the driver waits for a restart."""
    wanted = AcceleratorSetup.model_validate(setup) if setup is not None else None
    units = [unit for unit in wanted.units if unit != POLICY_UNIT] if wanted is not None else []
    if wanted is None or not units:
        host.noop(NOTHING if wanted is None else "the accelerator has no services")
    elif restart_reason(wanted, module_state(wanted)) is not None:
        host.noop("the services start after the restart")
    else:
        yield from running._inner(units=units)


@node_operation
def gpu_policy(setup: Setup) -> Commands:
    """MIG, power cap, fabric and CDI specification are as the blueprint says, now and after every boot.

    MIG that waits for a reset asks for a restart. What does not come true fails the host with the GPU's address.
    Without a policy, or without GPUs, the unit that an earlier blueprint brought is stopped and goes.
    """
    wanted = AcceleratorSetup.model_validate(setup) if setup is not None else None
    if wanted is None or not wanted.commands:
        yield from _without_policy()
        return
    state = module_state(wanted)
    if restart_reason(wanted, state) is not None:
        host.noop("the policy comes into force with the restart")
        return
    if MIG_WAITS in state["waits"]:
        host.noop(f"waits for a restart: {MIG_WAITS}")
        return
    found = _faults(wanted)
    if not found and _is_unit_well():
        host.noop("the policy is in force")
        return
    show_diff(line("policy of GPUs", fault, "as the blueprint says") for fault in found or ["not at every boot"])
    yield StringCommand(f"systemctl daemon-reload && systemctl enable {POLICY_UNIT}")
    yield StringCommand(f"systemctl restart {POLICY_UNIT}")
    if wanted.mig is not None:
        yield StringCommand(f"if {MIG_MODES} | grep --quiet --extended-regexp '{_UNSETTLED}'; then", _ASK, "; fi")
    yield step(_require_policy, wanted)


def _without_policy() -> Commands:
    """What an earlier blueprint set at every boot ends; the GPUs themselves forget it at the next one."""
    state = answer(ServiceStates, units=[POLICY_UNIT]).get(POLICY_UNIT)
    if state is None or not state["is_enabled"]:
        host.noop("the blueprint has no policy for GPUs")
        return
    show_diff([line("policy of GPUs", "set at every boot", "none")])
    yield StringCommand(f"systemctl disable --now {POLICY_UNIT} && rm -f /etc/systemd/system/{POLICY_UNIT}")
    yield StringCommand("systemctl daemon-reload")


def _is_unit_well() -> bool:
    state = answer(ServiceStates, units=[POLICY_UNIT]).get(POLICY_UNIT)
    return state is not None and state["fault"] is None and state["is_enabled"]


def _faults(wanted: AcceleratorSetup) -> list[str]:
    """In words, each beginning with its code."""
    expected = WantedGpus(mig=wanted.mig, has_fabric=wanted.has_fabric, power_cap_w=wanted.power_cap_w)
    reading = answer(GpuState, vendor=wanted.vendor)
    found = [item for item in faults(reading, expected) if reading.failure is not None or item.code in OURS]
    words = [f"{item.code}: {item.gpu or 'GPUs'}: {item.found}, not {item.expected}" for item in found]
    return [*words, *_cdi_faults(wanted)]


def _cdi_faults(wanted: AcceleratorSetup) -> list[str]:
    if wanted.cdi is None:
        return []
    seen = answer(ContainerDevices, path=wanted.cdi)
    if not seen["is_there"]:
        return [f"cdi: {wanted.cdi} is not there"]
    return [f"cdi: {wanted.cdi} names {path}, which is gone" for path in seen["missing"]]


def _require_policy(wanted: AcceleratorSetup) -> None:
    """The fabric takes its time; MIG may need a reset, which a restart brings."""
    deadline = time.monotonic() + FABRIC_S
    found = _faults(wanted)
    while found and all(fault.startswith("fabric") for fault in found) and time.monotonic() < deadline:
        time.sleep(POLL_S)
        found = _faults(wanted)
    is_waiting = MIG_WAITS in module_state(wanted)["waits"]
    if found and not (is_waiting and all(fault.startswith("mig-pending") for fault in found)):
        raise DeployError(
            "the policy for GPUs is not in force",
            where=host.name,
            expected="; ".join(wanted.commands),
            found="; ".join(found[:4]),
            hint=f"on the node: journalctl --unit {POLICY_UNIT}",
        )
