"""What becomes of an update: proven by the version alone, never by a task that says so or that has vanished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from metalwright.firmware.plan import FirmwarePlan, Machine, Step
from metalwright.model.firmware import FirmwareUpdate
from metalwright.versions import compare, satisfies

JUST_CREATED_S = 30.0
"""A task may be missing for so long after it was made (sushy fix-dell-bmc-404-race-condition)."""


@dataclass(frozen=True, slots=True)
class TaskView:
    """What the BMC says of a task now. ``state`` is its own word, ``Gone`` or ``Silent`` where it says nothing."""

    state: str
    is_ended: bool = False
    is_failed: bool = False
    percent: int | None = None
    messages: str = ""

    @property
    def text(self) -> str:
        """One line for people."""
        percent = f" {self.percent} %" if self.percent is not None else ""
        return f"task {self.state}{percent}" + (f": {self.messages}" if self.messages else "")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Where an update stands. ``settling``: the task is over, and the version is looked for within a time."""

    kind: Literal["proven", "running", "settling", "needs-reset", "failed"]
    text: str
    is_task_over: bool = False


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the version may take to show after the task's end, and an update altogether; seconds."""

    settle_s: float = 600.0
    deadline_s: float = 7200.0


def judge(
    update: FirmwareUpdate,
    task: TaskView | None,
    versions: Sequence[str | None],
    now: datetime,
    patience: Patience,
) -> Verdict:
    """Return where an update stands; ``task`` None: the BMC named none. ``versions`` are those that it shows now."""
    name = f"{update.component} {update.version}"
    if versions and all(version is not None and compare(version, update.version) == 0 for version in versions):
        return Verdict("proven", f"{name} is in force", is_task_over=True)
    if task is not None and task.is_failed:
        return Verdict("failed", f"{name}: {task.text}", is_task_over=True)
    age_s = (now - update.started).total_seconds()
    shown = ", ".join(version or "unknown" for version in versions) or "unknown"
    if age_s > patience.deadline_s:
        told = task.text if task is not None else "the BMC named no task"
        return Verdict("failed", f"{name} did not show within {patience.deadline_s:.0f} s; {told}; version {shown}")
    if task is not None and task.state == "Gone" and age_s < JUST_CREATED_S:
        return Verdict("running", f"{name}: the task does not show yet")
    if task is not None and not task.is_ended and task.state != "Gone":
        return Verdict("running", f"{name}: {task.text}")
    return _after_the_task(update, task, shown, now, patience)


def _after_the_task(
    update: FirmwareUpdate, task: TaskView | None, shown: str, now: datetime, patience: Patience
) -> Verdict:
    name = f"{update.component} {update.version}"
    if update.activation == "host-reset" and update.reset is None and (task is None or task.is_ended):
        return Verdict("needs-reset", f"{name} comes into force at the next restart", is_task_over=True)
    if task is None and not update.is_accepted and (now - update.started).total_seconds() > patience.settle_s:
        return Verdict("failed", f"{name}: nothing shows that the image arrived; no task runs, version {shown}")
    since = max(moment for moment in (update.task_ended or now, update.reset) if moment is not None)
    if task is None and update.task_ended is None:
        return Verdict("settling", f"{name}: the BMC named no task; version {shown}", is_task_over=update.is_accepted)
    if (now - since).total_seconds() > patience.settle_s:
        told = task.text if task is not None else "the BMC named no task"
        return Verdict("failed", f"{name}: {told}, but the version stays {shown}", is_task_over=True)
    return Verdict("settling", f"{name}: the task is over; version {shown}", is_task_over=True)


@dataclass(frozen=True, slots=True)
class Move:
    """What to do next. ``push`` has a step; ``wait``, ``refuse`` and ``fail`` have a reason."""

    kind: Literal["done", "push", "reset", "wait", "refuse", "fail"]
    text: str = ""
    step: Step | None = None


def next_move(
    plan: FirmwarePlan, machine: Machine, updates: Sequence[FirmwareUpdate], verdicts: Mapping[str, Verdict]
) -> Move:
    """Return the next thing to do for a machine with these open updates.

    One image is sent at a time; what waits for a restart of the host waits for the others that need none before, so
    that one restart brings all of them into force.
    """
    kinds = {component: verdict.kind for component, verdict in verdicts.items()}
    failed = [verdict.text for verdict in verdicts.values() if verdict.kind == "failed"]
    if failed:
        return Move("fail", "; ".join(failed))
    busy = [verdict.text for verdict in verdicts.values() if verdict.kind in ("running", "settling")]
    if busy:
        return Move("wait", "; ".join(busy))
    if plan.refusals:
        return Move("refuse", "\n".join(f"  {refusal}" for refusal in plan.refusals))
    staged = {update.component for update in updates if kinds.get(update.component) == "needs-reset"}
    for step in plan.steps:
        if step.image.component not in staged and _is_ready(step, machine):
            return Move("push", f"{step.what}: {step.from_version} → {step.image.version}", step)
    if staged:
        return Move("reset", "; ".join(verdicts[component].text for component in sorted(staged)))
    if plan.steps:
        return Move("refuse", f"  {plan.steps[0].image.component}: what it needs does not come into force")
    return Move("done")


def _is_ready(step: Step, machine: Machine) -> bool:
    return all(
        satisfies(version, constraint) is True
        for name, constraint in step.image.needs.items()
        for version in machine.versions(name)
    )
