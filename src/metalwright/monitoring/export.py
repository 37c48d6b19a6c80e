"""All files of the monitoring of a site, rendered from its inventory and its templates: same inputs, same bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from metalwright.loading import SitePaths
from metalwright.model.repository import SiteRepository
from metalwright.monitoring.alerts import read_alerts
from metalwright.monitoring.dashboard import dashboard
from metalwright.monitoring.rules import render_rule_tests, render_rules
from metalwright.monitoring.targets import scrape_targets
from metalwright.templates import render

RULES = "rules/metalwright.rules.yml"
RULE_TESTS = "rules/metalwright.rules-test.yml"
PROMETHEUS = "prometheus.yml"
ALERTMANAGER = "alertmanager.yml"
DASHBOARD = "dashboards/metalwright.json"


def export_monitoring(root: Path, repository: SiteRepository, *, scale: float = 1.0) -> dict[str, str]:
    """Path below the directory of Prometheus → text, for the site at ``root``.

    ``scale`` below 1 makes every duration of the rules and of the scraping shorter; see
    :mod:`metalwright.monitoring.rules`.

    Raises:
        LoadingError: an alert or a template of the site is wrong.
    """
    templates, settings = SitePaths(root).templates, repository.site.monitoring
    alerts = read_alerts(root)
    targets = scrape_targets(repository)
    values = {
        "site": repository.site.name,
        "jobs": sorted(targets),
        "bmc_metrics": settings.bmc_metrics,
        "alertmanagers": settings.alertmanagers,
        "rules": RULES,
        "interval_s": max(1, round(30 * scale)),
        "bmc_interval_s": max(1, round(60 * scale)),
    }
    return {
        PROMETHEUS: render(templates, "prometheus/prometheus.yml.j2", values),
        RULES: render_rules(templates, alerts, runbook_url=settings.runbook_url, scale=scale),
        RULE_TESTS: render_rule_tests(templates, alerts, Path(RULES).name),
        ALERTMANAGER: render(templates, "prometheus/alertmanager.yml.j2", values),
        DASHBOARD: _json(dashboard(repository.site.name)),
        **{f"targets/{job}.json": _json(found) for job, found in sorted(targets.items())},
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"
