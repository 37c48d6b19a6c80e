"""Plans from the live world: every phase is observed, nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Literal

from metalwright.errors import ImageError, MetalwrightError
from metalwright.imaging.ordering import pinned_image
from metalwright.lifecycle import Act, Effect, Failed, History, Timing, decide
from metalwright.lifecycle.observations import BiosObservation, ImageObservation, Observation
from metalwright.model.grant import Grant
from metalwright.model.phase import PHASES, Phase
from metalwright.model.plan import Change, NodePlan, Plan
from metalwright.planning import Desired, destructive_nodes, make_plan, plan_node
from metalwright.runner.handlers import NodeHandlers, Purpose
from metalwright.runner.provisioning import Kind, chained_run
from metalwright.workspace import Workspace

GRANT_HOURS = 4
Wipes = Mapping[str, Sequence[str]]
"""Node → serials of the disks to be erased."""
NO_WIPES: Wipes = MappingProxyType({})
AFTER_IMAGE = {
    Phase.SOFTWARE: "apply the software recipe",
    Phase.ACCEPT: "run the acceptance tests",
    Phase.READY: "record the known-good tuple",
}


@dataclass(frozen=True)
class PlanRequest:
    """What is planned; as :class:`metalwright.runner.provisioning.Request`."""

    nodes: tuple[str, ...]
    kind: Kind = "provision"
    overwrite: frozenset[str] = frozenset()
    wipe: frozenset[str] = frozenset()


@dataclass
class _NodeView:
    """What was seen of one node."""

    changes: dict[Phase, tuple[Change, ...]] = field(default_factory=dict)
    unknown: dict[Phase, str] = field(default_factory=dict)
    refusals: dict[Phase, str] = field(default_factory=dict)
    reboots: dict[Phase, int] = field(default_factory=dict)


def observe_plan(workspace: Workspace, request: PlanRequest) -> Plan:
    """Look at every node and say what would change. Nodes are looked at side by side."""
    parallel = workspace.repository.site.limits.parallel_nodes
    with ThreadPoolExecutor(max_workers=parallel, thread_name_prefix="plan") as pool:
        made = list(pool.map(lambda node: _plan_one(workspace, request, node), request.nodes))
    return make_plan([desired for desired, _ in made], [plan for _, plan in made])


def ungranted(
    workspace: Workspace, plan: Plan, kind: Kind, overwrite: frozenset[str], wipes: Wipes = NO_WIPES
) -> tuple[NodePlan, ...]:
    """The nodes whose disk would be written and for which no grant of just this is valid yet."""
    return tuple(item for item in destructive_nodes(plan) if not _is_granted(workspace, item, kind, overwrite, wipes))


def granted_overwrites(workspace: Workspace, nodes: Iterable[str], kind: Kind) -> frozenset[str]:
    """The nodes whose unfinished run may already overwrite foreign content: taking it up again needs no new word."""
    found = {node: _usable_grant(workspace, node, workspace.blueprint(node).image.file_sha256, kind) for node in nodes}
    return frozenset(node for node, grant in found.items() if grant is not None and grant.overwrite)


def granted_wipes(workspace: Workspace, nodes: Iterable[str], kind: Kind) -> frozenset[str]:
    """The nodes whose unfinished run may already erase their disks."""
    found = {node: _usable_grant(workspace, node, workspace.blueprint(node).image.file_sha256, kind) for node in nodes}
    return frozenset(node for node, grant in found.items() if grant is not None and grant.wipe)


def _is_granted(workspace: Workspace, item: NodePlan, kind: Kind, overwrite: frozenset[str], wipes: Wipes) -> bool:
    """Whether the grant that would be used is for this disk, and allows neither less nor more than was asked for."""
    grant = _usable_grant(workspace, item.node, item.image_sha256, kind)
    if grant is None:
        return False
    is_same = grant.disk_serial == item.disk_serial and grant.wipe == tuple(wipes.get(item.node, ()))
    return is_same and grant.overwrite == (item.node in overwrite)


def _usable_grant(workspace: Workspace, node: str, image_sha256: str, kind: Kind) -> Grant | None:
    run = chained_run(workspace, node, kind)
    return workspace.journal.grants.find_valid(node, image_sha256, datetime.now(UTC), run=run)


def issue_grants(
    workspace: Workspace,
    plan: Plan,
    nodes: Iterable[NodePlan],
    how: Literal["plan", "typed"],
    overwrite: frozenset[str],
    wipes: Wipes = NO_WIPES,
) -> tuple[Grant, ...]:
    """Allow the disks of these nodes to be written, for a few hours; ``wipes`` names those that are erased before."""
    return tuple(
        workspace.journal.grants.make(
            item.node,
            image_sha256=item.image_sha256,
            plan=plan.digest,
            how=how,
            valid_for=timedelta(hours=GRANT_HOURS),
            disk_serial=item.disk_serial,
            overwrite=item.node in overwrite,
            wipe=wipes.get(item.node, ()),
        )
        for item in nodes
    )


def _plan_one(workspace: Workspace, request: PlanRequest, node: str) -> tuple[Desired, NodePlan]:
    purpose = Purpose(
        run=chained_run(workspace, node, request.kind) or "plan",
        is_rebuild=request.kind == "rebuild",
        may_overwrite=node in request.overwrite,
        will_be_granted=True,
        will_be_wiped=node in request.wipe,
    )
    handlers = NodeHandlers(workspace, node, purpose)
    timing = Timing.from_limits(workspace.repository.site.limits)
    view = _NodeView()
    for phase in PHASES:
        if not _look(handlers, phase, timing, view):
            break
    _add_consequences(view)
    _require_image(workspace, node, view)
    try:
        disk = handlers.bmc.system_disk_serial() if Phase.IDENTIFY not in view.unknown else None
    except MetalwrightError:
        disk = None
    desired = workspace.desired(node, disk)
    history = workspace.journal.runs.seconds_of_class(desired.blueprint.name)
    return desired, plan_node(desired, view.changes, view.unknown, view.refusals, view.reboots, history)


def _look(handlers: NodeHandlers, phase: Phase, timing: Timing, view: _NodeView) -> bool:
    """Observe one phase; returns whether it makes sense to look further."""
    try:
        seen = handlers.observe(phase, ())
    except MetalwrightError as error:
        view.unknown[phase] = "; ".join(" ".join(text.split()) for text in (error.what, error.hint) if text)
        return phase is not Phase.IDENTIFY
    decision = decide(seen, History(), timing)
    if isinstance(decision, Failed) and phase is not Phase.READY:
        view.refusals[phase] = f"{decision.what} ({decision.found})" if decision.found else decision.what
        return phase is not Phase.IDENTIFY
    view.changes[phase] = _changes(seen, decision)
    if isinstance(seen, BiosObservation):
        view.reboots[phase] = seen.reboots
    return True


def _require_image(workspace: Workspace, node: str, view: _NodeView) -> None:
    """A disk that would be written needs an image that can be."""
    if not any(change.disruptive for change in view.changes.get(Phase.IMAGE, ())):
        return
    try:
        pinned_image(workspace, node)
    except ImageError as error:
        view.refusals[Phase.IMAGE] = f"{error.what} ({error.found})" if error.found else error.what


def _changes(seen: Observation, decision: object) -> tuple[Change, ...]:
    """The image phase changes what its row decides now, which may be less than a write."""
    if not isinstance(seen, ImageObservation) or not seen.changes():
        return seen.changes()
    if isinstance(decision, Act) and decision.effect is not Effect.DESTROY:
        return (Change(phase=Phase.IMAGE, what=decision.why, to=seen.wanted_image),)
    return seen.changes() if isinstance(decision, Act) else ()


def _add_consequences(view: _NodeView) -> None:
    """A written disk starts from nothing: what follows is due again, whatever was accepted before."""
    if any(change.disruptive for change in view.changes.get(Phase.IMAGE, ())):
        for phase, what in AFTER_IMAGE.items():
            view.changes.setdefault(phase, ())
            if not view.changes[phase]:
                view.changes[phase] = (Change(phase=phase, what=what),)
            view.unknown.pop(phase, None)
