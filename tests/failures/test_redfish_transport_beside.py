"""A good BMC beside a silent, a slow and a lying one, with the budgets as shipped: done while the others still run."""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.failures.transport_bmcs import address_of, bmc, rule
from tests.simulator.discovery.sites import Run, SiteOnDisk, machine, make_site, node_of
from tests.simulator.discovery.test_discover import listener, silent

from metalwright.redfish.inventory.report import IDENTITY_READ_BUDGET

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # asyncio waits for the TLS farewell of a peer that never says one

SILENT_AT = ("127.92.202.1", 8443)
PATIENCE_S = 100.0
ROOT_LOGIN_LOGOUT = 8
"""Requests of a visit that are no reads of the machine."""


def as_shipped(site: SiteOnDisk) -> SiteOnDisk:
    """The site without any setting of time or budget."""
    path = site.root / "inventory/site.yaml"
    content = YAML(typ="safe").load(path)
    del content["redfish"]
    YAML().dump(content, path)
    return site


def test_the_good_bmc_is_read_and_kept_while_a_silent_a_slow_and_a_lying_one_still_run(tmp_path: Path) -> None:
    """A thread sweeps all of them; the good one's line is on disk while it goes on; then the bad ones go away."""
    site = as_shipped(make_site(tmp_path, [node_of(machine(1))]))
    ended: list[Run] = []
    kept = site.root / ".metalwright/sightings.jsonl"

    def sweep(*places: str) -> None:
        ended.append(site.run("discover", *places, "--json"))

    def lines() -> list[str]:
        return kept.read_text().splitlines() if kept.exists() else []

    with bmc() as good, bmc() as lying, ExitStack() as bad:
        slow = bad.enter_context(bmc())
        rule(slow, "GET", "Systems$", silent=True)
        bad.enter_context(listener(*SILENT_AT, silent))
        ghosts = [{"@odata.id": f"/redfish/v1/Systems/GHOST{number}"} for number in range(4000)]
        rule(lying, "GET", "Systems$", edit=[{"at": "/Members", "append": ghosts}])
        places = [f"{SILENT_AT[0]}:{SILENT_AT[1]}", *(address_of(service) for service in (slow, lying, good))]
        thread = threading.Thread(target=sweep, args=places)
        thread.start()
        try:
            until = time.monotonic() + PATIENCE_S
            while not any(json.loads(line)["host"] in good.url for line in lines()) and time.monotonic() < until:
                time.sleep(0.05)
            assert thread.is_alive()
            assert any(json.loads(line)["host"] in good.url for line in lines())
            assert slow.traffic.of("GET", "/Systems")
        finally:
            bad.close()
            thread.join(PATIENCE_S)
        assert not thread.is_alive()
        assert len(lying.traffic.records) <= IDENTITY_READ_BUDGET + ROOT_LOGIN_LOGOUT
        assert good.bmc.gate.open_sessions == 0
    (run,) = ended
    check(run, places)


def check(run: Run, places: list[str]) -> None:
    assert run.code == 1
    assert [item["node"] for item in run.json["claimed"]][:1] == ["lab-1"]
    failed = {f"{item['address']}:{item['port']}" for item in run.json["failed"]}
    assert set(places[:2]) <= failed
    assert "Traceback" not in run.err
