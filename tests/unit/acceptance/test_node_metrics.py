"""The check of node_exporter cannot be fooled: no answer, another answer, or half of the metrics is no pass."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.desired import blueprint

from metalwright.acceptance.expectations import _node_metrics
from metalwright.acceptance.suite.test_node_metrics import test_node_metrics as check_node_metrics
from metalwright.model.blueprint import Software

PAGE = "HTTP/1.0 200 OK\r\n\r\nnode_cpu_seconds_total 1\nnode_memory_MemAvailable_bytes 2\nnode_systemd_unit_state 1\n"
AGENTS = {"node_exporter": "1.5.0", "disk_metrics": "0.0"}
SYSTEM, DISKS = _node_metrics(blueprint(software=Software(agents=AGENTS)))


def check(expected: dict[str, Any], text: str, rc: int = 0) -> None:
    asked: list[str] = []

    def run(command: str) -> SimpleNamespace:
        asked.append(command)
        return SimpleNamespace(rc=rc, stdout=text, stderr="refused")

    check_node_metrics(SimpleNamespace(run=run), expected)
    assert "/dev/tcp/127.0.0.1/9100" in asked[0]


def test_a_page_with_all_metrics_passes() -> None:
    check(SYSTEM, PAGE)
    check(DISKS, PAGE + "nvme_critical_warning_total 0\n")


@pytest.mark.parametrize(
    ("expected", "text", "rc"),
    [
        (SYSTEM, PAGE, 1),
        (SYSTEM, "", 0),
        (SYSTEM, PAGE.replace("200 OK", "500 no"), 0),
        (SYSTEM, PAGE.replace("node_systemd_unit_state", "node_other"), 0),
        (DISKS, PAGE, 0),
    ],
    ids=["refused", "silent", "error page", "no services", "no disks"],
)
def test_anything_else_fails(expected: dict[str, Any], text: str, rc: int) -> None:
    with pytest.raises(AssertionError):
        check(expected, text, rc)


def test_a_blueprint_without_node_exporter_asks_for_nothing() -> None:
    assert _node_metrics(blueprint(software=Software())) == []
