"""What people decide about a node beside provisioning it: stop the run, take it over, set the node aside, let it go.

Every act is in the audit log with who and why before it takes effect. Nothing here writes to a BMC or a disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from metalwright.errors import LockHeldError, PlanError
from metalwright.journal.holding import take_over_node
from metalwright.journal.journal import Journal
from metalwright.journal.locks import NodeLock
from metalwright.journal.records import Lease, NodeRun
from metalwright.lifecycle import CANCELLED
from metalwright.model.phase import NodeState

CANCEL_ASKED = "cancel asked"
QUARANTINE = "quarantine"
SET_ASIDE = frozenset({NodeState.HELD, NodeState.QUARANTINED})


@dataclass(frozen=True)
class Cancelled:
    """``worker`` says who still works on the node and will stop at the next safe point; None: nobody did."""

    run: str
    worker: str | None


def cancel(journal: Journal, state_dir: Path, node: str, why: str) -> Cancelled:
    """Ask the run that has the node to stop; where that run is dead, close it, so that ``resume`` leaves it alone.

    Raises:
        PlanError: no run of this node is unfinished.
    """
    last = unfinished_run(journal, node)
    if last is None:
        raise PlanError("nothing to cancel", where=node, expected="an unfinished run", found=_last_told(journal, node))
    journal.events.act(CANCEL_ASKED, node=node, run=last.run, why=why)
    lock = NodeLock(state_dir, node)
    try:
        lock.acquire(last.run)
        journal.leases.check_free(node)
    except LockHeldError as error:
        lock.release()
        return Cancelled(last.run, error.found)
    try:
        _close(journal, last, why)
    finally:
        lock.release()
    return Cancelled(last.run, None)


def cancel_asked(journal: Journal, node: str, run: str) -> str | None:
    """Why somebody asked to cancel this run of the node, or None."""
    asked = [event for event in journal.events.of(node=node, run=run) if event.is_act and event.what == CANCEL_ASKED]
    return f"{asked[-1].who}: {asked[-1].why}" if asked else None


def take_over(journal: Journal, state_dir: Path, node: str, why: str) -> Lease | None:
    """End the lease of a run that died without releasing the node; returns that lease, None where there was none.

    From then on a ramdisk of that run is refused its first write. Raises LockHeldError, naming the process to end,
    when a process on this machine still holds the node's lock.
    """
    before = journal.leases.get(node)
    if before is None or before.released is not None:
        return None
    run = journal.runs.start("takeover", [node])
    try:
        with take_over_node(journal, state_dir, node, run.id, why):
            pass
    except BaseException as error:
        journal.runs.finish(run.id, "failed", str(error) or type(error).__name__)
        raise
    journal.runs.finish(run.id, "ok", why)
    return before


def quarantine(journal: Journal, state_dir: Path, node: str, why: str) -> None:
    """Set a node aside: nothing provisions or rebuilds it until it is released.

    Raises:
        LockHeldError: a run works on it; cancel that first.
    """
    _set_aside(journal, state_dir, node, NodeState.QUARANTINED, QUARANTINE, why)


def release(journal: Journal, state_dir: Path, node: str, why: str) -> tuple[NodeState, NodeState]:
    """Let a held or quarantined node be worked on again; returns the state that it had, and the one that it has now.

    A node that was ready when it was quarantined is ready again: no run can have touched it meanwhile.

    Raises:
        PlanError: the node is neither.
        LockHeldError: a run works on it.
    """
    status = journal.nodes.get(node)
    if status is None or status.state not in SET_ASIDE:
        raise PlanError(
            "nothing to release",
            where=node,
            expected="a held or quarantined node",
            found=f"state {status.state if status else NodeState.PLANNED}",
        )
    is_as_before = status.state is NodeState.QUARANTINED and _was_ready(journal, node)
    now = NodeState.READY if is_as_before else NodeState.CLAIMED
    _set_aside(journal, state_dir, node, now, "release", why)
    return status.state, now


def _was_ready(journal: Journal, node: str) -> bool:
    """Whether the last quarantine found the node ready."""
    acts = [event for event in journal.events.of(node=node) if event.is_act and event.what == QUARANTINE]
    before = [(event.detail or {}).get("before") for event in acts]
    while before and before[-1] == NodeState.QUARANTINED.value:
        before.pop()  # said twice
    return before[-1:] == [NodeState.READY.value]


def unfinished_run(journal: Journal, node: str) -> NodeRun | None:
    """The newest run of a node, where it has not ended."""
    last = journal.runs.last_of_node(node)
    return last if last is not None and last.state in ("running", "waiting") else None


def _close(journal: Journal, last: NodeRun, why: str) -> None:
    journal.runs.set_node(last.run, last.node, "cancelled", why)
    status = journal.nodes.get(last.node)
    if status is not None and status.state is NodeState.PROVISIONING:
        journal.nodes.set_state(last.node, NodeState.FAILED, f"{CANCELLED}: {why}", last.run)
    finish_run(journal, last.run)


def finish_run(journal: Journal, run: str) -> None:
    """Record the result of a run whose nodes have all ended."""
    states = {item.state for item in journal.runs.nodes_of(run)}
    if states & {"running", "waiting"}:
        return
    failed = bool(states & {"failed", "skipped"})
    journal.runs.finish(run, "failed" if failed else "cancelled" if "cancelled" in states else "ok")


def _set_aside(journal: Journal, state_dir: Path, node: str, state: NodeState, act: str, why: str) -> None:
    with NodeLock(state_dir, node):
        journal.leases.check_free(node)
        before = journal.nodes.get(node)
        detail = {"before": (before.state if before is not None else NodeState.PLANNED).value}
        journal.events.act(act, node=node, why=why, detail=detail)
        journal.nodes.set_state(node, state, why)


def _last_told(journal: Journal, node: str) -> str:
    last = journal.runs.last_of_node(node)
    return "it was never worked on" if last is None else f"run {last.run}: {last.state}"
