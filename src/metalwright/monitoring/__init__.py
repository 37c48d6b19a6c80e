"""Monitoring of a site: alert rules, what Prometheus scrapes, dashboards, each rendered from the inventory."""

from __future__ import annotations

from metalwright.monitoring.alerts import AlertSet, read_alerts
from metalwright.monitoring.export import export_monitoring
from metalwright.monitoring.programs import ProgramVerdict, check_with_programs
from metalwright.monitoring.rules import render_rule_tests, render_rules
from metalwright.monitoring.targets import scrape_targets

__all__ = [
    "AlertSet",
    "ProgramVerdict",
    "check_with_programs",
    "export_monitoring",
    "read_alerts",
    "render_rule_tests",
    "render_rules",
    "scrape_targets",
]
