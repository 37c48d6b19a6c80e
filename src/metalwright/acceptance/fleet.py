"""A value against those of its fleet: the median and how far nodes usually are from it (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from metalwright.model.blueprint import AcceptanceTest
from metalwright.model.certificate import TestResult

LEAST_NODES = 5
"""Fewer other nodes are no fleet: the floor alone counts."""

MAD_SCALE = 1.4826
"""Makes the median absolute deviation comparable with a standard deviation of normal values."""

LEAST_SHARE = 0.01
"""A fleet whose values all agree still may differ by this share of the median under a band in ``MAD``."""


@dataclass(frozen=True)
class Band:
    """Where values of the fleet lie; ``deviation`` is the scaled median absolute deviation."""

    nodes: int
    median: float
    deviation: float
    low: float
    high: float


def band_of(values: Sequence[float], rule: str) -> Band | None:
    """The band around the median of the other nodes' ``values``; ``None``: too few of them.

    ``rule`` is a share of the median (``5 %``) or a number of robust deviations (``4 MAD``).
    """
    if len(values) < LEAST_NODES:
        return None
    middle = median(values)
    deviation = MAD_SCALE * median(abs(value - middle) for value in values)
    amount, _, unit = rule.partition(" ")
    if unit == "%":
        reach = float(amount) / 100 * abs(middle)
    else:
        reach = max(float(amount) * deviation, LEAST_SHARE * abs(middle))
    return Band(len(values), middle, deviation, middle - reach, middle + reach)


def against_fleet(result: TestResult, test: AcceptanceTest, others: Sequence[float]) -> TestResult:
    """The result, if it says PASS, judged by the band that the blueprint asks for; says in ``why`` what it was.

    A value above the band fails as well as one below: it was measured in another way, or the node is another machine.
    """
    if result.verdict != "PASS" or result.value is None or test.fleet_band is None:
        return result
    band = band_of(others, test.fleet_band)
    if band is None:
        why = f"{len(others)} other nodes have a value, a band needs {LEAST_NODES}: {_alone(test)}"
        return result.model_copy(update={"why": why})
    shown = f"the band of {band.nodes} other nodes, {band.low:g} to {band.high:g} {result.unit} around {band.median:g}"
    if band.low <= result.value <= band.high:
        return result.model_copy(update={"why": f"within {shown}"})
    side = "under" if result.value < band.low else "over"
    return result.model_copy(update={"verdict": "FAIL", "why": f"{result.value:g} {result.unit} is {side} {shown}"})


def _alone(test: AcceptanceTest) -> str:
    return "the floor alone counts" if test.floor is not None else "it is recorded and judged by nothing"
