"""``monitoring bmc-metrics`` against simulated BMCs: what Prometheus gets, and what the BMC saw."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.simulator.discovery.sites import (
    SiteOnDisk,
    environment_of,
    logins_at,
    machine,
    make_site,
    node_of,
    port_of,
)

from metalwright.acceptance.certificate import make_certificate, sign, write_certificate
from metalwright.acceptance.signing import site_signing_key
from metalwright.model.certificate import Certificate, TestResult, TestVerdict
from metalwright.model.phase import NodeState
from metalwright.simulator.running import RunningService, service_in_thread
from metalwright.workspace import open_workspace

ADDRESS = "127.104.2.1"


@pytest.fixture
def bmc() -> Iterator[RunningService]:
    with service_in_thread(machine(1), ADDRESS) as service:
        yield service


def site_of(root: Path, service: RunningService) -> SiteOnDisk:
    return make_site(root, [node_of(machine(1), bmc_address=ADDRESS)], port_of(service))


def pinned(site: SiteOnDisk) -> SiteOnDisk:
    """The certificate is pinned by whoever looks first and finds the right machine."""
    assert site.run("inspect", "lab-1").code == 0
    return site


def values(text: str) -> dict[str, str]:
    rows = [line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#")]
    return {name: value for name, _, value in rows}


LABELS = 'node="lab-1",rack="r1",blueprint="lab-vm@1.0.0",role="lab"'


def test_a_sweep_tells_sensors_supplies_and_events_and_logs_out(bmc: RunningService, tmp_path: Path) -> None:
    run = pinned(site_of(tmp_path, bmc)).run("monitoring", "bmc-metrics")
    assert (run.code, run.err) == (0, "")
    found = values(run.out)
    assert found[f"metalwright_bmc_up{{{LABELS}}}"] == "1"
    assert found[f"metalwright_bmc_login_refused{{{LABELS}}}"] == "0"
    assert found[f'metalwright_bmc_inlet_celsius{{{LABELS},sensor="Intake"}}'] == "22"
    assert found[f"metalwright_bmc_psus{{{LABELS}}}"] == "2"
    assert f'metalwright_bmc_event_log_entries{{{LABELS},severity="critical"}}' in found
    assert bmc.bmc.gate.sessions == {}


def test_the_text_file_is_written_whole_and_replaced(bmc: RunningService, tmp_path: Path) -> None:
    site, out = pinned(site_of(tmp_path / "site", bmc)), tmp_path / "bmc.prom"
    out.write_text("old\n")
    run = site.run("monitoring", "bmc-metrics", "lab-1", "--out", str(out), "--events", "0")
    assert (run.code, run.out) == (0, "")
    assert "metalwright_bmc_up" in out.read_text()
    assert "old" not in out.read_text()
    assert "event_log" not in out.read_text()
    assert [path.name for path in out.parent.iterdir()] == sorted(["bmc.prom", "site"])


def test_a_bmc_that_does_not_answer_has_one_value_and_it_is_not_well(tmp_path: Path) -> None:
    with service_in_thread(machine(1), ADDRESS) as service:
        site = pinned(site_of(tmp_path, service))
    run = site.run("monitoring", "bmc-metrics")
    assert run.code == 0
    assert {name.partition("{")[0]: value for name, value in values(run.out).items() if "_bmc_" in name} == {
        "metalwright_bmc_up": "0",
        "metalwright_bmc_login_refused": "0",
    }
    assert run.err.startswith("lab-1: ")


def test_a_refused_password_is_sent_once_and_then_not_again(bmc: RunningService, tmp_path: Path) -> None:
    site = pinned(site_of(tmp_path, bmc))
    before = logins_at(bmc)
    runs = [site.run("monitoring", "bmc-metrics", factory="wrong-secret") for _ in range(3)]
    for run in runs:
        found = values(run.out)
        assert found[f"metalwright_bmc_login_refused{{{LABELS}}}"] == "1"
        assert found[f"metalwright_bmc_up{{{LABELS}}}"] == "0"
    assert logins_at(bmc)[len(before) :] == ["LoginRefused"]


def test_a_bmc_whose_certificate_nobody_pinned_is_not_asked(bmc: RunningService, tmp_path: Path) -> None:
    run = site_of(tmp_path, bmc).run("monitoring", "bmc-metrics")
    assert "no pinned certificate" in run.err
    assert "metalwright_bmc_up" not in run.out
    assert logins_at(bmc) == []


def test_another_machine_behind_the_address_is_not_taken_for_the_node(bmc: RunningService, tmp_path: Path) -> None:
    site = pinned(site_of(tmp_path, bmc))
    rack = site.root / "inventory/racks/r1.yaml"
    rack.write_text(rack.read_text().replace("LAB0001X", "LAB0007X"))
    run = site.run("monitoring", "bmc-metrics")
    found = values(run.out)
    assert found[f"metalwright_bmc_up{{{LABELS}}}"] == "0"
    assert not any("celsius" in name for name in found)
    assert "machine answers at this address" in run.err


def test_prometheus_reads_it_over_http_until_it_is_stopped(bmc: RunningService, tmp_path: Path) -> None:
    site = pinned(site_of(tmp_path, bmc))
    words = ["--site", str(site.root), "monitoring", "bmc-metrics", "--listen", f"{ADDRESS}:0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "metalwright.cli", *words],
        env=environment_of({"FACTORY": "factory-secret"}),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        where = process.stderr.readline().split()[-1]
        with socket.create_connection((ADDRESS, int(where.split(":")[2].split("/")[0])), timeout=5):
            """What is told is listened on already."""
        text = _page(where)
    finally:
        os.kill(process.pid, signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert values(text)[f"metalwright_bmc_up{{{LABELS}}}"] == "1"
    assert (process.returncode, out) == (0, "")
    assert "factory-secret" not in err + text


def _page(url: str) -> str:
    end = time.time() + 40
    while time.time() < end:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:
            time.sleep(0.3)
    raise AssertionError(f"{url} showed nothing within 40 s")


@pytest.mark.parametrize("listen", ["9478", ":9478", "host:", "127.0.0.1:x", "127.0.0.1:99999", "127.0.0.1:²"])
def test_what_is_no_address_is_wrong_usage(listen: str, tmp_path: Path) -> None:
    assert make_site(tmp_path, []).run("monitoring", "bmc-metrics", "--listen", listen).code == 64


def test_an_address_that_cannot_be_listened_on_is_refused_with_a_hint(tmp_path: Path) -> None:
    run = make_site(tmp_path, []).run("monitoring", "bmc-metrics", "--listen", "192.0.2.1:9478")
    assert run.code == 64
    assert "192.0.2.1:9478: cannot listen there" in run.err
    assert "metrics of the BMCs on" not in run.err
    assert "hint: name a free port" in run.err


def certified(site: SiteOnDisk, issued: datetime, verdict: TestVerdict = "PASS") -> Certificate:
    """A certificate of lab-1, signed by the site itself, where acceptance leaves it."""
    state = site.root / ".metalwright"
    result = TestResult(name="cpu-hash", verdict=verdict)
    values: dict[str, Any] = {"serials": {}, "recipe": "sha256:1", "image": "debian-12@1", "tests": [result]}
    made = sign(make_certificate(node="lab-1", issued=issued, **values), site_signing_key(state))
    write_certificate(made, state / "acceptance" / "lab-1" / "certificate.json")
    return made


EXPIRY = f"metalwright_certificate_expiry_timestamp_seconds{{{LABELS}}}"


@pytest.mark.parametrize("age_days", [1, 4000])
def test_the_end_of_a_certificate_is_told_before_and_after_it(age_days: int, tmp_path: Path) -> None:
    site = make_site(tmp_path, [node_of(machine(1))])
    made = certified(site, datetime.now(UTC) - timedelta(days=age_days))
    found = values(site.run("monitoring", "bmc-metrics").out)
    assert float(found[EXPIRY]) == pytest.approx(made.expires.timestamp(), abs=1)


def test_a_certificate_that_proves_nothing_has_no_end(tmp_path: Path) -> None:
    site = make_site(tmp_path, [node_of(machine(1))])
    certified(site, datetime.now(UTC), "FAIL")
    assert EXPIRY not in values(site.run("monitoring", "bmc-metrics").out)
    certified(site, datetime.now(UTC))
    path = site.root / ".metalwright/acceptance/lab-1/certificate.json"
    path.write_text(path.read_text().replace("debian-12@1", "debian-12@2"))
    assert EXPIRY not in values(site.run("monitoring", "bmc-metrics").out)


def test_the_state_of_a_node_is_the_journals(tmp_path: Path) -> None:
    site = make_site(tmp_path, [node_of(machine(1))])
    with open_workspace(site.root) as workspace:
        workspace.journal.nodes.set_state("lab-1", NodeState.FAILED, "image: a test")
    found = values(site.run("monitoring", "bmc-metrics").out)
    assert [name for name in found if "node_state" in name] == [f'metalwright_node_state{{{LABELS},state="failed"}}']
