"""Power of a node at rest and under load, from readings taken while it was tested (pure). Watts, seconds since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from metalwright.model.blueprint import AcceptanceTest, PowerBudget
from metalwright.model.certificate import PowerFigures, TestResult, TestVerdict

LEAST_READINGS = 3
"""Fewer readings under load are chance: BMCs average over seconds."""

Span = tuple[float, float]
"""When a load began and ended."""


@dataclass(frozen=True)
class PowerReading:
    """What the BMC said at ``time``."""

    time: float
    watts: float


def power_figures(readings: Sequence[PowerReading], rest: Span, loads: Sequence[Span]) -> PowerFigures:
    """``idle``: the median at rest; ``typical`` and ``max``: the median and the greatest of all loads together."""
    at_rest = [reading.watts for reading in readings if rest[0] <= reading.time <= rest[1]]
    loaded = [reading.watts for reading in readings if any(begin <= reading.time <= end for begin, end in loads)]
    enough = len(loaded) >= LEAST_READINGS
    return PowerFigures(
        idle=round(median(at_rest), 1) if at_rest else None,
        typical=round(median(loaded), 1) if enough else None,
        max=round(max(loaded), 1) if enough else None,
    )


def power_result(
    test: AcceptanceTest, figures: PowerFigures, *, has_load: bool, budget: PowerBudget | None, problem: str | None
) -> TestResult:
    """The blueprint's test ``power``: its value is the maximum, or the idle power where nothing loads the node.

    More than ``power.max_w`` of the blueprint fails: racks are planned with it. What the BMC did not tell is NOT-RUN,
    for the reason ``problem``.
    """
    value = figures.max if has_load else figures.idle
    verdict: TestVerdict = "PASS"
    if figures.idle is None or value is None:
        missing = "at rest" if figures.idle is None else "under load"
        verdict, why = "NOT-RUN", f"the BMC told no power {missing}{f': {problem}' if problem else ''}"
    elif budget is not None and value > budget.max_w:
        verdict, why = "FAIL", f"{value:g} W is more than power.max_w of the blueprint, {budget.max_w} W"
    elif has_load:
        why = f"idle {figures.idle:g} W, typical {figures.typical:g} W, maximum {value:g} W"
    else:
        why = f"idle {figures.idle:g} W; no test of the blueprint loads the node"
    return TestResult(name=test.test, verdict=verdict, value=value, floor=test.floor, unit="W", why=why)
