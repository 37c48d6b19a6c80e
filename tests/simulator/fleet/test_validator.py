"""DMTF's own judge: redfish-service-validator finds no failure, and no warning that is not explained.

It needs DMTF's schemas: ``METALWRIGHT_REDFISH_SCHEMAS`` names their folder. Half a minute of a core for each profile.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.simulator.fleet.direct import Direct
from tests.simulator.redfish.conftest import make_certificate
from tests.simulator.sushy_tools import sushy_emulator

from metalwright.simulator.profiles import NAMES

ADDRESS = "127.91.18.1"
SCHEMAS = os.environ.get("METALWRIGHT_REDFISH_SCHEMAS", "")
EXPLAINED = (
    "Deprecated Property Warning",
    "Deprecated URI Warning",
    "Trailing Slash Warning",
    "Empty String Warning",
    "Unable to locate the schema definition for the 'Hpe",
    "Unable to locate the schema definition for the 'Dell",
    "Unable to locate the schema definition for the 'SysLockdown",
    "Required Property Error: The property '@odata.type' is mandatory",
)
"""Kinds of warnings that docs/reference/simulator.md explains."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not SCHEMAS, reason="METALWRIGHT_REDFISH_SCHEMAS names no folder with DMTF's schemas"),
]


@pytest.mark.parametrize("name", NAMES)
def test_the_validator_finds_no_failure(name: str, bmc: Callable[[str], Direct], tmp_path: Path) -> None:
    direct = bmc(name)
    spec = direct.bmc.spec.bmc
    counts = judge(direct.url, spec.user, spec.password.get_secret_value(), tmp_path)
    lines = [line for log in tmp_path.rglob("*.log") for line in log.read_text().splitlines()]
    failures = [line for line in lines if " FAIL - " in line]
    strange = [line for line in lines if " WARN - " in line and not any(word in line for word in EXPLAINED)]
    assert (failures, counts[1], strange) == ([], 0, [])
    assert counts[0] > 1000


def test_the_validator_finds_the_failures_of_a_service_that_has_some(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    with sushy_emulator(tmp_path, ADDRESS, next(tmp_path.glob("*.pem"))) as port:
        passed, failed = judge(f"https://{ADDRESS}:{port}", "admin", "password", tmp_path, "--authtype", "Basic")
    assert passed > 100
    assert failed == 34


def judge(url: str, user: str, password: str, folder: Path, *options: str) -> tuple[int, int]:
    """How many checks of the validator passed and failed; its logs are in ``folder``."""
    command = [
        str(Path(sys.executable).with_name("rf_service_validator")),
        *("--rhost", url, "--user", user, "--password", password),
        *("--schema_directory", SCHEMAS, "--logdir", str(folder), "--skipschema", *options),
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    counts = re.search(r"\|\s+(\d+)\s+\|\s+(\d+)\s+\|\s+(\d+)\s+\|\s+\d+\s+\|\s+\+-", done.stdout)
    assert counts is not None, done.stdout[-2000:] + done.stderr[-2000:]
    return int(counts[1]), int(counts[3])
