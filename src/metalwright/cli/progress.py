"""Progress of a run on stderr: one line an event, so that it reads the same in a terminal, a log and a pull request."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from metalwright.lifecycle import Failed
from metalwright.model.phase import Phase

WAIT_LINE_EVERY_S = 5.0
HIDDEN_EVIDENCE = frozenset({"problems", "findings"})


class ProgressLines:
    """Prints what the runner tells. A waiting node says so when its reason changes, or every five seconds.

    ``usual_s``: phase → seconds that it usually takes, told once when the phase begins to act.
    """

    def __init__(self, console: Console, usual_s: Mapping[Phase, float] | None = None) -> None:
        self._console = console
        self._usual_s = usual_s or {}
        self._announced: dict[str, Phase] = {}
        self._begun = time.monotonic()
        self._last_wait: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def phase_started(self, node: str, phase: Phase) -> None:
        """Silent: the outcome follows."""

    def acting(self, node: str, phase: Phase, why: str) -> None:
        """Something is about to be changed."""
        usual_s = self._usual_s.get(phase)
        is_first = self._announced.get(node) is not phase
        self._announced[node] = phase
        self._line(node, phase, f"{why} (usually {usual_s:.0f} s)" if usual_s and is_first else why)

    def waiting(self, node: str, phase: Phase, why: str) -> None:
        """Nothing to do but wait."""
        now = time.monotonic()
        said, when = self._last_wait.get(node, ("", 0.0))
        if why.split()[:1] == said.split()[:1] and now - when < WAIT_LINE_EVERY_S:
            return
        self._last_wait[node] = (why, now)
        self._line(node, phase, f"… {why}", style="dim")

    def phase_done(self, node: str, phase: Phase, seconds: float, evidence: dict[str, Any]) -> None:
        """A phase is true."""
        told = " ".join(f"{key}={value}" for key, value in evidence.items() if key not in HIDDEN_EVIDENCE and value)
        self._line(node, phase, f"ok in {seconds:.1f} s  {told[:90]}".rstrip(), style="green")

    def node_failed(self, node: str, phase: Phase, failure: Failed) -> None:
        """The node stops here; the code is what runbooks call it."""
        self._line(node, phase, f"FAILED ({failure.code}): {failure.what}", style="bold red")
        for name, text in (("expected", failure.expected), ("found", failure.found), ("hint", failure.hint)):
            if text:
                self._line(node, phase, f"  {name}: {text}")

    def node_ready(self, node: str) -> None:
        """All phases are true."""
        self._line(node, Phase.READY, "the node is ready", style="bold green")

    def _line(self, node: str, phase: Phase, text: str, style: str | None = None) -> None:
        with self._lock:
            elapsed = time.monotonic() - self._begun
            self._console.print(f"{elapsed:7.1f}s  {node:<12} {phase:<12} {text}", style=style, markup=False)
