"""``python judged.py [SCRIPT] ARGUMENTS``: metalwright, or a script of the site, with a judge in place of the tests.

The machine that stands for the node is this one, which no acceptance may load or judge. Every check passes, unless the
node runs the image whose SHA-256 is in ``REFUSED_IMAGE``; everything around the checks is the real thing.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

from metalwright.acceptance.expectations import check_name
from metalwright.acceptance.run import AcceptanceResult
from metalwright.cli.app import run
from metalwright.model.certificate import TestResult
from metalwright.runner import accepting

MEASURED = {"cpu-hash": (100.0, "MB/s"), "disk-read": (100.0, "MB/s")}


def judged(job: Any, directory: Path) -> AcceptanceResult:
    """One result for every check that the real tests would make."""
    refused = os.environ.get("REFUSED_IMAGE")
    is_bad = refused is not None and refused in json.dumps(job.to_json())
    names = [check_name(kind, item["id"]) for kind, items in job.expected["checks"].items() for item in items]
    results = [TestResult(name=name, verdict="PASS") for name in names if name not in MEASURED]
    for name, (value, unit) in MEASURED.items():
        results.append(TestResult(name=name, verdict="FAIL" if is_bad else "PASS", value=value, unit=unit, floor=1.0))
    directory.mkdir(parents=True, exist_ok=True)
    return AcceptanceResult("FAIL" if is_bad else "PASS", tuple(results), directory / "j", directory / "l", 0.1)


if __name__ == "__main__":
    vars(accepting)["run_acceptance"] = judged
    sys.argv = sys.argv[1:] if sys.argv[1].endswith(".py") else ["metalwright", *sys.argv[1:]]
    if sys.argv[0].endswith(".py"):
        runpy.run_path(sys.argv[0], run_name="__main__")
    sys.exit(run(sys.argv[1:]))
