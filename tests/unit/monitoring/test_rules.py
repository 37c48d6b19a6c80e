"""Alert rules as values and as files: what Prometheus' own programs say of them, and what a wrong file is told."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.docs.console_blocks import ROOT
from tests.unit.monitoring.traces import values_of

from metalwright.cli.exported import write_files
from metalwright.errors import LoadingError
from metalwright.loading import load_site
from metalwright.monitoring import check_with_programs, export_monitoring, read_alerts
from metalwright.monitoring.rules import scaled

ALERTS = read_alerts(ROOT)


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed here")


def copied(root: Path) -> Path:
    """A site whose alerts a test may spoil."""
    for tree in ("templates", "runbooks", "inventory", "blueprints", "deploys"):
        shutil.copytree(ROOT / tree, root / tree)
    return root


def test_promtool_and_amtool_take_every_file_and_each_alert_fires_on_its_fault_alone(tmp_path: Path) -> None:
    need("promtool")
    need("amtool")
    write_files(tmp_path, export_monitoring(ROOT, load_site(ROOT)))
    verdicts = check_with_programs(tmp_path)
    assert [verdict.verdict for verdict in verdicts] == ["PASS"] * 3, verdicts


def test_an_alert_that_no_longer_fires_on_its_fault_is_found(tmp_path: Path) -> None:
    need("promtool")
    site = copied(tmp_path / "site")
    path = site / "templates/prometheus/alerts/gpu.yaml"
    for other in set(path.parent.iterdir()) - {path}:
        other.unlink()
    path.write_text(path.read_text().replace("DCGM_FI_DEV_XID_ERRORS == 79", "DCGM_FI_DEV_XID_ERRORS == 78"))
    write_files(tmp_path / "out", export_monitoring(site, load_site(site)))
    told = {verdict.command.split()[1]: verdict for verdict in check_with_programs(tmp_path / "out")}
    assert told["test"].verdict == "FAIL"
    assert "GpuXid79FellOffTheBus" in told["test"].told


def test_every_subject_has_alerts_and_every_alert_words_for_a_person() -> None:
    assert [file.subject for file in ALERTS.files] == ["fleet", "node", "gpu", "fabric", "bmc"]
    for alert in ALERTS:
        assert all(text.endswith((".", "`")) for text in (alert.meaning, alert.cause, alert.action)), alert.alert
        assert set(alert.fault) <= set(ALERTS.healthy) | set(alert.fault), alert.alert
        assert any(name.partition("{")[0] in alert.expr for name in alert.fault), alert.alert


@pytest.mark.parametrize("xid", [48, 63, 64, 74, 79, 94, 95])
def test_each_class_of_xid_has_an_alert_of_its_own(xid: int) -> None:
    (alert,) = [item for item in ALERTS if item.expr == f"DCGM_FI_DEV_XID_ERRORS == {xid}"]
    assert f"Xid{xid}" in alert.alert


def test_a_runbook_that_is_not_there_is_refused_with_its_line(tmp_path: Path) -> None:
    site = copied(tmp_path / "site")
    (site / "runbooks/gpu-fault.md").unlink()
    with pytest.raises(LoadingError, match=r"alerts/fabric\.yaml:\d+:\d+") as refused:
        read_alerts(site)
    assert refused.value.found == "gpu-fault"


def test_an_alert_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    site = copied(tmp_path / "site")
    path = site / "templates/prometheus/alerts/bmc.yaml"
    path.write_text(path.read_text().replace("alert: FanFailed", "alert: NodeGone"))
    with pytest.raises(LoadingError, match="NodeGone is named twice"):
        read_alerts(site)


def test_a_site_without_alerts_says_so(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="no alerts"):
        read_alerts(tmp_path)


def test_a_shorter_clock_changes_durations_and_nothing_else() -> None:
    text = "increase(x[1h]) > 3600 and avg_over_time(y[10m] offset 15m) > 10"
    assert scaled(text, 1.0) == text
    assert scaled(text, 1 / 60) == "increase(x[60s]) > 3600 and avg_over_time(y[10s] offset 15s) > 10"


def test_traces_are_read_as_promtool_reads_them() -> None:
    assert values_of("1x2 0") == [1, 1, 1, 0]
    assert values_of("1+2x2 _x2 5") == [1, 3, 5, None, None, 5]
    assert len(values_of("7")) == 31


def test_the_same_site_gives_the_same_bytes_and_labels_that_group(tmp_path: Path) -> None:
    site = load_site(ROOT)
    first, second = export_monitoring(ROOT, site), export_monitoring(ROOT, load_site(ROOT))
    assert first == second
    targets = json.loads(first["targets/metalwright-node.json"])
    assert targets[0]["labels"].keys() >= {"node", "rack", "blueprint", "role", "leaf"}
    assert [item["labels"]["node"] for item in targets] == sorted(item["labels"]["node"] for item in targets)


def test_a_threshold_of_an_alert_is_no_part_of_a_recipe(tmp_path: Path) -> None:
    site = copied(tmp_path / "site")
    before = load_site(site).tree_digest
    path = site / "templates/prometheus/alerts/node.yaml"
    path.write_text(path.read_text().replace("> 7200", "> 3600"))
    assert load_site(site).tree_digest == before
    (site / "templates/node/chrony.conf.j2").write_text("server x\n")
    assert load_site(site).tree_digest != before


def test_the_dashboard_has_a_row_for_each_subject_and_no_panel_over_another() -> None:
    board = json.loads(export_monitoring(ROOT, load_site(ROOT))["dashboards/metalwright.json"])
    rows = [panel["title"] for panel in board["panels"] if panel["type"] == "row"]
    assert rows == ["Fleet", "Node", "GPU", "Fabric", "BMC"]
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in board["panels"]]
    assert len(set(places)) == len(places)
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    assert board["templating"]["list"][0]["type"] == "datasource"


def test_every_query_of_the_dashboard_is_promql(tmp_path: Path) -> None:
    need("promtool")
    board = json.loads(export_monitoring(ROOT, load_site(ROOT))["dashboards/metalwright.json"])
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    lines = ["groups:", "- name: panels", "  rules:"]
    for number, query in enumerate(queries):
        plain = re.sub(r"\$\w+", ".*", query)
        lines += [f"  - record: panel:{number}", f"    expr: {json.dumps(plain)}"]
    (tmp_path / "rules.yml").write_text("\n".join(lines) + "\n")
    (tmp_path / "prometheus.yml").write_text("rule_files: [rules.yml]\n")
    (verdict, *_) = check_with_programs(tmp_path)
    assert verdict.verdict == "PASS", verdict.told
