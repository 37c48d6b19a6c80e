"""A real Prometheus scrapes the text of exporters: each alert fires on its fault, and none on a healthy node."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.docs.console_blocks import ROOT
from tests.unit.monitoring.traces import HEALTHY, STEP_S, Exporters, played

from metalwright.cli.exported import write_files
from metalwright.loading import load_site
from metalwright.monitoring import export_monitoring, read_alerts
from metalwright.monitoring.rules import MINUTES

ADDRESS = "127.104.1.1"
SCALE = STEP_S / 60
PATIENCE_S = 20.0
PROMETHEUS = shutil.which("prometheus", path="/usr/bin:/usr/local/bin:/bin")
ALERTS = read_alerts(ROOT)


@pytest.fixture(scope="module")
def firing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dict[str, Any]]]:
    """Every alert that fired until each had the time to, with its labels and annotations."""
    if PROMETHEUS is None:
        pytest.skip("prometheus is not installed here")
    directory = tmp_path_factory.mktemp("prometheus")
    exporters = Exporters(played(ALERTS), ADDRESS)
    try:
        yield _run(Path(PROMETHEUS), directory, exporters)
    finally:
        exporters.stop()


def _run(program: Path, directory: Path, exporters: Exporters) -> list[dict[str, Any]]:
    files = export_monitoring(ROOT, load_site(ROOT), scale=SCALE)
    files["prometheus.yml"] = files["prometheus.yml"].replace("127.0.0.1:9478", exporters.netloc)
    for job in ("metalwright-node", "metalwright-gpu"):
        files[f"targets/{job}.json"] = json.dumps(exporters.targets(job))
    write_files(directory, files)
    port = _free_port()
    words = [f"--config.file={directory / 'prometheus.yml'}", f"--storage.tsdb.path={directory / 'data'}"]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, *words, f"--web.listen-address={ADDRESS}:{port}"], stdout=log, stderr=log, cwd=directory
        )
        try:
            return _collect(f"http://{ADDRESS}:{port}/api/v1/alerts", exporters)
        finally:
            process.terminate()
            process.wait(timeout=20)


def _collect(url: str, exporters: Exporters) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    wanted = {(alert.alert, alert.alert) for alert in ALERTS}
    _wait_until_scraped(url)
    exporters.begin()
    end = exporters.started + MINUTES * STEP_S + PATIENCE_S
    while time.time() < end and not (wanted <= set(found) and time.time() > end - PATIENCE_S):
        time.sleep(1)
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                listed = json.load(answer)["data"]["alerts"]
        except OSError:
            continue
        for item in listed:
            if item["state"] == "firing":
                found.setdefault((item["labels"]["alertname"], _case(item)), item)
    return list(found.values())


def _wait_until_scraped(url: str) -> None:
    """Every target was read at least twice while all was well."""
    end = time.time() + 30
    while time.time() < end:
        time.sleep(0.5)
        try:
            with urllib.request.urlopen(url.replace("alerts", "targets?state=active"), timeout=5) as answer:
                targets = json.load(answer)["data"]["activeTargets"]
        except OSError:
            continue
        if targets and all(target["health"] != "unknown" for target in targets):
            time.sleep(2)
            return
    raise AssertionError("Prometheus did not read its targets within 30 s")


def _case(item: dict[str, Any]) -> str:
    labels = item["labels"]
    node = labels.get("node", "")
    return str(labels.get("case") or labels.get("rack") or node.rpartition("-")[0])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return int(probe.getsockname()[1])


def test_every_alert_fires_on_its_fault(firing: list[dict[str, Any]]) -> None:
    fired = {(item["labels"]["alertname"], _case(item)) for item in firing}
    assert [alert.alert for alert in ALERTS if (alert.alert, alert.alert) not in fired] == []


def test_nothing_fires_on_a_healthy_node(firing: list[dict[str, Any]]) -> None:
    assert [item["labels"] for item in firing if _case(item) == HEALTHY] == []


def test_nothing_but_the_alert_itself_fires_on_a_fault(firing: list[dict[str, Any]]) -> None:
    allowed = {(name, alert.alert) for alert in ALERTS for name in (alert.alert, *alert.also)}
    fired = {(item["labels"]["alertname"], _case(item)) for item in firing}
    assert sorted(fired - allowed) == []


def test_every_alert_tells_what_where_and_what_to_do(firing: list[dict[str, Any]]) -> None:
    for item in firing:
        notes, labels = item["annotations"], item["labels"]
        assert notes["summary"].startswith(f"{labels['node']}: " if "node" in labels else ""), notes
        assert not {"<no value>", "<error"} & {
            word for text in notes.values() for word in ("<no value>", "<error") if word in text
        }
        assert notes["action"], notes
        assert notes["runbook"].startswith("metalwright runbook show "), notes
        assert labels["severity"] in ("critical", "warning", "info")
