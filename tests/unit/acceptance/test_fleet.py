"""A value that is far from its fleet is found on both sides; a fleet of few judges nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.acceptance.fleet import LEAST_NODES, against_fleet, band_of
from metalwright.model.blueprint import AcceptanceTest
from metalwright.model.certificate import TestResult, TestVerdict

FLEET = (478.0, 480.0, 481.0, 479.0, 482.0, 300.0)
"""One of them is bad: neither the median nor the usual deviation follows it."""


def asked(band: str | None, floor: float | None = 400) -> AcceptanceTest:
    return AcceptanceTest.model_validate({"test": "x", "floor": floor, "record": True, "fleet_band": band})


def judged(
    value: float | None, band: str | None, fleet: tuple[float, ...] = FLEET, verdict: TestVerdict = "PASS"
) -> TestResult:
    return against_fleet(TestResult(name="x", verdict=verdict, value=value, unit="GB/s"), asked(band), fleet)


def test_the_band_is_a_share_of_the_median_or_a_number_of_usual_deviations() -> None:
    share, robust = band_of(FLEET, "5 %"), band_of(FLEET, "4 MAD")
    assert share is not None
    assert robust is not None
    assert share.median == 479.5
    assert [share.low, share.high] == pytest.approx([455.525, 503.475])
    assert robust.deviation == pytest.approx(1.4826 * 1.5)
    assert robust.high == pytest.approx(479.5 + 4 * 1.4826 * 1.5)


@pytest.mark.parametrize(("value", "verdict"), [(455, "FAIL"), (456, "PASS"), (503, "PASS"), (504, "FAIL")])
def test_an_outlier_fails_on_both_sides(value: float, verdict: str) -> None:
    assert judged(value, "5 %").verdict == verdict


def test_what_was_compared_is_said() -> None:
    assert judged(440, "5 %").why == (
        "440 GB/s is under the band of 6 other nodes, 455.525 to 503.475 GB/s around 479.5"
    )
    assert str(judged(480, "5 %").why).startswith("within the band of 6 other nodes")


@given(st.lists(st.floats(1, 1e6), max_size=LEAST_NODES - 1), st.floats(400, 1e9))
def test_too_few_nodes_judge_nobody_and_that_is_said(fleet: list[float], value: float) -> None:
    found = judged(value, "5 %", tuple(fleet))
    assert found.verdict == "PASS"
    assert found.why == f"{len(fleet)} other nodes have a value, a band needs 5: the floor alone counts"


def test_without_a_floor_too_few_nodes_judge_by_nothing() -> None:
    result = TestResult(name="x", verdict="PASS", value=1.0)
    assert str(against_fleet(result, asked("5 %", None), ()).why).endswith("recorded and judged by nothing")


def test_a_fleet_that_agrees_to_the_digit_still_allows_one_per_cent() -> None:
    same = (100.0,) * 5
    assert judged(100.9, "4 MAD", same).verdict == "PASS"
    assert judged(101.1, "4 MAD", same).verdict == "FAIL"


@given(st.floats(allow_nan=False), st.lists(st.floats(1, 1e6), max_size=12), st.sampled_from(["5 %", "4 MAD", None]))
def test_a_band_never_makes_a_pass_of_anything_else(value: float, fleet: list[float], band: str | None) -> None:
    verdicts: tuple[TestVerdict, ...] = ("FAIL", "NOT-RUN")
    for verdict in verdicts:
        assert judged(value, band, tuple(fleet), verdict).verdict == verdict
    assert judged(None, band, tuple(fleet)).why is None


@pytest.mark.parametrize("text", ["5", "5%", "five %", "-5 %", "5 SD", " 5 %"])
def test_a_band_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="fleet_band"):
        asked(text)
