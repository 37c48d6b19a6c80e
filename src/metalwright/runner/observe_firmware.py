"""What the firmware phase sees: versions now, updates under way, and what their tasks say. The journal learns of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from metalwright.connectors.firmware import is_over, view_of
from metalwright.firmware import Installed, Machine, Patience, TaskView, Verdict, judge, next_move, plan_firmware
from metalwright.lifecycle.observations import FirmwareChange, FirmwareObservation
from metalwright.model.firmware import FirmwareUpdate
from metalwright.redfish.access import BmcSession
from metalwright.runner.bmc_session import open_bmc
from metalwright.workspace import Workspace


async def observe_firmware(workspace: Workspace, node: str) -> FirmwareObservation:
    """Read inventory and tasks, judge each open update, and tell the next move.

    An update that is proven or failed is recorded as ended, so that the next step, or another try, may follow.
    """
    blueprint, limits = workspace.blueprint(node), workspace.repository.site.limits
    updates = workspace.journal.firmware.open(node)
    async with open_bmc(workspace, node) as session:
        machine = await _machine(session)
        tasks = {update.component: await _task(session, update) for update in updates}
    plan = plan_firmware(blueprint.firmware, machine, workspace.repository.firmware, blueprint.firmware_downgrades)
    patience = Patience(limits.bmc_settle_minutes * 60, limits.firmware_minutes * 60)
    now = datetime.now(UTC)
    verdicts = {
        update.component: judge(update, tasks[update.component], machine.versions(update.component), now, patience)
        for update in updates
    }
    _remember(workspace, node, updates, tasks, verdicts)
    move = next_move(plan, machine, updates, verdicts)
    steps = tuple(
        FirmwareChange(
            step.what, step.from_version, step.image.version, is_disruptive=step.image.activation == "host-reset"
        )
        for step in plan.steps
    )
    return FirmwareObservation(plan.checks, steps, move.kind, move.text)


def _remember(
    workspace: Workspace,
    node: str,
    updates: tuple[FirmwareUpdate, ...],
    tasks: Mapping[str, TaskView | None],
    verdicts: Mapping[str, Verdict],
) -> None:
    journal = workspace.journal.firmware
    for update in updates:
        verdict = verdicts[update.component]
        if verdict.kind == "proven" or verdict.kind == "failed":
            journal.end(node, update.component, verdict.kind, verdict.text)
        elif update.task_ended is None and is_over(tasks[update.component], is_accepted=update.is_accepted):
            journal.task_ended(node, update.component)


async def _machine(session: BmcSession) -> Machine:
    client = session.client
    system, manager = await client.find("@system"), await client.find("@manager")
    inventory = await client.find("@root/UpdateService/FirmwareInventory/*")
    return Machine(
        _text(system.get("Model")),
        _text(manager.get("FirmwareVersion")),
        _text(system.get("BiosVersion")),
        tuple(_installed(item) for item in inventory["Members"]),
    )


def _installed(item: Mapping[str, Any]) -> Installed:
    names = ("Name", "Version", "@odata.id", "LowestSupportedVersion")
    return Installed(str(item.get("Id")), *(_text(item.get(name)) for name in names))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


async def _task(session: BmcSession, update: FirmwareUpdate) -> TaskView | None:
    task = await session.client.task_of_update(update.task, is_accepted=update.is_accepted)
    return None if task is None else view_of(task)
