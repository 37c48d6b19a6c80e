"""Deferred facts and the witnesses that settle them: what the BMC could not tell, the node's own eyes must."""

from __future__ import annotations

from collections.abc import Sequence

from metalwright.matching.witnesses import witness_of
from metalwright.model.certificate import TestResult


def unsettled(deferred: Sequence[str], tests: Sequence[TestResult]) -> tuple[str, ...]:
    """The deferred facts for which no witness has spoken, or not all of its checks passed; each says who could."""
    return tuple(f"{fact} ({_who(fact)})" for fact in deferred if not _is_settled(fact, tests))


def unheard(deferred: Sequence[str], tests: Sequence[TestResult]) -> tuple[str, ...]:
    """The deferred facts that have a witness of whose checks none is among the tests: a new acceptance would ask it."""
    return tuple(fact for fact in deferred if _checks(fact) and not _heard(fact, tests))


def _is_settled(fact: str, tests: Sequence[TestResult]) -> bool:
    heard = _heard(fact, tests)
    return bool(heard) and all(test.verdict == "PASS" for test in heard)


def _heard(fact: str, tests: Sequence[TestResult]) -> list[TestResult]:
    checks = _checks(fact)
    return [test for test in tests if checks and test.name.startswith(checks)]


def _checks(fact: str) -> tuple[str, ...]:
    """The fact starts with the code of its finding; what follows is the slot."""
    witness = witness_of(fact.partition(" ")[0])
    return witness.checks if witness is not None else ()


def _who(fact: str) -> str:
    witness = witness_of(fact.partition(" ")[0])
    return witness.who if witness is not None else "no witness: only a BMC that tells it"
