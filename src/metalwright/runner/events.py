"""What the runner tells while it works: one protocol, so that a terminal, a log or a test can listen."""

from __future__ import annotations

from typing import Any, Protocol

from metalwright.lifecycle import Failed
from metalwright.model.phase import Phase


class RunEvents(Protocol):
    """Receiver of progress; called from worker threads, one node at a time."""

    def phase_started(self, node: str, phase: Phase) -> None:
        """A phase is looked at."""

    def acting(self, node: str, phase: Phase, why: str) -> None:
        """Something is about to be changed."""

    def waiting(self, node: str, phase: Phase, why: str) -> None:
        """Nothing to do but wait."""

    def phase_done(self, node: str, phase: Phase, seconds: float, evidence: dict[str, Any]) -> None:
        """A phase is true."""

    def node_failed(self, node: str, phase: Phase, failure: Failed) -> None:
        """The node stops here."""

    def node_ready(self, node: str) -> None:
        """All phases are true."""


class SilentEvents:
    """Listens to nothing."""

    def phase_started(self, node: str, phase: Phase) -> None:
        """Ignored."""

    def acting(self, node: str, phase: Phase, why: str) -> None:
        """Ignored."""

    def waiting(self, node: str, phase: Phase, why: str) -> None:
        """Ignored."""

    def phase_done(self, node: str, phase: Phase, seconds: float, evidence: dict[str, Any]) -> None:
        """Ignored."""

    def node_failed(self, node: str, phase: Phase, failure: Failed) -> None:
        """Ignored."""

    def node_ready(self, node: str) -> None:
        """Ignored."""
