"""Verdicts come from results, never from their absence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.desired import blueprint

from metalwright.acceptance.verdicts import blueprint_results, certified_results, judge, overall, read_junit
from metalwright.model.certificate import TestResult, TestVerdict

EXPECTED: dict[str, Any] = {
    "checks": {
        "service": [{"id": "ssh"}, {"id": "chrony"}],
        "measured": [{"id": "cpu-hash", "floor": 20.0, "unit": "MB/s"}],
    }
}


def case(name: str, inside: str = "") -> str:
    return f'<testcase classname="x" name="{name}" time="0.1">{inside}</testcase>'


def document(*cases: str) -> str:
    return f'<testsuites><testsuite name="pytest">{"".join(cases)}</testsuite></testsuites>'


def result(verdict: TestVerdict) -> TestResult:
    return TestResult(name="x", verdict=verdict)


def read(*cases: str) -> dict[str, tuple[str, str | None]]:
    return {name: (test.verdict, test.why) for name, test in read_junit(document(*cases), EXPECTED).items()}


def test_a_case_without_children_passed() -> None:
    assert read(case("test_service[ssh]")) == {"service:ssh": ("PASS", None)}


@pytest.mark.parametrize(
    ("inside", "verdict", "why"),
    [
        ('<failure message="AssertionError: ssh is dead&#10;assert 1 == 2">trace</failure>', "FAIL", "ssh is dead"),
        ('<failure message="assert 1 == 2">trace</failure>', "FAIL", "assert 1 == 2"),
        ('<error message="failed on setup">trace</error>', "NOT-RUN", "failed on setup"),
        ('<skipped message="unknown speed" type="pytest.skip">x</skipped>', "NOT-RUN", "unknown speed"),
        (
            '<properties><property name="transport" value="gone"/></properties><failure message="x"/>',
            "NOT-RUN",
            "gone",
        ),
        ('<properties><property name="hang" value="slow"/></properties><failure message="x"/>', "FAIL", "hang: slow"),
    ],
)
def test_outcomes_are_told_apart(inside: str, verdict: str, why: str) -> None:
    assert read(case("test_service[ssh]", inside)) == {"service:ssh": (verdict, why)}


def test_a_measured_case_carries_value_floor_and_unit() -> None:
    inside = '<properties><property name="value" value="31.5"/></properties>'
    (found,) = read_junit(document(case("test_measured[cpu-hash]", inside)), EXPECTED).values()
    assert found == TestResult(name="cpu-hash", verdict="PASS", value=31.5, floor=20.0, unit="MB/s")


def test_cases_that_nobody_asked_for_are_left_out() -> None:
    assert read(case("test_service[telnet]"), case("test_other"), case("")) == {}


@pytest.mark.parametrize("text", ["", "not xml", "<testsuites>"])
def test_a_broken_document_has_no_results(text: str) -> None:
    assert read_junit(text, EXPECTED) == {}


def test_a_required_check_without_a_result_is_not_run() -> None:
    tests = judge(EXPECTED, read_junit(document(case("test_service[ssh]")), EXPECTED), why_missing="gone")
    assert [(test.name, test.verdict, test.why) for test in tests] == [
        ("service:ssh", "PASS", None),
        ("service:chrony", "NOT-RUN", "gone"),
        ("cpu-hash", "NOT-RUN", "gone"),
    ]


@given(st.lists(st.sampled_from(["PASS", "FAIL", "NOT-RUN"])))
def test_only_passes_and_at_least_one_are_a_pass(verdicts: list[TestVerdict]) -> None:
    found = overall([result(verdict) for verdict in verdicts])
    assert (found == "PASS") == (bool(verdicts) and all(verdict == "PASS" for verdict in verdicts))
    assert (found == "FAIL") == ("FAIL" in verdicts)


def test_the_blueprints_tests_take_values_from_both_sides() -> None:
    measured = TestResult(name="cpu-hash", verdict="PASS", value=30.0, floor=20.0, unit="MB/s")
    found = blueprint_results(blueprint(), [measured], {"power": 212.0})
    assert [(test.name, test.verdict, test.value, test.unit) for test in found] == [
        ("cpu-hash", "PASS", 30.0, "MB/s"),
        ("disk-read", "NOT-RUN", None, "MB/s"),
        ("boot-id", "NOT-RUN", None, None),
        ("power", "PASS", 212.0, "W"),
    ]


def test_a_certificate_lists_checks_and_every_test_of_the_blueprint() -> None:
    ssh = TestResult(name="service:ssh", verdict="PASS")
    measured = TestResult(name="cpu-hash", verdict="PASS", value=30.0, floor=20.0, unit="MB/s")
    found = certified_results(blueprint(), [ssh, measured], {})
    assert [test.name for test in found] == ["service:ssh", "cpu-hash", "disk-read", "boot-id", "power"]
    assert overall(found) == "NOT-RUN", "nobody measured the power"


def test_a_value_that_is_not_known_is_no_pass() -> None:
    power = blueprint_results(blueprint(), [], {"power": None})[-1]
    assert (power.name, power.verdict, power.why) == ("power", "NOT-RUN", "no result")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_value_that_is_no_number_is_no_pass(value: float) -> None:
    for floor in ({"record": True}, {"floor": 100, "unit": "W"}):
        (power,) = blueprint_results(blueprint(acceptance=[{"test": "power", **floor}]), [], {"power": value})
        assert (power.verdict, power.value, power.why) == ("NOT-RUN", None, f"no number: {value}")


def test_a_value_under_its_floor_fails() -> None:
    wanted = blueprint(acceptance=[{"test": "power", "floor": 100, "unit": "W"}])
    (power,) = blueprint_results(wanted, [], {"power": 90.0})
    assert (power.verdict, power.why) == ("FAIL", "90.0 W is under the floor of 100.0")


@pytest.mark.parametrize("name", ["nccl-all-reduce", "no-such-test"])
def test_what_cannot_run_is_not_run_even_with_a_value(name: str) -> None:
    wanted = blueprint(acceptance=[{"test": name, "floor": 1, "unit": "GB/s"}])
    (found,) = blueprint_results(wanted, [], {name: 1e9})
    assert found.verdict == "NOT-RUN"
