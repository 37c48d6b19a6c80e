"""Traces of alerts played to a real Prometheus: each alert has nodes, a rack and a blueprint of its own."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from metalwright.model.alerts import Alert
from metalwright.monitoring import AlertSet
from metalwright.monitoring.rules import MINUTES, every_minute, job_of

STEP_S = 1.0
"""Real time of one minute of a trace."""

_SERIES = re.compile(r"^(?P<name>[^{]+)\{(?P<labels>.*)\}$")
_TERM = re.compile(r"^(?P<first>_|-?[0-9.]+(e[0-9]+)?)(?P<slope>[+-][0-9.]+(e[0-9]+)?)?(x(?P<more>[0-9]+))?$")
HEALTHY = "healthy"


def values_of(text: str) -> list[float | None]:
    """promtool's notation, one value a minute; None is no sample."""
    found: list[float | None] = []
    for term in every_minute(text).split():
        parts = _TERM.match(term)
        assert parts is not None, term
        count = int(parts["more"] or 0) + 1 if parts["first"] != "_" else int(parts["more"] or 1)
        slope = float(parts["slope"] or 0)
        found += [None if parts["first"] == "_" else float(parts["first"]) + slope * i for i in range(count)]
    return found


@dataclass(frozen=True)
class Played:
    """One series of one case. ``node`` is empty for series of no node."""

    case: str
    name: str
    labels: str
    node: str
    job: str
    values: list[float | None]

    def at(self, minute: int) -> float | None:
        return self.values[min(minute, len(self.values) - 1)]


def played(alerts: AlertSet) -> list[Played]:
    """All series of a healthy case, and of each alert those that its expression names, with its fault."""
    found = [_played(HEALTHY, series, text) for series, text in alerts.healthy.items()]
    for alert in alerts:
        trace = {**alerts.healthy, **alert.fault}
        found += [_played(alert.alert, series, text) for series, text in trace.items() if _concerns(alert, series)]
    return found


def _concerns(alert: Alert, series: str) -> bool:
    name = series.partition("{")[0]
    if name == "up" and f'up{{job="{_job(series)}"}}' not in alert.expr:
        return False
    return re.search(rf"\b{name}\b", alert.expr) is not None


def _job(series: str) -> str:
    named = re.search(r'job="([^"]*)"', series)
    return named[1] if named else job_of(series.partition("{")[0])


def _played(case: str, series: str, text: str) -> Played:
    parts = _SERIES.match(series)
    assert parts is not None
    node = re.search(r'node="([^"]*)"', parts["labels"])
    return Played(case, parts["name"], parts["labels"], node[1] if node else "", _job(series), values_of(text))


class Exporters:
    """A server whose path ``/case/node/job`` shows what that exporter of that node shows at this minute."""

    def __init__(self, series: list[Played], address: str) -> None:
        self.series = series
        self.started = float("inf")
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                text = outer.page(self.path)
                self.send_response(200 if text is not None else 503)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                body = (text or "").encode()
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words: Any) -> None:
                pass

        self.server = ThreadingHTTPServer((address, 0), Handler)
        self.thread = Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        self.thread.start()

    @property
    def netloc(self) -> str:
        host, port = self.server.server_address[:2]
        return f"{host!s}:{port}"

    def begin(self) -> None:
        """Let the minutes run; before that every trace stands at its first one."""
        self.started = time.time()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def targets(self, job: str) -> list[dict[str, Any]]:
        """The targets of a job in the form of ``file_sd``."""
        places = sorted({(item.case, item.node) for item in self.series if item.job == job and item.node})
        return [
            {
                "targets": [self.netloc],
                "labels": {
                    "__metrics_path__": f"/{case}/{node}/{job}",
                    "node": f"{case}-{node}",
                    "rack": case,
                    "blueprint": case,
                },
            }
            for case, node in places
        ]

    def page(self, path: str) -> str | None:
        """The text of one scrape; None: the exporter does not answer."""
        minute = int(max(0.0, time.time() - self.started) / STEP_S)
        if path == "/metrics":
            return "".join(self._lines([item for item in self.series if item.job == "metalwright-bmc"], minute, True))
        case, node, job = path.strip("/").split("/")
        own = [item for item in self.series if (item.case, item.node, item.job) == (case, node, job)]
        if any(item.name == "up" and item.at(minute) == 0 for item in own):
            return None
        return "".join(self._lines(own, minute, False))

    def _lines(self, series: list[Played], minute: int, is_sweep: bool) -> Iterator[str]:
        for item in sorted(series, key=lambda item: item.name):
            value = item.at(minute)
            if item.name == "up" or value is None:
                continue
            if item.name.endswith(("sweep_timestamp_seconds", "expiry_timestamp_seconds", "_mtime_seconds")):
                value = time.time() - (60 * min(minute, MINUTES) - value)
            own = re.sub(r'(^|,)(node|job)="[^"]*"', "", item.labels).strip(",")
            case = f'case="{item.case}"' + (f',node="{item.case}-{item.node}"' if item.node else "")
            labels = ",".join(filter(None, [own, case if is_sweep else ""]))
            yield f"{item.name}{{{labels}}} {value!r}\n"
