"""Provision and rebuild: hold the nodes, serve the media, turn the table. Running it again is resuming it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Literal

from metalwright.errors import ImageError, LockHeldError, PlanError
from metalwright.imaging.ordering import cache_dir, lost_way_back, pinned_image
from metalwright.imaging.ramdisk import build_ramdisk
from metalwright.journal.holding import NodeHold, hold_locked_node
from metalwright.lifecycle import Failed, Timing
from metalwright.model.phase import PHASES, NodeState, Phase
from metalwright.model.target import RebuildTarget
from metalwright.runner.boot_server import boot_server
from metalwright.runner.custody import finish_run, unfinished_run
from metalwright.runner.events import RunEvents
from metalwright.runner.handlers import NodeHandlers, Purpose
from metalwright.runner.limits import FailureLimit, MaxFail
from metalwright.runner.local import run_nodes
from metalwright.runner.provenance import provenance
from metalwright.runner.record import JournalRecord
from metalwright.runner.taking import TakenNodes
from metalwright.runner.target import keep_fallback, keep_target
from metalwright.runner.turn import NodeProgress, NodeTurner, failure_from
from metalwright.workspace import Workspace

Kind = Literal["provision", "rebuild"]
SKIPPED_STATES = frozenset({"held", "quarantined", "retired"})


@dataclass(frozen=True)
class Request:
    """What somebody asked for.

    ``overwrite`` names nodes whose foreign disk content or unknown OS may be destroyed, ``wipe`` those of which every
    disk is erased; ``until`` is the last phase.
    ``undrained`` is why nodes that carry work are disturbed without draining them. ``fallbacks`` are what nodes are
    brought to once, should their acceptance fail; whoever asked does that, this run only writes it down.
    ``no_way_back`` is why a node may lose the image that it was last good with. ``max_fail`` of the nodes may fail
    before the others are stopped; of ``wave`` nodes all are finished before the next are begun.
    """

    nodes: tuple[str, ...]
    kind: Kind = "provision"
    overwrite: frozenset[str] = frozenset()
    plan: str | None = None
    arguments: tuple[str, ...] = ()
    until: Phase = Phase.READY
    undrained: str | None = None
    wipe: frozenset[str] = frozenset()
    fallbacks: Mapping[str, RebuildTarget] = field(default_factory=dict)
    no_way_back: str | None = None
    max_fail: MaxFail | None = None
    wave: int | None = None

    def command(self, node: str) -> str:
        """What was typed, as it can be typed again; of a run that something else started, its plainest form."""
        is_typed = {self.kind, "rollback"} & set(self.arguments)
        return shlex.join(["metalwright", *(self.arguments if is_typed else (self.kind, node))])

    @property
    def reaches_disks(self) -> bool:
        """Whether the image phase, the only one that writes disks, is part of it."""
        return PHASES.index(self.until) >= PHASES.index(Phase.IMAGE)


@dataclass
class Outcome:
    """What became of each node: the run that worked on it, seconds per phase, and the failure, if any.

    ``again`` are the nodes that were brought to what was good before, since their first try was not accepted.
    """

    runs: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)
    failures: dict[str, Failed] = field(default_factory=dict)
    again: frozenset[str] = frozenset()

    @property
    def is_ok(self) -> bool:
        """Whether every node is ready."""
        return not self.failures

    @property
    def nodes(self) -> tuple[str, ...]:
        """Every node that was asked for, also those that another run holds."""
        return tuple(dict.fromkeys((*self.runs, *self.failures)))


def check_wanted(workspace: Workspace, nodes: Iterable[str], kind: Kind = "provision") -> None:
    """Refuse nodes that must be left alone. A held node may be rebuilt: it stays what it was brought to.

    Raises:
        PlanError: names the state and what releases the node.
    """
    for name in nodes:
        why = left_alone(workspace, name, kind)
        if why is not None:
            raise PlanError(
                "the node is to be left alone",
                where=name,
                expected="state ready in the rack file, and not held",
                found=why,
                hint=f"`metalwright release {name} --why …`, or change `state:` in its rack file by a reviewed commit",
            )


def left_alone(workspace: Workspace, node: str, kind: Kind = "provision") -> str | None:
    """Why nobody may work on the node now (rack file or journal say so), or None."""
    wanted = workspace.repository.node(node).state
    status = workspace.journal.nodes.get(node)
    is_set_aside = status is not None and status.state in (NodeState.QUARANTINED, NodeState.RETIRED)
    is_held = status is not None and status.state is NodeState.HELD and kind == "provision"
    if wanted in SKIPPED_STATES or is_set_aside or (is_held and not _pins_what_is_good(workspace, node)):
        return f"rack file: {wanted}; journal: {status.state if status else 'nothing'}"
    return None


def _pins_what_is_good(workspace: Workspace, node: str) -> bool:
    """Whether git by now pins what a held node was brought to: then nothing has to be held back any more."""
    recorded, pinned = workspace.journal.nodes.known_good(node), workspace.blueprint(node)
    if recorded is None:
        return False
    known = recorded.record
    return (known.blueprint, known.image_sha256) == (pinned.ref, pinned.image.file_sha256)


def chained_run(workspace: Workspace, node: str, kind: Kind) -> str | None:
    """The killed run of the same kind that this one takes up again, if there is one with the same recipe."""
    last = unfinished_run(workspace.journal, node)
    if last is None:
        return None
    run = workspace.journal.runs.get(last.run)
    is_same = run.finished is None and run.kind == kind and last.recipe == workspace.recipe(node)
    return run.id if is_same else None


def check_images(workspace: Workspace, request: Request) -> None:
    """Refuse what could not write its image, before any machine is looked at.

    Raises:
        ImageError: an image is missing, is not the pinned one, nobody vouches for it, or it would replace one that
            the node could not go back to.
    """
    if not request.reaches_disks:
        return
    for node in request.nodes:
        pinned_image(workspace, node)
    if request.kind == "provision":
        _keep_ways_back(workspace, request)


def _keep_ways_back(workspace: Workspace, request: Request) -> None:
    lost = {node: why for node in request.nodes if (why := lost_way_back(workspace, node)) is not None}
    if request.no_way_back is None and lost:
        node, why = next(iter(lost.items()))
        raise ImageError(
            "the node could not go back: the image that it was last good with cannot be written any more",
            where=", ".join(lost),
            expected="that image in the catalogue, with its digest",
            found=why,
            hint=f"add it again, or accept it: metalwright provision {node} --no-way-back WHY",
        )
    for node, why in lost.items():
        workspace.journal.events.act("way back given up", node=node, why=f"{request.no_way_back} ({why})")


def provision(workspace: Workspace, request: Request, taken: TakenNodes, events: RunEvents) -> Outcome:
    """Bring every node of the request, all of them taken, to *ready*; nodes fail one by one, with their reason.

    Raises:
        ImageError: an image or the ramdisk is missing, before any node is touched.
    """
    check_wanted(workspace, request.nodes, request.kind)
    outcome = Outcome()
    for node, error in taken.refused.items():
        outcome.failures[node] = failure_from(error)
        events.node_failed(node, Phase.IDENTIFY, outcome.failures[node])
    if not request.nodes:
        return outcome
    check_images(workspace, request)
    if request.reaches_disks:
        build_ramdisk(cache_dir())
    limit = FailureLimit(len(request.nodes) + len(taken.refused), request.max_fail)
    outcome.runs = _runs(workspace, request)
    with ExitStack() as stack:
        stack.enter_context(boot_server(workspace))
        holds, let_go = _hold_all(workspace, outcome, taken, stack, events)
        turners = {
            node: _turner(workspace, request, node, outcome.runs[node], hold, stack, events, limit)
            for node, hold in holds.items()
        }

        def end(node: str) -> None:
            turners[node].handlers.close()
            let_go(node)

        for node, failure in outcome.failures.items():
            limit.count(node, failure.code)
        progress = _run_waves(turners, request.wave, workspace.repository.site.limits.parallel_nodes, end)
    _conclude(workspace, outcome, progress)
    return outcome


def _run_waves(
    turners: Mapping[str, NodeTurner], wave: int | None, parallel: int, end: Callable[[str], None]
) -> dict[str, NodeProgress]:
    """Turn so many nodes at a time to their end; without a wave all of them together."""
    names = list(turners)
    size = wave or max(len(names), 1)
    progress: dict[str, NodeProgress] = {}
    for begin in range(0, len(names), size):
        some = {node: turners[node] for node in names[begin : begin + size]}
        progress |= run_nodes(some, parallel=parallel, let_go=end)
    return progress


def _runs(workspace: Workspace, request: Request) -> dict[str, str]:
    chained = {node: chained_run(workspace, node, request.kind) for node in request.nodes}
    if all(chained.values()):
        return {node: run for node, run in chained.items() if run}
    commit, is_dirty = provenance(workspace.paths.root)
    fresh = workspace.journal.runs.start(request.kind, request.arguments, commit=commit, is_dirty=is_dirty)
    for node in (name for name, run in chained.items() if run is None):
        workspace.journal.runs.start_node(
            fresh.id,
            node,
            blueprint=workspace.blueprint(node).ref,
            recipe=workspace.recipe(node),
            plan=request.plan,
        )
        keep_target(workspace, node, fresh.id)
        if node in request.fallbacks:
            keep_fallback(workspace.journal, fresh.id, request.fallbacks[node])
    return {node: run or fresh.id for node, run in chained.items()}


def _hold_all(
    workspace: Workspace, outcome: Outcome, taken: TakenNodes, stack: ExitStack, events: RunEvents
) -> tuple[dict[str, NodeHold], Callable[[str], None]]:
    """Hold every node, and return how to let go of one: a node that failed early is free for its repair at once."""
    holds: dict[str, NodeHold] = {}
    own: dict[str, ExitStack] = {}

    def let_go(node: str) -> None:
        own[node].close()
        taken.locks[node].release()

    for node, run in outcome.runs.items():
        own[node] = stack.enter_context(ExitStack())
        try:
            holds[node] = own[node].enter_context(hold_locked_node(workspace.journal, taken.locks[node], run))
        except LockHeldError as error:
            outcome.failures[node] = failure_from(error)
            workspace.journal.runs.set_node(run, node, "skipped", error.found)
            events.node_failed(node, Phase.IDENTIFY, outcome.failures[node])
    return holds, let_go


def _turner(
    workspace: Workspace,
    request: Request,
    node: str,
    run: str,
    hold: NodeHold,
    stack: ExitStack,
    events: RunEvents,
    limit: FailureLimit,
) -> NodeTurner:
    purpose = Purpose(
        run=run,
        is_rebuild=request.kind == "rebuild",
        may_overwrite=node in request.overwrite,
        lease_since=hold.lease.since,
        undrained=request.undrained,
    )
    return NodeTurner(
        handlers=stack.enter_context(closing(NodeHandlers(workspace, node, purpose, hold.lock))),
        record=JournalRecord(workspace.journal, run, node, workspace.recipe(node), request.plan),
        events=events,
        timing=Timing.from_limits(workspace.repository.site.limits),
        last_phase=request.until,
        command=request.command(node),
        limit=limit,
    )


def _conclude(workspace: Workspace, outcome: Outcome, progress: Mapping[str, NodeProgress]) -> None:
    for node, done in progress.items():
        outcome.seconds[node] = done.seconds
        if done.failure is not None:
            outcome.failures[node] = done.failure
    for run in set(outcome.runs.values()):
        finish_run(workspace.journal, run)


def unfinished_nodes(workspace: Workspace) -> dict[Kind, tuple[str, ...]]:
    """The nodes whose newest run was killed before it finished, by kind of run."""
    found: dict[Kind, list[str]] = {}
    for node in workspace.repository.nodes():
        last = unfinished_run(workspace.journal, node.name)
        if last is None:
            continue
        run = workspace.journal.runs.get(last.run)
        if run.finished is None and run.kind in ("provision", "rebuild"):
            found.setdefault("rebuild" if run.kind == "rebuild" else "provision", []).append(node.name)
    return {kind: tuple(names) for kind, names in found.items()}
