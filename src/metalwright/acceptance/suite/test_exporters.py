"""The exporters of GPU metrics tell of every GPU, and of now."""

from __future__ import annotations

import time
from typing import Any

from testinfra.host import Host

from metalwright.acceptance.exporters import exporter_fault

FETCH = "curl --silent --show-error --fail --max-time 10 %s"


def test_exporter(host: Host, check: dict[str, Any]) -> None:
    first = host.run(FETCH, check["url"])
    assert first.rc == 0, f"{check['url']}: {first.stderr.strip()}"
    time.sleep(check["interval_s"])
    second = host.run(FETCH, check["url"])
    assert second.rc == 0, f"{check['url']}: {second.stderr.strip()}"
    fault = exporter_fault(first.stdout, second.stdout, check["gpus"])
    assert fault is None, fault
