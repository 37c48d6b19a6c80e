"""Power at rest and under load, from readings with their times."""

from __future__ import annotations

import pytest

from metalwright.acceptance.power import PowerReading, power_figures, power_result
from metalwright.acceptance.verdicts import load_times
from metalwright.model.blueprint import AcceptanceTest, PowerBudget
from metalwright.model.certificate import PowerFigures
from metalwright.redfish.power_draw import watts_of

READINGS = [PowerReading(float(second), watts) for second, watts in enumerate((100, 102, 101, 900, 950, 920, 400, 960))]
ASKED = AcceptanceTest.model_validate({"test": "power", "record": True})
BUDGET = PowerBudget(idle_w=100, typical_w=900, max_w=1000)


def test_rest_is_the_median_and_load_the_median_and_the_greatest_of_all_loads() -> None:
    found = power_figures(READINGS, (0, 2), [(3, 5), (7, 9)])
    assert found == PowerFigures(idle=101, typical=935, max=960)


def test_too_few_readings_under_load_are_unknown() -> None:
    assert power_figures(READINGS, (0, 2), [(3, 4)]) == PowerFigures(idle=101)
    assert power_figures([], (0, 2), [(3, 5)]) == PowerFigures()


@pytest.mark.parametrize(
    ("figures", "has_load", "verdict", "value", "why"),
    [
        (PowerFigures(idle=100, typical=900, max=960), True, "PASS", 960, "idle 100 W, typical 900 W, maximum 960 W"),
        (PowerFigures(idle=100), False, "PASS", 100, "idle 100 W; no test of the blueprint loads the node"),
        (PowerFigures(idle=100), True, "NOT-RUN", None, "the BMC told no power under load"),
        (PowerFigures(), False, "NOT-RUN", None, "the BMC told no power at rest"),
        (PowerFigures(typical=900, max=960), True, "NOT-RUN", 960, "the BMC told no power at rest"),
        (PowerFigures(idle=100, typical=900, max=1001), True, "FAIL", 1001, "more than power.max_w"),
    ],
)
def test_power_is_judged_by_what_was_told(
    figures: PowerFigures, has_load: bool, verdict: str, value: float | None, why: str
) -> None:
    found = power_result(ASKED, figures, has_load=has_load, budget=BUDGET, problem=None)
    assert (found.verdict, found.value) == (verdict, value)
    assert why in str(found.why)


@pytest.mark.parametrize(
    ("body", "watts"),
    [
        ({"PowerWatts": {"Reading": 900.5}}, 900.5),
        ({"PowerControl": [{"Name": "no reading"}, {"PowerConsumedWatts": 850}]}, 850),
        ({"PowerControl": [{"PowerConsumedWatts": 0}]}, None),
        ({"PowerControl": [{"PowerConsumedWatts": None}]}, None),
        ({"PowerControl": {"PowerConsumedWatts": 3}}, None),
        ({"PowerWatts": {"Reading": "900"}}, None),
        ({"PowerWatts": {"Reading": True}}, None),
        ({}, None),
        (None, None),
    ],
)
def test_watts_are_read_in_both_forms_of_the_standard(body: object, watts: float | None) -> None:
    assert watts_of(body) == watts


def test_the_times_of_loads_are_those_of_the_tests_that_load() -> None:
    document = """<testsuite>
    <testcase name="test_measured[stress-cpu]"><properties><property name="began" value="10.5"/>
      <property name="ended" value="70.5"/></properties></testcase>
    <testcase name="test_measured[cpu-hash]"><properties><property name="began" value="1"/>
      <property name="ended" value="2"/></properties></testcase>
    <testcase name="test_measured[gpu-burn]"><properties><property name="began" value="80"/></properties></testcase>
    </testsuite>"""
    assert load_times(document) == ((10.5, 70.5),)
    assert load_times("not xml") == ()
