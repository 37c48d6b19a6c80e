"""The Grafana dashboard of a site: one row a subject. Pure, and without a Grafana at hand checked by its own tests."""

from __future__ import annotations

from typing import Any, NamedTuple

DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
PANEL_WIDTH, PANEL_HEIGHT = 8, 8


class Panel(NamedTuple):
    """One graph: title, PromQL, legend, Grafana's unit; ``kind`` is Grafana's type of panel."""

    title: str
    expr: str
    legend: str
    unit: str = "short"
    kind: str = "timeseries"


_PICK = 'node=~"$node",rack=~"$rack"'
ROWS: tuple[tuple[str, tuple[Panel, ...]], ...] = (
    (
        "Fleet",
        (
            Panel("Nodes that answer", 'sum(up{job="metalwright-node"})', "nodes", kind="stat"),
            Panel(
                "Firing alerts",
                'sum by (alertname, severity) (ALERTS{alertstate="firing"})',
                "{{alertname}}",
                kind="bargauge",
            ),
            Panel("Nodes by state", "count by (state) (metalwright_node_state == 1)", "{{state}}"),
            Panel(
                "Days until acceptance ends",
                f"(metalwright_certificate_expiry_timestamp_seconds{{{_PICK}}} - time()) / 86400",
                "{{node}}",
                "d",
            ),
        ),
    ),
    (
        "Node",
        (
            Panel(
                "CPU in use",
                f'1 - avg by (node) (rate(node_cpu_seconds_total{{mode="idle",{_PICK}}}[5m]))',
                "{{node}}",
                "percentunit",
            ),
            Panel(
                "Memory in use",
                f"1 - node_memory_MemAvailable_bytes{{{_PICK}}} / node_memory_MemTotal_bytes{{{_PICK}}}",
                "{{node}}",
                "percentunit",
            ),
            Panel(
                "File systems in use",
                f'1 - node_filesystem_avail_bytes{{fstype!~"tmpfs|ramfs|overlay",{_PICK}}} / '
                f'node_filesystem_size_bytes{{fstype!~"tmpfs|ramfs|overlay",{_PICK}}}',
                "{{node}} {{mountpoint}}",
                "percentunit",
            ),
            Panel("Wear of drives", f"nvme_percentage_used_ratio{{{_PICK}}}", "{{node}} {{device}}", "percentunit"),
        ),
    ),
    (
        "GPU",
        (
            Panel(
                "Utilisation",
                f"DCGM_FI_DEV_GPU_UTIL{{{_PICK}}} or gpu_gfx_activity{{{_PICK}}}",
                "{{node}} {{gpu}}{{gpu_id}}",
                "percent",
            ),
            Panel(
                "Temperature",
                f"DCGM_FI_DEV_GPU_TEMP{{{_PICK}}} or gpu_junction_temperature{{{_PICK}}}",
                "{{node}} {{gpu}}{{gpu_id}}",
                "celsius",
            ),
            Panel(
                "Power",
                f"DCGM_FI_DEV_POWER_USAGE{{{_PICK}}} or gpu_package_power{{{_PICK}}}",
                "{{node}} {{gpu}}{{gpu_id}}",
                "watt",
            ),
            Panel("Last Xid", f"DCGM_FI_DEV_XID_ERRORS{{{_PICK}}} > 0", "{{node}} {{gpu}}"),
            Panel(
                "Uncorrectable memory errors",
                f"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{{{_PICK}}} or gpu_ecc_uncorrect_total{{{_PICK}}}",
                "{{node}} {{gpu}}{{gpu_id}}",
            ),
        ),
    ),
    (
        "Fabric",
        (
            Panel(
                "Sent over the fabric",
                f"rate(node_infiniband_port_data_transmitted_bytes_total{{{_PICK}}}[5m])",
                "{{node}} {{device}}",
                "Bps",
            ),
            Panel("Rate of links", f"node_infiniband_rate_bytes_per_second{{{_PICK}}}", "{{node}} {{device}}", "Bps"),
            Panel(
                "Symbol errors",
                f"increase(node_infiniband_symbol_error_total{{{_PICK}}}[1h])",
                "{{node}} {{device}}",
            ),
            Panel(
                "Ethernet errors",
                f"rate(node_network_receive_errs_total{{{_PICK}}}[5m])",
                "{{node}} {{device}}",
            ),
        ),
    ),
    (
        "BMC",
        (
            Panel("Inlet temperature", f"metalwright_bmc_inlet_celsius{{{_PICK}}}", "{{node}}", "celsius"),
            Panel("Power of servers", f"metalwright_bmc_power_watts{{{_PICK}}}", "{{node}}", "watt"),
            Panel("Fans", f"metalwright_bmc_fan_rpm{{{_PICK}}}", "{{node}} {{fan}}", "rotrpm"),
            Panel("Power supplies that are well", f"sum by (node) (metalwright_bmc_psu_ok{{{_PICK}}})", "{{node}}"),
        ),
    ),
)


def dashboard(site: str) -> dict[str, Any]:
    """The dashboard as Grafana imports it; ``datasource``, ``rack`` and ``node`` are chosen in it."""
    panels: list[dict[str, Any]] = []
    top = 0
    for title, row in ROWS:
        panels.append(_row(len(panels) + 1, title, top))
        top += 1
        for index, panel in enumerate(row):
            x, line = PANEL_WIDTH * (index % 3), top + PANEL_HEIGHT * (index // 3)
            panels.append(_panel(len(panels) + 1, panel, x, line))
        top += PANEL_HEIGHT * ((len(row) + 2) // 3)
    return {
        "uid": "metalwright",
        "title": f"metalwright: {site}",
        "tags": ["metalwright"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_data_source(), _variable("rack", "rack"), _variable("node", "node", 'rack=~"$rack"')]},
        "panels": panels,
    }


def _row(number: int, title: str, top: int) -> dict[str, Any]:
    place = {"h": 1, "w": 24, "x": 0, "y": top}
    return {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": place, "panels": []}


def _panel(number: int, panel: Panel, x: int, y: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "datasource": DATA_SOURCE,
        "gridPos": {"h": PANEL_HEIGHT, "w": PANEL_WIDTH, "x": x, "y": y},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [{"refId": "A", "datasource": DATA_SOURCE, "expr": panel.expr, "legendFormat": panel.legend}],
    }


def _data_source() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}


def _variable(name: str, label: str, selector: str = "") -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": DATA_SOURCE,
        "query": f'label_values(up{{job="metalwright-node"{"," if selector else ""}{selector}}}, {label})',
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "refresh": 2,
    }
