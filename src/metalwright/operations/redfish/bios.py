"""BIOS attributes: compiled against the registry of this BIOS version, written, brought into force, read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyinfra import logger
from pyinfra.api.operation import operation
from pyinfra.api.state import StateStage
from pyinfra.context import host, state

from metalwright.bios import (
    AttributeRegistry,
    BiosPlan,
    boot_mode_problem,
    compile_plan,
    infer_registry,
    is_critical,
    parse_registry,
    undeclared_changes,
)
from metalwright.bios.step import BiosStep, describe_job, next_step
from metalwright.bios.values import as_shown, is_same
from metalwright.errors import DeployError
from metalwright.facts.redfish import BiosAttributes, BiosJobs, BiosRegistry, Power
from metalwright.operations.redfish.power import restart_commands
from metalwright.operations.redfish.requests import (
    Commands,
    absent,
    contained,
    delete,
    expect,
    look,
    patch,
    post,
    refuse,
    show_diff,
    unreadable,
)
from metalwright.redfish.adaptations import APPLY_TIME

CLEAR_ALL = {"JobID": "JID_CLEARALL_FORCE"}
QUEUE_S = 120.0
"""How long an emptied queue may still show jobs (jetlag PR 778: iDRAC needs about two minutes)."""

MAX_RESTARTS = 8
NOT_TAKEN = "look in the setup menu for a setup password or a lock, and on the BMC for another job; then run again"
Value = str | int | bool


@operation()
@contained
def attributes(desired: Mapping[str, Value], wait_s: float = 0.0) -> Commands:
    """Write the attributes that differ, restart the host and read back what is in force then.

    Refused before anything is sent: unknown, read-only or locked attributes and values that the registry does not
    allow. Where some can only be written after others are in force, each group has a restart of its own. With
    ``wait_s`` 0 the operation ends with the first restart and the caller looks again; otherwise each group has that
    long to come into force.
    """
    if not desired:
        host.noop("no BIOS attributes are declared")
        return
    seen = look(BiosAttributes)
    if seen is None:
        yield unreadable("its BIOS attributes")
        return
    registry = _registry(seen)
    plan = compile_plan(registry, desired, seen["attributes"], seen["pending"])
    mode = _boot_mode(registry, plan, seen)
    if mode is not None:
        yield refuse(mode)
        return
    if not plan.is_reboot_needed:
        host.noop("BIOS attributes are as declared")
        return
    queue = _queue(seen)
    step = next_step(plan, seen, queue)
    if step.kind in ("refused", "blocked"):
        yield refuse(_no_way(step))
        return
    show_diff(_announced(plan, step))
    if state.current_stage == StateStage.Prepare:
        yield from _restart_with(seen, step, queue)
        return
    yield from _carry_out(registry, desired, seen, wait_s)


@operation(is_idempotent=False)
@contained
def jobs_cleared(jobs: Sequence[str]) -> Commands:
    """Remove jobs from the BMC's queue, by name or ``all``, and see that they are gone. Only on explicit demand."""
    if not jobs:
        host.noop("no job is to be removed")
        return
    queue = look(BiosJobs)
    if queue is None:
        yield unreadable("its job queue")
        return
    listed = {job["id"]: job for job in queue["jobs"]}
    wanted = list(listed) if list(jobs) == ["all"] else [name for name in jobs if name in listed]
    if not wanted:
        host.noop("no such job is in the queue")
        return
    show_diff(f"{describe_job(listed[name])} → removed" for name in wanted)
    if list(jobs) == ["all"] and queue["clear_uri"]:
        yield post(queue["clear_uri"], CLEAR_ALL)
    else:
        for name in wanted:
            yield delete(listed[name]["uri"])
    for name in wanted:
        yield absent(listed[name]["uri"], within_s=QUEUE_S)


def _carry_out(
    registry: AttributeRegistry, desired: Mapping[str, Value], before: Mapping[str, Any], wait_s: float
) -> Commands:
    """Step by step, looking again after each restart; ends when everything is in force, or after the first restart."""
    seen = before
    expected: dict[str, Any] = {}
    for _ in range(MAX_RESTARTS):
        plan = compile_plan(registry, desired, seen["attributes"], seen["pending"])
        expected |= {change.attribute: change.value for change in plan.consequences} | _foreign(plan, seen)
        queue = _queue(seen)
        step = next_step(plan, seen, queue)
        if step.kind == "none":
            yield from _report_undeclared(registry, desired, before, seen, expected)
            return
        if step.kind in ("refused", "blocked"):
            yield refuse(_no_way(step))
            return
        yield from _restart_with(seen, step, queue)
        if not wait_s:
            return
        yield from _await(plan, step, seen, queue, wait_s)
        seen = look(BiosAttributes)
        if seen is None:
            yield unreadable("its BIOS attributes after the restart")
            return
    yield refuse(f"the BIOS did not come to rest after {MAX_RESTARTS} restarts")


