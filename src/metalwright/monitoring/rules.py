"""Alert rules for Prometheus, and the test that ``promtool test rules`` makes of them. Pure but for the template.

The same rules are rendered for a clock that runs faster (``scale`` < 1): every duration in them shrinks, so that a
test with a real Prometheus need not wait for minutes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from metalwright.model.alerts import Alert
from metalwright.monitoring.alerts import AlertSet
from metalwright.templates import render

MINUTES = 30
"""Length of a trace, one value a minute: ``MINUTES`` + 1 values."""

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(?<=\[)([0-9]+)([smhd])(?=\])|(?<=offset )([0-9]+)([smhd])\b")
_LONE = re.compile(r"^-?[0-9.]+(e[0-9]+)?$")
_LABELS = re.compile(r"^(?P<name>[^{]+)\{(?P<labels>.*)\}$")
_JOBS = (
    (re.compile(r"^(DCGM_|gpu_|pcie_)"), "metalwright-gpu"),
    (re.compile(r"^metalwright_"), "metalwright-bmc"),
)
NODE_JOB = "metalwright-node"


def render_rules(templates: Path, alerts: AlertSet, *, runbook_url: str | None = None, scale: float = 1.0) -> str:
    """The rule file, from ``prometheus/rules.yml.j2`` of the site's templates; ``runbook_url`` ends without a slash.

    Raises LoadingError: the template is missing or broken.
    """
    groups = [
        {"subject": file.subject, "alerts": [_rule(alert, runbook_url, scale) for alert in file.alerts]}
        for file in alerts.files
    ]
    return render(templates, "prometheus/rules.yml.j2", {"groups": groups})


def render_rule_tests(templates: Path, alerts: AlertSet, rules: str) -> str:
    """The test file for the rule file named ``rules``: silent while all is well, and each alert with its fault.

    Raises LoadingError: the template is missing or broken.
    """
    tests = [{"name": "a healthy fleet", "series": input_series(alerts.healthy), "firing": (), "may_fire": ()}]
    for alert in alerts:
        trace = {**alerts.healthy, **alert.fault}
        tests.append(
            {"name": alert.alert, "series": input_series(trace), "firing": (alert.alert,), "may_fire": alert.also}
        )
    return render(templates, "prometheus/rules-test.yml.j2", {"rules": rules, "minutes": MINUTES, "tests": tests})


def input_series(trace: Mapping[str, str]) -> list[dict[str, str]]:
    """A trace as promtool reads it: every series with the labels that scraping adds, every value written out."""
    return [{"series": scraped(series), "values": every_minute(values)} for series, values in trace.items()]


def scraped(series: str) -> str:
    """A series with the labels that scraping adds, where it does not say them itself."""
    found = _LABELS.match(series)
    if found is None:
        raise ValueError(f"{series!r} is no series")
    added = {"job": job_of(found["name"])}
    if 'node="' in found["labels"]:
        added |= {"rack": "rack-1", "blueprint": "gpu@1.0.0"}
    missing = [f'{key}="{value}"' for key, value in added.items() if f'{key}="' not in found["labels"]]
    return f"{found['name']}{{{','.join([item for item in [found['labels'], *missing] if item])}}}"


def job_of(metric: str) -> str:
    """The scrape job that brings a metric."""
    return next((job for pattern, job in _JOBS if pattern.match(metric)), NODE_JOB)


def every_minute(values: str) -> str:
    """A lone value stands for one a minute."""
    return f"{values}x{MINUTES}" if _LONE.match(values) else values


def scaled(expression: str, scale: float) -> str:
    """A PromQL expression with every range and offset multiplied by ``scale``, to whole seconds, at least five."""
    if scale == 1.0:
        return expression

    def shorter(found: re.Match[str]) -> str:
        number, unit = (found[1], found[2]) if found[1] else (found[3], found[4])
        return f"{max(5, round(int(number) * _SECONDS[unit] * scale))}s"

    return _DURATION.sub(shorter, expression)


def _rule(alert: Alert, runbook_url: str | None, scale: float) -> dict[str, object]:
    """The values that the template shows."""
    wait = alert.for_
    if scale != 1.0:
        wait = f"{round(int(wait[:-1]) * _SECONDS[wait[-1]] * scale)}s"
    return {
        **alert.to_json(),
        "expr": scaled(alert.expr, scale),
        "wait": wait,
        "runbook_url": f"{runbook_url}/{alert.runbook}.md" if runbook_url else None,
    }
