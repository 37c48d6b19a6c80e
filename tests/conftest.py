"""Rules for all tests: virtual machines boot one test at a time, required captures are never skipped, notes are shown.

A test that calls ``record_property("note", text)`` gets the text into the summary, also from a worker.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from metalwright.simulator.loopback import ensure_loopback_up

CAPTURES = Path(__file__).parent / "captures"


def pytest_sessionstart() -> None:
    """Bring the loopback interface up, which is down in a fresh network namespace (``unshare -rn make test``)."""
    ensure_loopback_up()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests that boot virtual machines on one worker of ``pytest -n … --dist loadgroup``."""
    for item in items:
        if item.get_closest_marker("lab"):
            item.add_marker(pytest.mark.xdist_group("lab"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that misses the captures fails where ``METALWRIGHT_CAPTURES_REQUIRED`` is set.

    Other skips stay: what the truth of a machine does not say cannot be compared.
    """
    report = yield
    if report.skipped and _must_run(item.path) and "METALWRIGHT_CAPTURES" in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but METALWRIGHT_CAPTURES_REQUIRED is set: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module of captures tests that skips itself fails where they are required."""
    report = yield
    if report.skipped and _must_run(collector.path):
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped, but METALWRIGHT_CAPTURES_REQUIRED is set"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests noted."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    notes = [value for report in reports for name, value in report.user_properties if name == "note"]
    if notes:
        terminalreporter.section("notes")
        for note in notes:
            terminalreporter.line(str(note))


def _must_run(path: Path) -> bool:
    return bool(os.environ.get("METALWRIGHT_CAPTURES_REQUIRED")) and path.is_relative_to(CAPTURES)