def _restart_with(seen: Mapping[str, Any], step: BiosStep, queue: Mapping[str, Any]) -> Commands:
    """Yield the write of one step, its read-back where the settings resource shows what waits, and the restart."""
    if step.stage:
        body: dict[str, Any] = {"Attributes": dict(step.stage)}
        if "OnReset" in seen["apply_times"]:
            body[APPLY_TIME] = {"ApplyTime": "OnReset"}
        yield patch(seen["settings_uri"], body)
        shown = look(BiosAttributes) if state.current_stage == StateStage.Execute else seen
        if shown is None or shown["pending"]:
            yield expect(seen["settings_uri"], {"Attributes": _expected(step.stage, seen)}, hint=NOT_TAKEN)
    if step.needs_job:
        yield post(queue["uri"], {"TargetSettingsURI": seen["settings_uri"]}, is_unproven=True)
    yield from restart_commands(look(Power))


def _await(
    plan: BiosPlan, step: BiosStep, seen: Mapping[str, Any], queue: Mapping[str, Any], wait_s: float
) -> Commands:
    """Wait until what was written, or what had to go first, is in force."""
    if step.kind == "restart":
        for job in queue["jobs"]:
            if describe_job(job) in step.why:
                yield expect(job["uri"], {"JobState": "Completed"}, within_s=wait_s)
        if seen["secure_boot_pending"]:
            yield expect("@system/SecureBoot", {"SecureBootCurrentBoot": seen["secure_boot_pending"]}, within_s=wait_s)
        return
    values = {**step.stage, **{change.attribute: change.value for change in plan.pending}}
    yield expect("@system/Bios", {"Attributes": _expected(values, seen)}, within_s=wait_s, hint=NOT_TAKEN)


def _report_undeclared(
    registry: AttributeRegistry,
    desired: Mapping[str, Value],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    expected: Mapping[str, Any],
) -> Commands:
    """Say what changed although nobody declared it; fail where the machine may not start any more."""
    critical = []
    for change in undeclared_changes(registry, desired, before["attributes"], after["attributes"]):
        attribute = registry.attributes[change.attribute]
        if change.attribute in expected and is_same(attribute, expected[change.attribute], change.value):
            continue
        if is_critical(registry, change):
            critical.append(str(change))
        else:
            logger.warning("%sundeclared BIOS attribute changed: %s", host.print_prefix, change)
    if critical:
        error = DeployError(
            "the restart changed BIOS attributes that nobody declared",
            where=host.name,
            found="; ".join(critical),
            hint="declare them in the blueprint with the value that the class needs, then run again",
        )
        yield refuse(error)


def _boot_mode(registry: AttributeRegistry, plan: BiosPlan, seen: Mapping[str, Any]) -> str | None:
    coming = {change.attribute: change.value for change in (*plan.consequences, *plan.pending, *plan.changes)}
    return boot_mode_problem(registry, {**seen["attributes"], **coming})


def _foreign(plan: BiosPlan, seen: Mapping[str, Any]) -> dict[str, Any]:
    """What somebody else left waiting: its change is announced, and no surprise."""
    ours = {change.attribute for change in (*plan.changes, *plan.pending)}
    return {name: value for name, value in (seen["pending"] or {}).items() if name not in ours}


def _announced(plan: BiosPlan, step: BiosStep) -> Iterator[str]:
    yield from plan.lines
    yield from plan.notes
    restarts = plan.reboots + (step.kind == "restart")
    first = f" (the first because {step.why})" if step.kind == "restart" else ""
    yield f"restarts: {restarts}{first}"


def _no_way(step: BiosStep) -> DeployError:
    hint = step.hint or "update the BMC's firmware, or set the attributes in the setup menu of the machine"
    if step.kind == "blocked":
        hint = "wait for it; a job that is stuck is removed with --data clear_jobs=ID[,ID…] (or all)"
    return DeployError(step.why, where=host.name, hint=hint)


def _expected(values: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, Any]:
    return {name: as_shown(value, seen["attributes"].get(name)) for name, value in values.items()}


def _queue(seen: Mapping[str, Any]) -> dict[str, Any]:
    """The queue that BIOS changes go through; most BMCs have none."""
    queue: dict[str, Any] | None = look(BiosJobs) if seen["jobs_uri"] is not None else None
    return queue or {"uri": None, "clear_uri": None, "jobs": []}


def _registry(seen: Mapping[str, Any]) -> AttributeRegistry:
    """Without a registry the present values tell types and names."""
    body = look(BiosRegistry)
    return parse_registry(body) if body else infer_registry(seen["attributes"])
