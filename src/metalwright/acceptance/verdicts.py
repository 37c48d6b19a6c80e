"""From pytest's JUnit XML to verdicts: judged against what was required, never by pytest's exit code (pure)."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metalwright.acceptance.burn_in.tests import BURN_IN
from metalwright.acceptance.catalogue import KNOWN_TESTS
from metalwright.acceptance.expectations import check_name
from metalwright.acceptance.fleet import against_fleet
from metalwright.model.blueprint import AcceptanceTest, Blueprint
from metalwright.model.certificate import TestResult, TestVerdict

WHY_MAX_CHARACTERS = 500
_WORST_FIRST: tuple[TestVerdict, ...] = ("FAIL", "NOT-RUN", "PASS")

_HARMLESS_CHILDREN = {"properties", "system-out", "system-err"}
"""All that the case of a test that passed may hold."""


def overall(results: Sequence[TestResult]) -> TestVerdict:
    """FAIL when one failed; PASS when there are results and all passed; else NOT-RUN."""
    verdicts = {result.verdict for result in results}
    if "FAIL" in verdicts:
        return "FAIL"
    return "PASS" if verdicts == {"PASS"} else "NOT-RUN"


def read_junit(xml_text: str, expected: Mapping[str, Any]) -> dict[str, TestResult]:
    """Results by name (see :func:`~.expectations.check_name`). A document that is no JUnit XML gives none.

    A skip and a failure without evidence (connection lost) are NOT-RUN; a hang is FAIL. Of several results of one
    check the worst counts. A measured test passes only with a number that reaches its floor.
    """
    try:
        root = ElementTree.fromstring(xml_text)  # noqa: S314 - see the import
    except ElementTree.ParseError:
        return {}
    results: dict[str, TestResult] = {}
    for case in root.iter("testcase"):
        result = _read_case(case, expected)
        if result is not None:
            results[result.name] = _worse(results.get(result.name), result)
    return results


def _worse(first: TestResult | None, second: TestResult) -> TestResult:
    if first is None or _WORST_FIRST.index(second.verdict) < _WORST_FIRST.index(first.verdict):
        return second
    return first


def load_times(xml_text: str) -> tuple[tuple[float, float], ...]:
    """When each test that loads the node began and ended, in seconds since 1970; a document that is no JUnit: none."""
    try:
        root = ElementTree.fromstring(xml_text)  # noqa: S314 - see the import
    except ElementTree.ParseError:
        return ()
    times = []
    for case in root.iter("testcase"):
        name = case.get("name", "").removeprefix("test_measured[").rstrip("]")
        properties = {item.get("name"): item.get("value", "") for item in case.iter("property")}
        began, ended = _number(properties.get("began")), _number(properties.get("ended"))
        if name in BURN_IN and BURN_IN[name].is_load and began is not None and ended is not None:
            times.append((began, ended))
    return tuple(times)


def judge(
    expected: Mapping[str, Any], results: Mapping[str, TestResult], *, why_missing: str
) -> tuple[TestResult, ...]:
    """One result for every required check, in order; a missing one is NOT-RUN with ``why_missing``."""
    return tuple(
        results.get(name) or TestResult(name=name, verdict="NOT-RUN", why=why_missing)
        for kind, items in expected["checks"].items()
        for name in (check_name(kind, item["id"]) for item in items)
    )


def certified_results(
    blueprint: Blueprint,
    measured: Sequence[TestResult],
    values: Mapping[str, float | None],
    fleet: Mapping[str, Sequence[float]] | None = None,
) -> tuple[TestResult, ...]:
    """What a certificate lists: every check of the suite, then the blueprint's own tests, none left out.

    ``measured``, ``values`` and ``fleet`` as for :func:`blueprint_results`.
    """
    own = {test.test for test in blueprint.acceptance}
    checks = tuple(result for result in measured if result.name not in own)
    return (*checks, *blueprint_results(blueprint, measured, values, fleet))


def blueprint_results(
    blueprint: Blueprint,
    measured: Iterable[TestResult],
    values: Mapping[str, float | None],
    fleet: Mapping[str, Sequence[float]] | None = None,
) -> tuple[TestResult, ...]:
    """The verdicts of the blueprint's acceptance section, in its order.

    ``measured`` are results from the node, ``values`` what the caller measured (``{"power": 212.0}``; absent or
    ``None``: not measured), ``fleet`` the values of the other nodes of the class, by test.
    """
    by_name = {result.name: result for result in measured}
    results = (by_name.get(test.test) or _from_value(test, values.get(test.test)) for test in blueprint.acceptance)
    others = fleet or {}
    return tuple(
        against_fleet(result, test, others.get(test.test, ()))
        for test, result in zip(blueprint.acceptance, results, strict=True)
    )


def _from_value(test: AcceptanceTest, value: float | None) -> TestResult:
    known = KNOWN_TESTS.get(test.test)
    unit = test.unit or (known.unit if known else None)
    if known is None:
        return TestResult(
            name=test.test, verdict="NOT-RUN", floor=test.floor, unit=unit, why=f"there is no test named {test.test}"
        )
    measured = value if known.runs == "controller" else None  # what the node measures comes with evidence, or not
    return proven(
        TestResult(name=test.test, verdict="PASS", value=measured, floor=test.floor, unit=unit), needs_value=True
    )


def proven(result: TestResult, *, needs_value: bool) -> TestResult:
    """The result, if it says PASS, judged by its own number: without a finite one it is NOT-RUN, under its floor FAIL.

    ``needs_value``: the test is of a kind that measures.
    """
    value, floor = result.value, result.floor
    if result.verdict != "PASS" or (value is None and floor is None and not needs_value):
        return result
    if value is None or not math.isfinite(value):
        return result.model_copy(
            update={"verdict": "NOT-RUN", "value": None, "why": "no result" if value is None else f"no number: {value}"}
        )
    if floor is not None and not value >= floor:
        why = f"{value} {result.unit} is under the floor of {floor}"
        return result.model_copy(update={"verdict": "FAIL", "why": why})
    return result


def _read_case(case: ElementTree.Element, expected: Mapping[str, Any]) -> TestResult | None:
    kind, _, check_id = case.get("name", "").removeprefix("test_").rstrip("]").partition("[")
    check = next((item for item in expected["checks"].get(kind, []) if item["id"] == check_id), None)
    if check is None:
        return None
    properties = {item.get("name"): item.get("value", "") for item in case.iter("property")}
    verdict, why = _case_verdict(case, properties)
    is_measured = kind == "measured"
    result = TestResult(
        name=check_name(kind, check_id),
        verdict=verdict,
        value=_number(properties.get("value")),
        floor=check.get("floor"),
        unit=check.get("unit") if is_measured else None,
        why=why if why is not None else properties.get("text"),
    )
    return proven(result, needs_value=is_measured and check.get("unit") is not None)


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and math.isfinite(value) else None


def _case_verdict(case: ElementTree.Element, properties: Mapping[str | None, str]) -> tuple[TestVerdict, str | None]:
    if "hang" in properties:
        return "FAIL", f"hang: {properties['hang']}"[:WHY_MAX_CHARACTERS]
    if "transport" in properties:
        return "NOT-RUN", properties["transport"][:WHY_MAX_CHARACTERS]
    outcomes: tuple[tuple[str, TestVerdict], ...] = (("failure", "FAIL"), ("error", "NOT-RUN"), ("skipped", "NOT-RUN"))
    for tag, verdict in outcomes:
        found = case.find(tag)
        if found is not None:
            return verdict, _first_lines(found.get("message") or found.text or tag)
    others = {child.tag for child in case} - _HARMLESS_CHILDREN
    return ("NOT-RUN", f"the document says {min(others)}") if others else ("PASS", None)


def _first_lines(message: str) -> str:
    """What was asserted, without the source code around it."""
    text = message.removeprefix("AssertionError: ").strip()
    return text.partition("\nassert ")[0][:WHY_MAX_CHARACTERS] or text[:WHY_MAX_CHARACTERS]
