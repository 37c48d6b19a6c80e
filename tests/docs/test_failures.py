"""The page of known failures tells the truth: every entry has a test or says why not, every test has an entry."""

from __future__ import annotations

from scripts.reference import failures


def test_every_known_failure_has_a_test_or_says_why_not() -> None:
    tested = {test.identifier for test in failures.failure_tests()}
    silent = [
        failure.identifier
        for area in failures.areas()
        for failure in area.failures
        if failure.identifier not in tested and failure.not_handled is None
    ]
    assert silent == []


def test_every_test_that_names_a_failure_has_an_entry_and_says_what_is_done() -> None:
    known = {failure.identifier for area in failures.areas() for failure in area.failures}
    catalogued = {identifier[:2] for identifier in known}
    tests = [test for test in failures.failure_tests() if test.identifier[:2] in catalogued]
    assert [f"{test.path}::{test.name}" for test in tests if test.identifier not in known] == []
    first: dict[str, bool] = {}
    for test in tests:
        first[test.identifier] = first.get(test.identifier, False) or bool(test.does)
    assert [identifier for identifier, says in first.items() if not says] == []
