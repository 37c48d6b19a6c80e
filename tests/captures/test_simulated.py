"""A captured tree that ``simulate --capture`` serves is inspected as the machine that it was taken from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.captures.conftest import captures_dir
from tests.captures.test_truth import reports
from tests.simulator.discovery.sites import run_cli

from metalwright.simulator.fleet.plan import place
from metalwright.simulator.fleet.service import Fleet, fleet_in_thread
from metalwright.simulator.fleet.tree import read_captures

LOGIN = {"METALWRIGHT_BMC_USER": "admin", "METALWRIGHT_BMC_PASSWORD": "factory-secret"}


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    folder = captures_dir()
    if folder is None:
        pytest.skip("METALWRIGHT_CAPTURES names no folder with TRUTH.yaml")
    with fleet_in_thread(place("127.85.5.0/26", [(tree, 1) for tree in read_captures(folder)], 0)) as running:
        yield running


def parts(report: dict[str, Any]) -> dict[str, Any]:
    """All but what belongs to the connection and to the way of reading."""
    return {name: value for name, value in report.items() if name not in ("bmc", "problems")}


def test_inspect_reads_from_a_simulated_capture_what_the_capture_holds(machine: str, fleet: Fleet) -> None:
    address = next(address for address, bmc in fleet.bmcs.items() if bmc.tree_routes.tree.name == machine)
    done = run_cli("inspect", f"https://{address}:{fleet.port}", "--json", **LOGIN)
    assert done.code == 0, done.err
    wanted = [json.loads(report.model_dump_json()) for report in reports(machine)]
    assert [parts(report) for report in done.json] == [parts(report) for report in wanted]
