"""One acceptance run: pytest in a process of its own, bounded in time, its JUnit XML kept as evidence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metalwright.acceptance.burn_in.tests import BURN_IN
from metalwright.acceptance.job import JOB_VARIABLE, Job
from metalwright.acceptance.verdicts import judge, load_times, overall, read_junit
from metalwright.model.certificate import TestResult, TestVerdict

SUITE = Path(__file__).with_name("suite")
DEADLINE_S = 900.0
"""For all checks together; the tests that load the node come on top with their own limits."""

GRACE_S = 10.0

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "SSH_AUTH_SOCK", "LD_LIBRARY_PATH")
"""All of the caller's environment that pytest gets: what finds programs, the SSH agent and Python's own libraries."""


@dataclass(frozen=True)
class AcceptanceResult:
    """``tests`` has one entry for every required check, whatever pytest did; ``junit`` may be absent after a crash.

    ``loads``: when tests loaded the node, in seconds since 1970.
    """

    verdict: TestVerdict
    tests: tuple[TestResult, ...]
    junit: Path
    log: Path
    seconds: float
    loads: tuple[tuple[float, float], ...] = ()


def run_acceptance(job: Job, evidence_dir: Path, *, deadline_s: float | None = None) -> AcceptanceResult:
    """Check ``job.expected`` on the node; leaves ``junit.xml``, ``pytest.log`` and ``job.json`` in ``evidence_dir``.

    Blocks for at most ``deadline_s`` (without it: :func:`time_for`) plus a grace time; what has no result by then is
    FAIL, as a hang.
    """
    deadline_s = deadline_s if deadline_s is not None else time_for(job.expected)
    evidence_dir.mkdir(parents=True, exist_ok=True)
    junit, log, job_file = (evidence_dir / name for name in ("junit.xml", "pytest.log", "job.json"))
    junit.unlink(missing_ok=True)
    job_file.write_text(json.dumps(job.to_json(), indent=2), encoding="utf-8")
    began = time.monotonic()
    in_time = _run_pytest(job_file, junit, log, deadline_s)
    document = junit.read_text(encoding="utf-8", errors="replace") if junit.exists() else ""
    results = read_junit(document, job.expected)
    tests = judge(job.expected, results, why_missing=f"not collected or not run; see {log}")
    if not in_time:
        tests = tuple(_as_hang(test, results, deadline_s) for test in tests)
    seconds = round(time.monotonic() - began, 3)
    return AcceptanceResult(overall(tests), tests, junit, log, seconds, load_times(document))


def time_for(expected: Mapping[str, Any]) -> float:
    """Seconds within which the checks and the tests that load the node must have ended."""
    measured = expected["checks"].get("measured", [])
    limits = [BURN_IN[check["id"]].limit_s(check["seconds"]) for check in measured if check["id"] in BURN_IN]
    return DEADLINE_S + sum(limits)


def _run_pytest(job_file: Path, junit: Path, log: Path, deadline_s: float) -> bool:
    """Whether pytest ended by itself. Its exit code is no evidence."""
    argv = [sys.executable, "-P", "-m", "pytest", "-c", str(SUITE / "pytest.ini"), "--rootdir", str(SUITE)]
    argv += ["--confcutdir", str(SUITE), "-p", "no:cacheprovider", "-rA", "--tb=short"]
    argv += [f"--junitxml={junit}", str(SUITE)]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            argv,
            cwd=log.parent,
            env=_environment(job_file),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            process.wait(deadline_s)
        except BaseException as error:
            _stop(process)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return False
    return True


def _environment(job_file: Path) -> dict[str, str]:
    """Ours alone: options or plugins of pytest and modules of Python could leave checks out or write results elsewhere.

    No plugins but the ones that pytest brings.
    """
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {**kept, JOB_VARIABLE: str(job_file.resolve()), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONUTF8": "1"}


def _stop(process: subprocess.Popen[bytes]) -> None:
    """SIGINT first: pytest then still writes what it has."""
    for number, grace_s in ((signal.SIGINT, GRACE_S), (signal.SIGKILL, GRACE_S)):
        try:
            os.killpg(process.pid, number)
            process.wait(grace_s)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            pass
        return


def _as_hang(test: TestResult, results: dict[str, TestResult], deadline_s: float) -> TestResult:
    if test.name in results:
        return test
    return TestResult(name=test.name, verdict="FAIL", why=f"hang: no result within {deadline_s:g} s")
