"""Services that run, and still run a moment later."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence

from pyinfra import host
from pyinfra.api import FunctionCommand, QuoteString, StringCommand

from metalwright.errors import DeployError
from metalwright.facts.systemd import ServiceStates, UnitState
from metalwright.operations.differences import line, show_diff
from metalwright.operations.failure import answer, node_operation, step

POLL_S = 1.0
SETTLE_S = 3.0
LIMIT_S = 90.0


@node_operation
def running(
    units: Sequence[str], *, settle_s: float = SETTLE_S, limit_s: float = LIMIT_S
) -> Generator[StringCommand | FunctionCommand, None, None]:
    """Each unit starts at boot, is well by state, sub-state and result, and has been so for ``settle_s`` seconds.

    A unit that starts gets ``limit_s`` seconds; one that is not well after its start, or dies, fails the host.
    """
    if not units:
        host.noop("no unit is asked for")
        return
    states = answer(ServiceStates, units=list(units))
    stopped = [unit for unit in units if not _is_up(states.get(unit))]
    show_diff(line(f"service {unit}", _found(states.get(unit)), "running, starts at boot") for unit in stopped)
    if stopped:
        masked = [unit for unit in stopped if unit in states and states[unit]["is_masked"]]
        if masked:
            yield StringCommand("systemctl unmask", *map(QuoteString, masked))
        yield StringCommand("systemctl enable --now", *map(QuoteString, stopped))
    if stopped or not _are_settled(states, settle_s):
        yield step(_wait_until_settled, list(units), settle_s, limit_s)
    else:
        host.noop("all units are well")


def _is_up(state: UnitState | None) -> bool:
    return state is not None and state["is_enabled"] and (state["fault"] is None or state["is_starting"])


def _found(state: UnitState | None) -> str:
    if state is None:
        return "absent"
    return state["fault"] or "does not start at boot"


def _are_settled(states: dict[str, UnitState], settle_s: float) -> bool:
    return all(_is_settled(state, settle_s) for state in states.values())


def _is_settled(state: UnitState, settle_s: float) -> bool:
    return state["fault"] is None and (state["is_finished"] or state["active_s"] >= settle_s)


def _wait_until_settled(units: Sequence[str], settle_s: float, limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    first = states = answer(ServiceStates, units=list(units))
    while not _are_settled(states, settle_s):
        for unit, state in states.items():
            dies = state["restarts"] > first[unit]["restarts"] or (state["fault"] and not state["is_starting"])
            late = time.monotonic() > deadline and not _is_settled(state, settle_s)
            if dies or late:
                raise _not_running(unit, state, settle_s)
        time.sleep(POLL_S)
        states = answer(ServiceStates, units=list(units))


def _not_running(unit: str, state: UnitState, settle_s: float) -> DeployError:
    return DeployError(
        f"{unit} does not run",
        where=host.name,
        expected=f"active for {settle_s:g} s",
        found=state["fault"] or f"active for {state['active_s']:.0f} s after {state['restarts']} restarts",
        hint=f"on the node: journalctl --unit {unit}",
    )
