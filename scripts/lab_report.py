"""Run every test that boots virtual machines and write ``docs/reference/lab-report.json``.

The report says which commit ran where, and what each test measured: ``{"schema": 1, "commit", "dirty", "date",
"machine": {…}, "finished", "totals": {…}, "tests": [{"name", "result", "seconds"}]}``. Exit code: pytest's. A run that
was stopped has ``"finished": false`` and what ran until then.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "docs" / "reference" / "lab-report.json"


def main(arguments: list[str]) -> int:
    """Run the tests, write the report (after Ctrl-C of what ran until then), return pytest's exit code."""
    with tempfile.TemporaryDirectory() as directory:
        junit = Path(directory) / "junit.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-m",
            "(lab or long) and not soak",
            "-n0",
            f"--junitxml={junit}",
            *arguments,
        ]
        with subprocess.Popen(command, cwd=ROOT) as child:
            code = _end_of(child)
        if junit.exists():
            REPORT.write_text(
                json.dumps(build_report(junit, code), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
            )
    return code


def _end_of(child: subprocess.Popen[bytes]) -> int:
    """Wait for pytest; Ctrl-C reaches it too, and it still says what it found."""
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue


def build_report(junit: Path, code: int) -> dict[str, object]:
    """The report of one JUnit file and pytest's exit code."""
    document = ElementTree.parse(junit)  # noqa: S314 - pytest wrote it a moment ago
    tests = [_test(case) for case in document.getroot().iter("testcase") if case.get("name")]
    return {
        "schema": 1,
        "commit": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": _machine(),
        "finished": code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED),
        "totals": {result: sum(test["result"] == result for test in tests) for result in ("pass", "fail", "skip")},
        "tests": tests,
    }


def _test(case: ElementTree.Element) -> dict[str, object]:
    result = "pass"
    if case.find("failure") is not None or case.find("error") is not None:
        result = "fail"
    elif case.find("skipped") is not None:
        result = "skip"
    properties = {item.get("name", ""): item.get("value", "") for item in case.iter("property")}
    found: dict[str, object] = {
        "name": f"{case.get('classname')}::{case.get('name')}",
        "result": result,
        "seconds": round(float(case.get("time", "0")), 1),
    }
    return {**found, "measured": properties} if properties else found


def _machine() -> dict[str, object]:
    return {
        "cores": os.cpu_count(),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "qemu": _first_line("qemu-system-x86_64", "--version"),
    }


def _git(*arguments: str) -> str:
    return _output("git", "-C", str(ROOT), *arguments)


def _first_line(*command: str) -> str:
    return _output(*command).partition("\n")[0]


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
