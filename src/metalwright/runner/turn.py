"""One turn of the state table for one node: observe, decide, act or wait. The same function for every runner."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from metalwright.errors import LockHeldError, MetalwrightError
from metalwright.lifecycle import (
    Act,
    Decision,
    Done,
    Failed,
    History,
    Timing,
    Wait,
    decide,
    heed_cancel,
    heed_limit,
    over_limit,
)
from metalwright.lifecycle.observations import Observation
from metalwright.model.phase import PHASES, Phase
from metalwright.runner.events import RunEvents
from metalwright.runner.limits import FailureLimit

NEED_THE_SYSTEM = frozenset({Phase.SOFTWARE, Phase.ACCEPT, Phase.READY})


class Handlers(Protocol):
    """The edges of one node: reading the world, and changing it. Neither sleeps."""

    def observe(self, phase: Phase, deferred: tuple[str, ...]) -> Observation:
        """Read what the phase needs to know; ``deferred`` are the facts that earlier phases left open.

        Raises:
            MetalwrightError: the world could not be read.
        """
        ...

    def act(self, phase: Phase, act: Act) -> dict[str, Any]:
        """Do one thing; returns evidence.

        Raises:
            MetalwrightError: it failed; nothing is known about its effect.
        """
        ...

    def clear_way(self, act: Act) -> Wait | Failed | None:
        """What must end before an act that disturbs a workload, or why it must not be done; None: go on."""
        ...

    def close(self) -> None:
        """The run of the node is over: end whatever it started beside the machine."""
        ...

    def cleanup(self, name: str) -> None:
        """Leave the machine safe after a failure.

        Raises:
            MetalwrightError: the machine could not be left safe.
        """
        ...


class Record(Protocol):
    """Durable history of one node in one run; every method returns after the write is on disk."""

    def phase_started(self, phase: Phase) -> None:
        """The phase is looked at for the first time in this invocation."""

    def refusal(self, phase: Phase, act: Act) -> Failed | None:
        """Why the history of this node forbids the act now, or None."""
        ...

    def cancel_asked(self) -> str | None:
        """Who asked to cancel this run of the node, and why; None: nobody did."""
        ...

    def acting(self, phase: Phase, act: Act) -> None:
        """Written before the act."""

    def acted(self, phase: Phase, act: Act, evidence: dict[str, Any]) -> None:
        """Written after the act."""

    def phase_done(self, phase: Phase, done: Done) -> None:
        """The phase is true."""

    def failed(self, phase: Phase, failure: Failed) -> None:
        """The node stops here."""

    def finished(self, phase: Phase) -> None:
        """All phases that were asked for are true; ``phase`` is the last one."""


@dataclass
class NodeProgress:
    """Where one node is in this invocation. Starts at the first phase: no recorded result is believed."""

    node: str
    index: int = 0
    acts: dict[str, int] = field(default_factory=dict)
    phase_begun: float = 0.0
    last_act: float = 0.0
    is_announced: bool = False
    deferred: tuple[str, ...] = ()
    finished: bool = False
    failure: Failed | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def phase(self) -> Phase:
        """The phase under way."""
        return PHASES[self.index]

    @property
    def has_begun(self) -> bool:
        """Whether it was looked at in this invocation."""
        return self.is_announced or self.index > 0

    def history(self, now: float) -> History:
        """What the table needs to know of this invocation."""
        return History(dict(self.acts), now - (self.last_act or self.phase_begun))


@dataclass(frozen=True)
class NodeTurner:
    """Turns one node up to ``last_phase``. ``clock`` is monotonic seconds.

    ``command`` is what somebody typed, for hints that add an option to it; ``limit`` is that of the run.
    """

    handlers: Handlers
    record: Record
    events: RunEvents
    timing: Timing
    last_phase: Phase = Phase.READY
    clock: Callable[[], float] = time.monotonic
    command: str = "metalwright provision NODE"
    limit: FailureLimit = field(default_factory=lambda: FailureLimit(1))

    def turn(self, progress: NodeProgress) -> float:
        """Do one step; returns the seconds until the next turn (0: at once)."""
        exceeded = self.limit.exceeded()
        if exceeded is not None and not progress.has_begun:
            self._fail(progress, over_limit(exceeded, has_begun=False))
            return 0.0
        self._announce(progress)
        decision = self._decide(progress)
        match decision:
            case Done():
                self._finish_phase(progress, decision)
            case Act():
                return self._act(progress, decision)
            case Wait():
                return self._wait(progress, decision)
            case Failed():
                self._fail(progress, decision)
        return 0.0

    def _announce(self, progress: NodeProgress) -> None:
        if progress.is_announced:
            return
        progress.is_announced = True
        progress.phase_begun = self.clock()
        progress.last_act = 0.0
        progress.acts = {}
        self.record.phase_started(progress.phase)
        self.events.phase_started(progress.node, progress.phase)

    def _decide(self, progress: NodeProgress) -> Decision:
        try:
            seen = self.handlers.observe(progress.phase, progress.deferred)
        except MetalwrightError as error:
            return self._unreadable(progress, error)
        decision = decide(seen, progress.history(self.clock()), self.timing)
        has_acted = bool(progress.acts)
        decision = heed_cancel(decision, progress.phase, self.record.cancel_asked(), has_acted=has_acted)
        return heed_limit(decision, progress.phase, self.limit.exceeded(), has_acted=has_acted)

    def _unreadable(self, progress: NodeProgress, error: MetalwrightError) -> Decision:
        """A BMC that was just told to change may be silent for a while, and so may a busy system."""
        failure = failure_from(error)
        since_act = self.clock() - progress.last_act
        if (
            progress.last_act
            and failure.code in ("bmc-unreachable", "bmc-answer")
            and (since_act < self.timing.bmc_settle_s)
        ):
            return Wait(2.0, f"the BMC settles ({error.what})", self.timing.bmc_settle_s, failure)
        if progress.phase in NEED_THE_SYSTEM and failure.code in ("ssh-unreachable", "ssh-timeout"):
            return Wait(5.0, f"the system is busy ({error.what})", self.timing.system_answers_s, failure)
        return failure

    def _act(self, progress: NodeProgress, act: Act) -> float:
        phase = progress.phase
        refusal = None if act.name in progress.acts else self.record.refusal(phase, act)
        first = refusal or self.handlers.clear_way(act)
        if isinstance(first, Wait):
            return self._wait(progress, first)
        if first is not None:
            self._fail(progress, first)
            return 0.0
        self.record.acting(phase, act)
        self.events.acting(progress.node, phase, act.why)
        progress.acts[act.name] = progress.acts.get(act.name, 0) + 1
        try:
            evidence = self.handlers.act(phase, act)
        except MetalwrightError as error:
            self._fail(progress, replace(failure_from(error), cleanup=act.cleanup))
            return 0.0
        finally:
            progress.last_act = self.clock()
        self.record.acted(phase, act, evidence)
        return 0.0

    def _wait(self, progress: NodeProgress, wait: Wait) -> float:
        since = self.clock() - (progress.last_act or progress.phase_begun)
        if since >= wait.limit_s:
            self._fail(progress, wait.when_over)
            return 0.0
        self.events.waiting(progress.node, progress.phase, wait.why)
        return wait.seconds

    def _finish_phase(self, progress: NodeProgress, done: Done) -> None:
        phase = progress.phase
        seconds = self.clock() - progress.phase_begun
        progress.seconds[phase] = round(seconds, 2)
        progress.deferred = (*progress.deferred, *done.deferred)
        self.record.phase_done(phase, done)
        self.events.phase_done(progress.node, phase, seconds, dict(done.evidence))
        if phase is self.last_phase:
            self.record.finished(phase)
            progress.finished = True
            if phase is Phase.READY:
                self.events.node_ready(progress.node)
            return
        progress.index += 1
        progress.is_announced = False

    def _fail(self, progress: NodeProgress, failure: Failed) -> None:
        phase = progress.phase
        failure = failure.addressed(progress.node, self.command.replace("NODE", progress.node))
        progress.failure = failure
        progress.finished = True
        self.limit.count(progress.node, failure.code)
        progress.seconds[phase] = round(self.clock() - progress.phase_begun, 2)
        self.record.failed(phase, failure)
        if failure.cleanup:
            try:
                self.handlers.cleanup(failure.cleanup)
            except MetalwrightError as error:
                self.events.waiting(progress.node, phase, f"cleanup {failure.cleanup} failed: {error.what}")
        self.events.node_failed(progress.node, phase, failure)


def failure_code(error: MetalwrightError) -> str:
    """The code of an error: its class in kebab case, ``BmcNoAnswerError`` → ``bmc-no-answer``."""
    if isinstance(error, LockHeldError):
        return "locked"
    return re.sub(r"(?<!^)(?=[A-Z])", "-", type(error).__name__.removesuffix("Error")).lower()


def failure_from(error: MetalwrightError) -> Failed:
    """An error of the edges as the table's way of stopping, with everything that it said."""
    return Failed(
        code=failure_code(error),
        what=f"{error.where}: {error.what}" if error.where else error.what,
        expected=error.expected,
        found=error.found,
        hint=error.hint,
    )
