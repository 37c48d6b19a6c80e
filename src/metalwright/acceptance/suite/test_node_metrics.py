"""node_exporter really answers, and tells what alerts are made of."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

from metalwright.acceptance.exporters import metric_names

FETCH = "timeout 20 bash -c 'exec 3<>/dev/tcp/127.0.0.1/%s; printf \"GET /metrics HTTP/1.0\\r\\n\\r\\n\" >&3; cat <&3'"


def test_node_metrics(host: Host, check: dict[str, Any]) -> None:
    answer = host.run(FETCH % int(check["port"]))
    assert answer.rc == 0, f"port {check['port']}: {answer.stderr.strip()}"
    names = metric_names(answer.stdout)
    assert names, f"port {check['port']} answers without a metric: {answer.stdout[:100]!r}"
    assert [name for name in check["all"] if name not in names] == [], "metrics are missing"
    prefixes = tuple(check["any"])
    assert not prefixes or any(name.startswith(prefixes) for name in names), f"none of {', '.join(prefixes)}…"
