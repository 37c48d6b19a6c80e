"""Findings: single differences between what is wanted and what was found, and the verdict over them."""

from __future__ import annotations

from typing import Literal

from metalwright.model.base import Frozen

Verdict = Literal["PASS", "FAIL", "DEFERRED"]


class Finding(Frozen):
    """One difference that a technician can act on.

    ``code`` is stable (``cpu-count``, ``drive-missing``, ``unknown-memory`` …). ``verdict`` is FAIL for a
    contradiction and DEFERRED for something unknown that a better witness (ramdisk, OS) must settle.
    """

    code: str
    verdict: Literal["FAIL", "DEFERRED"]
    slot: str | None = None
    expected: str | None = None
    found: str | None = None
    source: str | None = None
    hint: str | None = None


class MatchResult(Frozen):
    """Findings of one node against its blueprint."""

    node: str
    verdict: Verdict
    findings: tuple[Finding, ...] = ()


def overall(findings: tuple[Finding, ...]) -> Verdict:
    """FAIL if anything contradicts, else DEFERRED if anything is unknown, else PASS."""
    verdicts = {finding.verdict for finding in findings}
    if "FAIL" in verdicts:
        return "FAIL"
    return "DEFERRED" if verdicts else "PASS"
