"""Deferred facts and the witnesses that settle them: what the BMC could not tell, the node's own eyes must."""

from __future__ import annotations

from collections.abc import Sequence

from metalwright.model.certificate import TestResult

WITNESSES = {
    "identity": ("stamp:",),
    "cpu": ("cpus:",),
    "memory": ("memory:",),
    "dimm": ("memory:",),
    "gpu": ("gpus:",),
    "nic": ("nics:",),
    "drive": ("drives:",),
    "system": ("stamp:",),
}
"""First word of a deferred fact → prefixes of the acceptance checks that settle it. The stamp stands for the
ramdisk's own identity check: it is written only after that has passed."""


def unsettled(deferred: Sequence[str], tests: Sequence[TestResult]) -> tuple[str, ...]:
    """The deferred facts for which no witness has spoken, or not all of its checks passed."""
    return tuple(fact for fact in deferred if not _is_settled(fact, tests))


def _is_settled(fact: str, tests: Sequence[TestResult]) -> bool:
    words = [word.removesuffix("s") for word in fact.replace("unknown-", "").replace("-", " ").split()]
    prefixes = next((WITNESSES[word] for word in words[:2] if word in WITNESSES), ())
    heard = [test for test in tests if prefixes and test.name.startswith(prefixes)]
    return bool(heard) and all(test.verdict == "PASS" for test in heard)
