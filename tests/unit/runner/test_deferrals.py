"""A fact that the BMC could not tell is settled only by a witness that looked at it and passed."""

from __future__ import annotations

import pytest

from metalwright.model.certificate import TestResult
from metalwright.runner.deferrals import unsettled


def seen(name: str, verdict: str = "PASS") -> TestResult:
    return TestResult.model_validate({"name": name, "verdict": verdict})


@pytest.mark.parametrize(
    ("fact", "witness"),
    [
        ("identity uuid", "stamp:stamp"),
        ("cpu-count", "cpus:host"),
        ("unknown-memory", "memory:host"),
        ("drive-count system", "drives:system"),
        ("nic-count host", "nics:host"),
        ("unknown-gpus", "gpus:host"),
        ("unknown-cpu-model CPU 1", "cpus:host"),
    ],
)
def test_the_right_witness_settles_a_fact(fact: str, witness: str) -> None:
    assert unsettled((fact,), (seen(witness),)) == ()
    assert unsettled((fact,), (seen(witness, "FAIL"),)) == (fact,)
    assert unsettled((fact,), (seen(witness, "NOT-RUN"),)) == (fact,)
    assert unsettled((fact,), (seen("sshd:x11forwarding"),)) == (fact,)


def test_one_failing_check_among_several_leaves_the_fact_open() -> None:
    tests = (seen("drives:system"), seen("drives:data", "FAIL"))
    assert unsettled(("drive-count",), tests) == ("drive-count",)


def test_a_fact_without_a_witness_stays_open() -> None:
    assert unsettled(("firmware gpu", "unknown-psus"), (seen("cpus:host"),)) == ("firmware gpu", "unknown-psus")
