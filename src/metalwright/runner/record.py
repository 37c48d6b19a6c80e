"""The durable history of one node in one run: intents before acts, outcomes after them, node states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from metalwright.errors import MetalwrightError
from metalwright.journal.journal import Journal
from metalwright.journal.records import NodeRunState, PhaseRecord
from metalwright.lifecycle import CANCELLED, NOT_TRIED, TOO_MANY_FAILED, Act, Done, Effect, Failed, refuse_repetition
from metalwright.model.phase import NodeState, Phase
from metalwright.runner.custody import cancel_asked
from metalwright.workspace import Workspace

SETTLED = frozenset({NodeState.READY, NodeState.HELD})
JUDGING = frozenset({Phase.SOFTWARE, Phase.ACCEPT, Phase.READY})
"""Phases whose failure means that the node itself is not fit, whatever it was before."""


@dataclass
class JournalRecord:
    """Implements :class:`metalwright.runner.turn.Record` over the journal. ``plan`` is the digest acted under."""

    journal: Journal
    run: str
    node: str
    recipe: str
    plan: str | None = None
    _open: PhaseRecord | None = field(default=None, init=False)
    _has_acted: bool = field(default=False, init=False)

    def phase_started(self, phase: Phase) -> None:
        """Intent, durable before anything is done."""
        self._open = self.journal.runs.begin_phase(self.run, self.node, phase, self.recipe)
        if not self._was_settled():
            self.journal.nodes.set_state(self.node, NodeState.PROVISIONING, f"{phase}", self.run)

    def refusal(self, phase: Phase, act: Act) -> Failed | None:
        """Refuse what failed twice in the same way with this recipe."""
        known = self.journal.attempts.get(self.node, phase, self.recipe)
        return refuse_repetition(act, self.node, known.identical_failures, known.last_failure)

    def cancel_asked(self) -> str | None:
        """Who asked to cancel, and why."""
        return cancel_asked(self.journal, self.node, self.run)

    def acting(self, phase: Phase, act: Act) -> None:
        """The act, its reason and its plan go into the audit log first."""
        if act.effect is Effect.READ:
            return
        self.journal.events.act(
            f"{phase}: {act.name}",
            why=act.why,
            node=self.node,
            run=self.run,
            plan=self.plan,
            detail={"effect": act.effect.value},
        )
        if act.name not in ("software", "undrain"):
            self._has_acted = True
            self.journal.nodes.set_state(self.node, NodeState.PROVISIONING, f"{phase}: {act.why}", self.run)

    def acted(self, phase: Phase, act: Act, evidence: dict[str, Any]) -> None:
        """What the act reported."""
        if evidence.get("changed"):
            self._has_acted = True
        self.journal.events.note(f"{phase}: {act.name} done", node=self.node, run=self.run, detail=evidence)

    def phase_done(self, phase: Phase, done: Done) -> None:
        """Outcome with its evidence."""
        del phase
        evidence = {**done.evidence, **({"deferred": list(done.deferred)} if done.deferred else {})}
        self._finish("ok", evidence=evidence)

    def failed(self, phase: Phase, failure: Failed) -> None:
        """Outcome with what was expected, found and hinted; a node that was not begun stays what it was."""
        if failure.code == TOO_MANY_FAILED and self._open is None:
            self.journal.runs.set_node(self.run, self.node, "skipped", failure.what)
            return
        error = MetalwrightError(
            failure.what, where=self.node, expected=failure.expected, found=failure.found, hint=failure.hint
        )
        was_tried = failure.code not in NOT_TRIED
        self._finish("failed", error=error, evidence={"code": failure.code}, is_attempt=was_tried)
        if self._has_acted or phase in JUDGING or not self._was_settled():
            self.journal.nodes.set_state(self.node, NodeState.FAILED, f"{phase}: {failure.what}", self.run)
        result: NodeRunState = "cancelled" if failure.code in (CANCELLED, TOO_MANY_FAILED) else "failed"
        self.journal.runs.set_node(self.run, self.node, result, f"{phase}: {failure.what}")

    def finished(self, phase: Phase) -> None:
        """All phases that were asked for are true; *ready* itself was set with the known-good tuple."""
        told = None if phase is Phase.READY else f"stopped after {phase}, as asked"
        self.journal.runs.set_node(self.run, self.node, "ok", told)

    def _finish(self, result: Any, **values: Any) -> None:
        if self._open is not None:
            self.journal.runs.finish_phase(self._open, result, **values)
            self._open = None

    def _was_settled(self) -> bool:
        status = self.journal.nodes.get(self.node)
        return status is not None and status.state in SETTLED


def forget_failures(workspace: Workspace, nodes: Iterable[str]) -> None:
    """Let every phase of these nodes act again, however often it failed; audited."""
    for node in nodes:
        workspace.journal.attempts.reset(node, why="--retry: the cause is said to be repaired")
