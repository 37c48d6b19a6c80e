"""BIOS attributes: compiled against the registry of this BIOS version, written for the next boot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.bios import AttributeRegistry, BiosPlan, compile_plan, infer_registry, parse_registry
from metalwright.errors import BiosError
from metalwright.facts.redfish import BiosAttributes, BiosRegistry, Power
from metalwright.operations.redfish.power import restart_commands
from metalwright.operations.redfish.requests import (
    Commands,
    contained,
    expect,
    look,
    patch,
    refuse,
    show_diff,
    unreadable,
)

APPLY_TIME = "@Redfish.SettingsApplyTime"
Value = str | int | bool


@operation()
@contained
def attributes(desired: Mapping[str, Value]) -> Commands:
    """Write the attributes that differ to the settings resource; they come into force at the next reset.

    Refused before anything is sent: unknown, read-only or locked attributes and values that the registry does not
    allow. Attributes that wait already are not written again. Where some can only be written after others are in
    force, the first stage is written; the next run goes on.
    """
    seen = look(BiosAttributes) if desired else {}
    if not desired:
        host.noop("no BIOS attributes are declared")
        return
    if seen is None:
        yield unreadable("its BIOS attributes")
        return
    try:
        plan = _plan(seen, look(BiosRegistry), desired)
    except BiosError as error:
        yield refuse(error)
        return
    if not plan.changes:
        waiting = f"; {len(plan.pending)} wait for a reset" if plan.pending else ""
        host.noop(f"BIOS attributes are as declared{waiting}")
        return
    if seen["settings_uri"] is None:
        yield refuse("this BMC offers no place for BIOS changes")
        return
    show_diff(plan.lines)
    yield from _write(seen, plan.stages[0])


@operation()
@contained
def applied(desired: Mapping[str, Value]) -> Commands:
    """Restart the host when declared attributes wait for a reset; a host that is off is started."""
    seen = look(BiosAttributes) if desired else {}
    if seen is None:
        yield unreadable("its BIOS attributes")
        return
    try:
        is_waiting = bool(desired) and _plan(seen, look(BiosRegistry), desired).is_reboot_needed
    except BiosError as error:
        yield refuse(error)
        return
    if not is_waiting:
        host.noop("no BIOS attribute waits for a reset")
        return
    yield from restart_commands(look(Power))


def _write(seen: Mapping[str, Any], stage: Mapping[str, Any]) -> Commands:
    """Yield the PATCH, and its read-back where the settings resource shows what waits."""
    body: dict[str, Any] = {"Attributes": dict(stage)}
    if "OnReset" in seen["apply_times"]:
        body[APPLY_TIME] = {"ApplyTime": "OnReset"}
    yield patch(seen["settings_uri"], body)
    if seen["pending"]:
        yield expect(seen["settings_uri"], {"Attributes": dict(stage)})


def _plan(seen: Mapping[str, Any], registry: Mapping[str, Any] | None, desired: Mapping[str, Value]) -> BiosPlan:
    """Compile; without a registry the present values tell types and names. Raises BiosError."""
    known: AttributeRegistry = parse_registry(registry) if registry else infer_registry(seen["attributes"])
    return compile_plan(known, desired, seen["attributes"], seen["pending"])
