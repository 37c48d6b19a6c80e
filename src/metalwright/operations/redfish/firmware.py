"""Firmware: one image at a time to the BMC, proven by the version that it shows afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pyinfra import logger
from pyinfra.api.command import QuoteString, StringCommand
from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.facts.redfish import FirmwareInventory, FirmwareUpdates, Power
from metalwright.firmware import (
    FirmwarePlan,
    Installed,
    Machine,
    Move,
    Patience,
    Step,
    TaskView,
    Verdict,
    judge,
    next_move,
    plan_firmware,
)
from metalwright.model.firmware import FirmwareRelease, FirmwareUpdate
from metalwright.operations.redfish.power import restart_commands
from metalwright.operations.redfish.requests import (
    Commands,
    contained,
    line,
    look,
    refuse,
    show_diff,
    unreadable,
)

Seen = tuple[FirmwarePlan, Move, Mapping[str, Verdict]]


@operation()
@contained
def updated(constraints: Mapping[str, str], downgrades: Sequence[str] = ()) -> Commands:
    """Send the next image that brings a component (``bmc``, ``bios``, ``gpu`` …) within its constraint.

    Refused before anything is sent: no approved image that fits, a downgrade that the blueprint does not allow, a
    version that cannot be compared. While an update is under way nothing is done; run it again, or let `metalwright
    provision` wait. What a task says is not believed: an update is proven by the version.
    """
    seen = _look(constraints, downgrades) if constraints else None
    if not constraints:
        host.noop("no firmware is constrained")
        return
    if seen is None:
        yield unreadable("its firmware versions")
        return
    plan, move, verdicts = seen
    for check in plan.checks:
        if check.holds is None:
            text = f"firmware {check.name}: cannot tell whether {check.found or 'unknown'} is {check.constraint}"
            host.log(text, logger.warning)
    show_diff(map(_shown, plan.steps))
    for component, verdict in verdicts.items():
        if verdict.kind in ("proven", "failed"):
            yield StringCommand("FIRMWARE", verdict.kind, "--component", component)
    if move.kind == "fail":
        yield refuse(f"a firmware update failed: {move.text}{_AGAIN}")
    elif move.kind == "refuse":
        yield refuse(f"firmware is not as the blueprint wants it:\n{move.text}")
    elif move.kind == "push" and move.step is not None:
        yield _push(move.step)
    elif move.kind == "wait":
        host.noop(f"under way: {move.text}")
    else:
        host.noop("no firmware contradicts the blueprint" if move.kind == "done" else move.text)


@operation()
@contained
def activated(constraints: Mapping[str, str], downgrades: Sequence[str] = ()) -> Commands:
    """Restart the host where new firmware waits for that and no other image is to be sent before."""
    seen = _look(constraints, downgrades) if constraints else None
    if seen is None or seen[1].kind != "reset":
        host.noop("no firmware waits for a restart")
        return
    verdicts = seen[2]
    show_diff([line("host", "running the old firmware", "restarted")])
    for component, verdict in verdicts.items():
        if verdict.kind == "needs-reset":
            yield StringCommand("FIRMWARE", "reset", "--component", component)
    yield from restart_commands(look(Power))


_AGAIN = "\n\nhint: repair the cause; the next run sends the image again"


def _shown(step: Step) -> str:
    """What a step is in a diff; the restart that it needs may follow in the same run."""
    text = line(step.what, step.from_version, step.image.version)
    return f"{text} (with a restart of the host)" if step.image.activation == "host-reset" else text


def _push(step: Step) -> StringCommand:
    image = step.image
    targets = ["--targets", QuoteString(",".join(step.targets))] if step.targets else []
    version = ["--version", QuoteString(image.version)]
    return StringCommand("FIRMWARE", "push", "--component", image.component, *version, *targets)


def _look(constraints: Mapping[str, str], downgrades: Sequence[str]) -> Seen | None:
    """Read what is installed and under way, and decide; None where the BMC does not tell."""
    inventory, state = look(FirmwareInventory), look(FirmwareUpdates)
    if inventory is None or state is None:
        return None
    catalogue = [FirmwareRelease.model_validate(item) for item in host.data.get("firmware_catalogue") or []]
    machine = machine_of(inventory)
    plan = plan_firmware(constraints, machine, catalogue, downgrades)
    patience = Patience(**(host.data.get("firmware_patience") or {}))
    updates = [_update(item) for item in state["updates"]]
    verdicts = {
        update.component: judge(update, task, machine.versions(update.component), datetime.now(UTC), patience)
        for update, task in updates
    }
    return plan, next_move(plan, machine, [update for update, _ in updates], verdicts), verdicts


def machine_of(inventory: Mapping[str, Any]) -> Machine:
    """Return the machine behind the fact FirmwareInventory."""
    items = tuple(Installed(**item) for item in inventory["firmware"])
    return Machine(inventory["model"], inventory["bmc_version"], inventory["bios_version"], items)


def _update(item: Mapping[str, Any]) -> tuple[FirmwareUpdate, TaskView | None]:
    known = {key: value for key, value in item.items() if key != "task_now"}
    task = item["task_now"]
    return FirmwareUpdate.model_validate(known), None if task is None else TaskView(**task)
