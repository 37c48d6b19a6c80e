"""The page of the alerts: what each means and what a person does about it, from the data that the rules are made of."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_TITLES = {"fleet": "Fleet", "node": "Node", "gpu": "GPU", "fabric": "Fabric", "bmc": "BMC"}
_LEAD = """\
# Alerts

What Prometheus says of a fleet that metalwright describes, and what a person does about it. The rules come from
`templates/prometheus/alerts/` of the site; `metalwright monitoring alerts` lists those of yours.
[How to use them](../how-to/monitor-a-fleet.md).

*Critical* wakes somebody, *warning* is a ticket, *info* is for those who look. Each alert has a test: it is silent on a
healthy trace and fires on its fault, in `promtool test rules` and in a running Prometheus.
"""


def render() -> str:
    """The page, as Markdown."""
    from metalwright.monitoring import read_alerts

    found = read_alerts(ROOT)
    parts = [_LEAD, f"{len(list(found))} alerts.\n"]
    for file in found.files:
        parts.append(f"## {_TITLES[file.subject]}\n")
        parts.append("| alert | severity | meaning | cause | what to do | runbook |\n|---|---|---|---|---|---|")
        for alert in file.alerts:
            runbook = f"`{alert.runbook}`"
            cells = [f"`{alert.alert}`", alert.severity, alert.meaning, alert.cause, alert.action, runbook]
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        parts.append("")
    return "\n".join(parts)
