"""Rules for all tests: a file stays on one worker, virtual machines boot one at a time, required captures are run.

A test that calls ``record_property("note", text)`` gets the text into the summary, also from a worker.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from metalwright.simulator.loopback import ensure_loopback_up

VIRTUAL_MACHINES = "tests/lab/"
LONGEST_FIRST = (
    VIRTUAL_MACHINES,
    "tests/docs/test_commands.py",
    "tests/simulator/provision/",
    "tests/operations/",
    "tests/failures/",
    "tests/simulator/",
)
"""Files that take minutes start first, so that no worker ends up alone with one of them."""
CAPTURES = Path(__file__).parent / "captures"


def pytest_sessionstart() -> None:
    """Bring the loopback interface up, which is down in a fresh network namespace (``unshare -rn make test``)."""
    ensure_loopback_up()


class FileScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types
    """Keeps the tests of a file on one worker, in their order, and all that boot virtual machines on one as well.

    Marks do not reach the scheduler: what ``--dist loadgroup`` adds to the names of tests is dropped by pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        boots = file.startswith(VIRTUAL_MACHINES) or "::test_commands_of_the_lab" in nodeid
        return "virtual machines" if boots else file


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; the order within a file stays."""
    items.sort(key=lambda item: _rank(item.nodeid))


def _rank(nodeid: str) -> int:
    ranks = (rank for rank, start in enumerate(LONGEST_FIRST) if nodeid.startswith(start))
    return next(ranks, len(LONGEST_FIRST))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling:
    """Schedule by file, in the order of collection, whatever the options say."""
    config.option.loadscopereorder = False
    return FileScheduling(config, log)


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
