"""What must hold before a node is rebuilt, each looked at now: lock, system, workload, work in flight, image,
disk, identity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from metalwright.errors import ImageError
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.ordering import pinned_image
from metalwright.model.deployment import DeploymentState
from metalwright.model.phase import Phase
from metalwright.model.plan import NodePlan
from metalwright.runner.custody import unfinished_run
from metalwright.runner.draining import hooks_of, may_carry_work
from metalwright.runner.provisioning import Request, chained_run
from metalwright.workspace import Workspace

Verdict = Literal["ok", "note", "NO"]


@dataclass(frozen=True)
class Precondition:
    """One line of the table. ``note``: a person should know it, and may go on; ``NO``: nothing is done."""

    node: str
    what: str
    verdict: Verdict
    told: str


def preconditions(workspace: Workspace, request: Request, plan: NodePlan) -> Iterator[Precondition]:
    """The preconditions of one node whose lock this process holds. The image is read and hashed as a whole."""
    node = plan.node
    yield Precondition(node, "lock", "ok", "held by this command")
    yield _system(plan)
    yield _drained(workspace, request, node)
    yield _in_flight(workspace, request, node)
    yield _image(workspace, node)
    yield _disk(workspace, plan)
    yield _identity(plan)


def _system(plan: NodePlan) -> Precondition:
    if plan.living_system is None:
        return Precondition(plan.node, "system", "ok", "nothing answers on SSH")
    told = f"IT ANSWERS ({plan.living_system}) and will be lost: is this the node that failed?"
    return Precondition(plan.node, "system", "note", told)


def _drained(workspace: Workspace, request: Request, node: str) -> Precondition:
    hooks = hooks_of(workspace, node)
    if not may_carry_work(workspace, node):
        return Precondition(node, "drained", "ok", "the node never joined the pool")
    if request.undrained is not None:
        return Precondition(node, "drained", "note", f"NOT drained, as asked: {request.undrained}")
    if hooks is None or hooks.drain is None:
        told = "no drain hook in site.yaml: whoever confirms says that nothing runs on it"
        return Precondition(node, "drained", "note", told)
    limit = f"at most {hooks.drain.timeout_s:.0f} s"
    return Precondition(node, "drained", "ok", f"by {hooks.drain.command[0]} before anything else, {limit}")


def _in_flight(workspace: Workspace, request: Request, node: str) -> Precondition:
    newest = workspace.journal.deployments.newest_of_node(node, datetime.now(UTC))
    last, chained = unfinished_run(workspace.journal, node), chained_run(workspace, node, request.kind)
    if chained is not None:
        return Precondition(node, "nothing in flight", "note", f"run {chained} was interrupted and is taken up again")
    if newest is not None and newest.state is DeploymentState.GO:
        told = f"run {newest.run} began to write the disk and did not finish; it is written again"
        return Precondition(node, "nothing in flight", "note", told)
    if last is not None:
        told = f"run {last.run} was interrupted; this run takes its place"
        return Precondition(node, "nothing in flight", "note", told)
    flashing = [update.component for update in workspace.journal.firmware.open(node)]
    if flashing:
        told = f"firmware of {', '.join(flashing)} is being updated; its end is awaited first"
        return Precondition(node, "nothing in flight", "note", told)
    return Precondition(node, "nothing in flight", "ok", "no run, no write, no firmware update")


def _image(workspace: Workspace, node: str) -> Precondition:
    try:
        image, _ = pinned_image(workspace, node)
        wrong = ImageCatalogue(workspace.paths.images).verify(image)
    except ImageError as error:
        return Precondition(node, "image", "NO", f"{error.what}: {error.found}" if error.found else error.what)
    name = f"{image.name}@{image.version}"
    if wrong:
        return Precondition(node, "image", "NO", f"{name} is damaged: {'; '.join(wrong[:3])}")
    return Precondition(node, "image", "ok", f"{name} is there and verified, sha256:{image.file_sha256[:12]}…")


def _disk(workspace: Workspace, plan: NodePlan) -> Precondition:
    """The drive that will be written, beside the one that was written last."""
    if plan.disk_serial is None:
        told = "the BMC does not tell which; the ramdisk takes the one that fits the rule, or stops"
        return Precondition(plan.node, "disk", "note", told)
    written = workspace.journal.deployments.written(plan.node, datetime.now(UTC))
    last = next((deployment.done for deployment in written if deployment.done is not None), None)
    if last is None or last.disk.serial == plan.disk_serial:
        return Precondition(plan.node, "disk", "ok", plan.disk_serial)
    told = f"NEW DISK {plan.disk_serial}: the last write was to {last.disk.serial}; compare with the drive's label"
    return Precondition(plan.node, "disk", "note", told)


def _identity(plan: NodePlan) -> Precondition:
    trouble = [text for text in (*plan.refusals, *plan.unknown) if text.startswith(f"{Phase.IDENTIFY}:")]
    if trouble:
        return Precondition(plan.node, "identity", "NO", trouble[0])
    seen = plan.identity
    keys = (("serial", seen.serial), ("UUID", seen.uuid), ("BMC MAC", seen.bmc_mac))
    told = ", ".join(f"{name} {value}" for name, value in keys if value is not None)
    return Precondition(plan.node, "identity", "ok", f"the machine with {told} answers")
