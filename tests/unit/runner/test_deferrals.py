"""A fact that the BMC could not tell is settled only by a witness that looked at it and passed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metalwright import matching
from metalwright.matching.witnesses import witness_of
from metalwright.model.certificate import TestResult
from metalwright.runner.deferrals import unheard, unsettled


def seen(name: str, verdict: str = "PASS") -> TestResult:
    return TestResult.model_validate({"name": name, "verdict": verdict})


@pytest.mark.parametrize(
    ("fact", "witness"),
    [
        ("identity uuid", "stamp:stamp"),
        ("identity-serial serial", "stamp:stamp"),
        ("system-disk Bay 1, Bay 2", "stamp:stamp"),
        ("unknown-cpus", "cpus:host"),
        ("unknown-cpu-model CPU 1", "cpu_model:smbios"),
        ("unknown-memory", "dimms:smbios"),
        ("unknown-dimms", "dimms:smbios"),
        ("unknown-dimm-size P1-DIMMA1", "dimms:smbios"),
        ("unknown-drives", "drives:system"),
        ("unknown-nics", "nics:host"),
        ("unknown-gpus", "gpus:host"),
        ("unknown-gpu-model SXM3", "gpu_model:driver"),
        ("unknown-manufacturer", "product:smbios"),
        ("unknown-model", "product:smbios"),
    ],
)
def test_the_right_witness_settles_a_fact(fact: str, witness: str) -> None:
    assert unsettled((fact,), (seen(witness),)) == ()
    for tests in ((seen(witness, "FAIL"),), (seen(witness, "NOT-RUN"),), (seen("sshd:x11forwarding"),), ()):
        (left,) = unsettled((fact,), tests)
        assert left.startswith(f"{fact} (the ")


@pytest.mark.parametrize(
    "fact", ["unknown-dimms", "unknown-memory", "unknown-cpu-model CPU 1", "unknown-gpu-model SXM3"]
)
def test_a_coarse_look_settles_no_fine_fact(fact: str) -> None:
    """MemTotal with its share for firmware hides a missing DIMM; the PCI bus counts GPUs and does not name them."""
    assert unsettled((fact,), (seen("memory:host"), seen("cpus:host"), seen("gpus:host"))) != ()


def test_one_failing_check_among_several_leaves_the_fact_open() -> None:
    tests = (seen("drives:system"), seen("drives:data", "FAIL"))
    assert unsettled(("unknown-drives",), tests) == ("unknown-drives (the operating system (block devices))",)


def test_a_fact_without_a_witness_stays_open_and_says_who_could_tell() -> None:
    left = unsettled(("firmware gpu", "unknown-psus"), (seen("cpus:host"),))
    assert left == (
        "firmware gpu (no witness: only a BMC that tells it)",
        "unknown-psus (a person who looks into the machine)",
    )


def test_a_certificate_that_never_heard_the_witness_is_made_again() -> None:
    assert unheard(("unknown-dimms", "unknown-psus"), (seen("cpus:host"),)) == ("unknown-dimms",)
    assert unheard(("unknown-dimms",), (seen("dimms:smbios", "NOT-RUN"),)) == ()


def test_every_deferred_finding_of_match_has_a_witness() -> None:
    """The codes that the matching can defer, read from its own source."""
    source = "".join(path.read_text() for path in Path(matching.__file__).parent.glob("*.py"))
    codes = {f"unknown-{part}" for part in re.findall(r'unknown\(\s*"([a-z-]+)"', source)}
    codes |= {f"unknown-{part}s" for part in re.findall(r'look\.count\(\s*"([a-z]+)"', source)}
    assert len(codes) >= 14
    assert [code for code in sorted(codes) if witness_of(code) is None] == []
