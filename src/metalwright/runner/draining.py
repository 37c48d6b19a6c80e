"""Draining a node before it is disturbed, and giving it back when it is ready: the site's hooks, called and journalled.

A drain that fails or takes too long stops the node before anything was done to it. A node that a run began to drain
counts as drained until an undrain succeeded, so that whichever run makes it ready gives it back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from metalwright.errors import DeployError
from metalwright.journal.journal import Journal
from metalwright.lifecycle import Act, Effect, Failed, Wait
from metalwright.lifecycle.observations import UndrainView
from metalwright.model.deployment import DeploymentState
from metalwright.model.hooks import Hook, HookKind, NodeHooks
from metalwright.model.site import Site
from metalwright.runner.hook_process import HookProcess, start_hook
from metalwright.workspace import RUN_VARIABLE, Workspace

DRAIN, DRAINED, UNDRAINED, NOT_DRAINED = "drain", "drained", "undrained", "not drained"
WRITTEN = (DeploymentState.GO, DeploymentState.DONE)
DISTURBS = frozenset({Effect.RESET, Effect.DESTROY})
BMC_LOGIN = ("METALWRIGHT_BMC_USER", "METALWRIGHT_BMC_PASSWORD")
FIRST_LOOK_S, LAST_LOOK_S = 0.5, 15.0


def hooks_of(workspace: Workspace, node: str) -> NodeHooks | None:
    """The hooks of a node by what git pins it to: its workload runs on that, whatever a rebuild brings it to."""
    repository = workspace.repository
    blueprint = repository.blueprints[repository.node(node).blueprint]
    return next((hooks for hooks in repository.site.hooks if hooks.is_for(blueprint)), None)


def may_carry_work(workspace: Workspace, node: str) -> bool:
    """Whether the node ever joined the pool, by the journal or by ``known-good.lock``."""
    is_recorded = workspace.journal.nodes.known_good(node) is not None
    return is_recorded or workspace.repository.known_good.of_node(node) is not None


def is_given_away(journal: Journal, node: str) -> bool:
    """Whether a drain of the node was begun and no undrain has succeeded since."""
    return journal.events.newest_by_node(DRAIN, UNDRAINED, node=node).get(node) == DRAIN


@dataclass
class Draining:
    """The hooks of one node in one run. ``undrained`` is why a person said to go on without a drain."""

    workspace: Workspace
    node: str
    run: str
    is_rebuild: bool
    undrained: str | None = None
    _running: HookProcess | None = field(default=None, init=False)
    _is_clear: bool = field(default=False, init=False)
    _undrain: UndrainView | None = field(default=None, init=False)

    def clear_way(self, act: Act) -> Wait | Failed | None:
        """What stands between the node's workload and an act that disturbs it; None: the act may be done now.

        A rebuild drains before its first write, everything else before the first restart or written disk.
        """
        disturbs = act.effect is not Effect.READ if self.is_rebuild else act.effect in DISTURBS
        if self._is_clear or not disturbs or self._has_no_workload():
            return None
        hooks = hooks_of(self.workspace, self.node)
        if hooks is None or hooks.drain is None or self._is_overridden():
            self._is_clear = True
            return None
        return self._drain(hooks.drain, act)

    def undrain_view(self) -> UndrainView:
        """Whether the node waits to be given back, and how far that is."""
        if self._running is not None:
            return self._undrain_under_way(self._running)
        if self._undrain is not None:
            return self._undrain
        hooks = hooks_of(self.workspace, self.node)
        is_due = hooks is not None and hooks.undrain is not None and is_given_away(self.workspace.journal, self.node)
        return UndrainView("due" if is_due else "none")

    def undrain(self) -> dict[str, Any]:
        """Begin to give the node back. Raises :class:`DeployError` where the hook cannot be run."""
        hooks = hooks_of(self.workspace, self.node)
        if hooks is None or hooks.undrain is None:
            return {}
        self._running = self._start("undrain", hooks.undrain, f"ready in run {self.run}")
        return {"command": list(self._running.arguments)}

    def stop(self) -> None:
        """End a hook that still runs: the run is over."""
        if self._running is not None:
            self._running.stop()
            self._running = None

    def _has_no_workload(self) -> bool:
        """Whether there is nothing to drain: a node that never joined the pool, or whose disk this run has written."""
        newest = self.workspace.journal.deployments.newest_of_node(self.node, datetime.now(UTC))
        is_written = newest is not None and newest.run == self.run and newest.state in WRITTEN
        return is_written or not may_carry_work(self.workspace, self.node)

    def _drain(self, hook: Hook, act: Act) -> Wait | Failed | None:
        if self._running is None:
            why = f"{act.why} ({'rebuild' if self.is_rebuild else 'provision'})"
            self.workspace.journal.events.act(
                DRAIN, why=why, node=self.node, run=self.run, detail={"command": list(hook.command)}
            )
            try:
                self._running = self._start("drain", hook, why)
            except DeployError as error:
                return _failed("drain", error.what, error.expected, error.found, self.node)
        running = self._running
        code, lasts = running.exit_code, f"{running.seconds:.0f} s of at most {hook.timeout_s:.0f} s"
        if code is None and not running.is_late:
            never = _failed("drain", "the drain hook did not end", None, None, self.node)
            told = f": {running.last_line}" if running.last_line else ""
            return Wait(_pause(running), f"draining, {lasts}{told}", float("inf"), never)
        self.stop()
        if code == 0:
            self._is_clear = True
            self._note(DRAINED, running)
            return None
        return self._unsuccessful("drain", running, code)

    def _undrain_under_way(self, running: HookProcess) -> UndrainView:
        code = running.exit_code
        if code is None and not running.is_late:
            return UndrainView("running", running.last_line, pause_s=_pause(running))
        self.stop()
        if code == 0:
            self._note(UNDRAINED, running)
            self._undrain = UndrainView("none")
        else:
            failure = self._unsuccessful("undrain", running, code)
            self._undrain = UndrainView("failed", failure.what, found=failure.found)
        return self._undrain

    def _unsuccessful(self, kind: HookKind, running: HookProcess, code: int | None) -> Failed:
        what = f"the {kind} hook did not end in time" if code is None else f"the {kind} hook ended with {_status(code)}"
        expected = f"at most {running.timeout_s:.0f} s" if code is None else "exit status 0"
        printed = running.printed or "it printed nothing"
        self.workspace.journal.events.note(
            f"{kind} failed", node=self.node, run=self.run, why=what, detail={"printed": printed}
        )
        return _failed(kind, what, expected, printed, self.node)

    def _note(self, what: str, running: HookProcess) -> None:
        detail = {"printed": running.printed, "seconds": round(running.seconds, 1)}
        self.workspace.journal.events.note(what, node=self.node, run=self.run, detail=detail)

    def _start(self, kind: HookKind, hook: Hook, reason: str) -> HookProcess:
        site = self.workspace.repository.site
        values = {"node": self.node, "fqdn": f"{self.node}.{site.domain}", "run": self.run, "reason": reason}
        environment = {f"METALWRIGHT_{name.upper()}": value for name, value in values.items()}
        return start_hook(
            hook.arguments(values),
            site=self.workspace.paths.root,
            values={**environment, RUN_VARIABLE: self.run, "METALWRIGHT_HOOK": kind},
            timeout_s=hook.timeout_s,
            hidden=(*BMC_LOGIN, *_secret_variables(site)),
        )

    def _is_overridden(self) -> bool:
        """Whether a person said to go on without a drain, now or when the run that is taken up again began."""
        journal = self.workspace.journal
        if self.undrained is None:
            return any(event.what == NOT_DRAINED for event in journal.events.of(node=self.node, run=self.run))
        journal.events.act(NOT_DRAINED, why=self.undrained, node=self.node, run=self.run)
        return True


def _failed(kind: HookKind, what: str, expected: str | None, found: str | None, node: str) -> Failed:
    hint = f"nothing was changed; drain it by hand, then the same command again, or add --undrained REASON for {node}"
    return Failed(code=kind, what=what, expected=expected, found=found, hint=hint)


def _status(code: int) -> str:
    return f"exit status {code}" if code >= 0 else f"signal {-code}"


def _pause(running: HookProcess) -> float:
    """Seconds until the next look: short hooks are noticed at once, long ones cost little."""
    return min(LAST_LOOK_S, FIRST_LOOK_S + running.seconds / 10)


def _secret_variables(site: Site) -> Iterator[str]:
    """Environment variables that the site's references to secrets name: none of them is a hook's business."""
    for text in _texts(site.to_json()):
        kind, _, name = text.partition(":")
        if kind == "env" and name in os.environ:
            yield name


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
