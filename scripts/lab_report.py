"""Run the tests that `make test` leaves out and keep ``docs/reference/lab-report.json``, one row a test.

``python -m scripts.lab_report [open | PYTEST ARGUMENTS]``; ``open``: what is missing or did not pass. Each row says on
which commit the test ran last, so that a part can be run again alone; it is written as soon as the test ends, so that a
run that is stopped loses nothing: ``{"schema": 2, "machine": {…}, "finished", "totals": {…}, "missing": […], "tests":
[{"name", "result", "seconds", "commit", "dirty", "date", "notes"}]}``. ``finished``: no test of the selection is
missing. Exit code: pytest's.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "docs" / "reference" / "lab-report.json"
OTHERS = ("--", ".", f":!{REPORT.relative_to(ROOT)}")
"""The report itself, of a run that goes on, makes no commit dirty."""
SELECTION = ("-m", "(lab or long) and not soak")
WORKERS = os.environ.get("TEST_WORKERS", "2")

Row = dict[str, Any]


def main(arguments: list[str]) -> int:
    """Run the selected tests (all without arguments) and keep the report."""
    os.chdir(ROOT)
    collector = Collector()
    code = pytest.main(["--collect-only", "-qq", "-n0", *SELECTION], plugins=[collector])
    if code != pytest.ExitCode.OK:
        return code
    recorder = Recorder(REPORT, collector.names)
    if arguments == ["open"]:
        arguments = recorder.open_tests()
        if not arguments:
            return pytest.ExitCode.OK
    return pytest.main([*SELECTION, "-n", WORKERS, *arguments], plugins=[recorder])


class Collector:
    """A pytest plugin that keeps the names of the selected tests."""

    def __init__(self) -> None:
        """Start without a name."""
        self.names: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep what is left after the selection."""
        self.names = [item.nodeid for item in session.items]


class Recorder:
    """A pytest plugin that writes the row of a test when it has ended.

    ``expected``: the names of all tests that the report is about. Rows of tests that are no longer among them go.
    """

    def __init__(self, path: Path, expected: list[str]) -> None:
        """Take up the rows that the file has."""
        self._path = path
        self._expected = expected
        self._origin = {
            "commit": _git("rev-parse", "HEAD"),
            "dirty": bool(_git("status", "--porcelain", "-uno", *OTHERS)),
        }
        self._phases: defaultdict[str, list[pytest.TestReport]] = defaultdict(list)  # of tests that run now
        self.rows = {row["name"]: row for row in _rows_of(path) if row["name"] in expected}

    def open_tests(self) -> list[str]:
        """The tests that have no row yet, or a row that says that they did not pass."""
        return [name for name in self._expected if self.rows.get(name, {}).get("result") not in ("pass", "skip")]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather set-up, call and tear-down of a test; after the last, write. What failed is shown at once."""
        if report.failed:
            sys.stderr.write(f"\n{report.nodeid} ({report.when})\n{report.longreprtext}\n")
        self._phases[report.nodeid].append(report)
        if report.when == "teardown":
            row = row_of(self._phases.pop(report.nodeid))
            self.rows[report.nodeid] = {**row, **self._origin, "date": _now()}
            self._path.write_text(json.dumps(self._document(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def _document(self) -> dict[str, object]:
        rows = [self.rows[name] for name in self._expected if name in self.rows]
        missing = [name for name in self._expected if name not in self.rows]
        return {
            "schema": 2,
            "machine": _machine(),
            "finished": not missing,
            "totals": {result: sum(row["result"] == result for row in rows) for result in ("pass", "fail", "skip")},
            "missing": missing,
            "tests": rows,
        }


def row_of(phases: list[pytest.TestReport]) -> Row:
    """What the reports of one test's phases say together."""
    outcomes = {phase.outcome for phase in phases}
    result = "fail" if "failed" in outcomes else "skip" if "skipped" in outcomes else "pass"
    notes = [str(value) for name, value in phases[-1].user_properties if name == "note"]
    row: Row = {
        "name": phases[-1].nodeid,
        "result": result,
        "seconds": round(sum(phase.duration for phase in phases), 1),
    }
    return {**row, "notes": notes} if notes else row


def _rows_of(path: Path) -> list[Row]:
    if not path.exists():
        return []
    document = json.loads(path.read_text(encoding="utf-8"))
    return list(document["tests"]) if document.get("schema") == 2 else []


def _machine() -> dict[str, object]:
    return {
        "cores": os.cpu_count(),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "qemu": _output("qemu-system-x86_64", "--version").partition("\n")[0],
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _git(*arguments: str) -> str:
    return _output("git", "-C", str(ROOT), *arguments)


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
