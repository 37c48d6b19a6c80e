"""The agents of a node on a real system: the real node_exporter, stand-ins of what GPU makers ship."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.machines import Machine, can_run_machines, segment
from tests.machines.packages import build_package, index_repository
from tests.machines.site import MachineSite, machine_site

from metalwright.acceptance.exporters import metric_names
from metalwright.acceptance.suite.test_node_metrics import FETCH
from metalwright.node_files import DCGM_COUNTERS, monitoring_files
from metalwright.templates import render

ROOT = Path(__file__).parents[3]
EXPORTER = "/usr/bin/prometheus-node-exporter"
DCGM = """#!/usr/bin/python3
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
names = [line.split(",")[0].strip() for line in open(sys.argv[sys.argv.index("-f") + 1]) if line.startswith("DCGM_")]
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = "".join(f'{name}{{gpu="0",UUID="GPU-1"}} 0\\n' for name in names).encode()
        self.send_response(200); self.end_headers(); self.wfile.write(body)
    def log_message(self, *words): pass
HTTPServer(("", 9400), Handler).serve_forever()
"""
BARE = "dpkg --force-all --purge containerd chrony lldpd >/dev/null 2>&1 || true\n"


def exporter_version() -> str | None:
    """The Debian version of this computer's node_exporter, which the machine shares."""
    done = shutil.which("prometheus-node-exporter")
    status = Path("/var/lib/dpkg/status").read_text(encoding="utf-8") if done else ""
    found = re.search(r"^Package: prometheus-node-exporter\n(?:.+\n)*?Version: (\S+)", status, re.MULTILINE)
    return found[1] if found else None


pytestmark = [
    pytest.mark.skipif(not can_run_machines(), reason="machines of namespaces need root, systemd and sshd"),
    pytest.mark.skipif(exporter_version() is None, reason="prometheus-node-exporter is not installed here"),
]


def write_stand_ins(directory: Path) -> Path:
    directory.mkdir()
    build_package(directory, "containerd", "1.6.20~ds1-1+deb12u3", unit="containerd.service")
    build_package(directory, "chrony", "4.3-2+deb12u1", unit="chrony.service")
    build_package(directory, "lldpd", "1.0.16-1+deb12u1", unit="lldpd.service")
    collectors = "prometheus-node-exporter-collectors"
    timers = {
        f"/lib/systemd/system/prometheus-node-exporter-{kind}.{ending}": text
        for kind in ("nvme", "smartmon")
        for ending, text in (
            ("timer", "[Timer]\nOnBootSec=0\nOnUnitActiveSec=15min\n"),
            ("service", "[Service]\nType=oneshot\nExecStart=/bin/true\n"),
        )
    }
    build_package(directory, collectors, "0.0~git20230203.6f710f8-1+deb12u2", files=timers)
    for name in ("jq", "nvme-cli", "smartmontools"):
        build_package(directory, name, "1.0-1")
    files = {
        "/usr/bin/dcgm-exporter": DCGM,
        "/etc/dcgm-exporter/default-counters.csv": "DCGM_FI_DEV_GPU_TEMP, gauge, x\n",
    }
    command = "/usr/bin/dcgm-exporter -f /etc/dcgm-exporter/default-counters.csv"
    build_package(
        directory,
        "datacenter-gpu-manager-exporter",
        "4.8.2-1",
        unit="nvidia-dcgm-exporter.service",
        command=command,
        files=files,
    )
    index_repository(directory)
    return directory


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineSite]:
    """A deployed node whose blueprint names every agent that this computer can show."""
    directory = tmp_path_factory.mktemp("monitoring")
    stand_ins = write_stand_ins(directory / "stand-ins")
    agents = {
        "node_exporter": exporter_version(),
        "dcgm_exporter": "4.8.2",
        "disk_metrics": "0.0~git20230203.6f710f8",
        "lldpd": "1.0.16",
    }
    with segment() as wires:
        software = json.dumps({"container_runtime": {"name": "containerd", "version": "1.6.20"}, "agents": agents})
        made = machine_site(directory / "site", wires, setup=BARE, software=software)
        settings = made.root / "inventory/site.yaml"
        settings.write_text(settings.read_text() + "monitoring: {scrapers: [10.107.0.9]}\n")
        made.machines["lab-1"].put("/srv/stand-ins", stand_ins)
        done = made.deploy("software")
        assert done.code == 0, done.text
        assert "Settings of the agents" in done.changed
        yield made


@pytest.fixture
def node(site: MachineSite) -> Machine:
    return site.machines["lab-1"]


def names_at(node: Machine, port: int) -> frozenset[str]:
    return metric_names(node.run(FETCH % port).stdout)


def test_node_exporter_tells_of_the_services_that_alerts_speak_of(node: Machine) -> None:
    assert names_at(node, 9100) >= {"node_cpu_seconds_total", "node_memory_MemAvailable_bytes"}
    page = node.run(FETCH % 9100).stdout
    states = re.findall(r'^node_systemd_unit_state\{name="([^"]+)",state="active",.*\} 1$', page, re.MULTILINE)
    assert {"containerd.service", "chrony.service", "nvidia-dcgm-exporter.service", "ssh.service"} <= set(states)
    assert not any(name.endswith(".mount") for name in re.findall(r'name="([^"]+)",state=', page))


def test_the_gpu_exporter_reads_our_counters_instead_of_the_packages_own(node: Machine) -> None:
    assert "DCGM_FI_DEV_ROW_REMAP_PENDING" in names_at(node, 9400)


def test_the_health_of_disks_is_asked_every_five_minutes_by_packages_that_can(node: Machine) -> None:
    asked = node.run("systemctl show --property TimersMonotonic prometheus-node-exporter-nvme.timer").stdout
    assert "OnUnitActiveUSec=5min" in asked
    assert node.run("dpkg-query --show jq nvme-cli smartmontools").stdout.count("\n") == 3


def test_only_the_scraper_reaches_the_exporters(node: Machine) -> None:
    rules = node.run("nft list table inet metalwright").stdout
    assert "ip saddr 10.107.0.9 tcp dport { 9100, 9400 } accept" in rules
    assert "tcp dport 22 accept" in rules


def test_the_node_carries_its_labels_for_scripts_and_for_a_kubelet(node: Machine) -> None:
    assert "lab.test/rack=rack-1\n" in node.run("cat /etc/metalwright/labels").stdout
    line = node.run("cat /etc/metalwright/kubelet.env").stdout
    assert line.startswith("METALWRIGHT_KUBELET_ARGS=--node-labels=lab.test/site=lab,lab.test/rack=rack-1,")
    assert line.count("\n") == 1


def test_a_second_run_changes_nothing(site: MachineSite) -> None:
    done = site.deploy("software")
    assert (done.code, done.changed) == (0, set()), done.text


def test_settings_that_somebody_changed_come_back_and_are_read(site: MachineSite, node: Machine) -> None:
    node.run("echo 'ARGS=\"--no-collector.cpu\"' > /etc/default/prometheus-node-exporter")
    node.run("systemctl restart prometheus-node-exporter")
    done = site.deploy("software")
    assert {"Settings of the agents", "The agents read their settings"} <= done.changed, done.text
    assert "node_cpu_seconds_total" in names_at(node, 9100)


def alert_metrics(pattern: str) -> set[str]:
    files = [*(ROOT / "templates/prometheus/alerts").glob("*.yaml"), ROOT / "src/metalwright/monitoring/dashboard.py"]
    return {name for path in files for name in re.findall(pattern, path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize(
    ("version", "name", "other"),
    [
        ("3.3.9", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"),
        ("4.8.2", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"),
    ],
)
def test_every_counter_that_an_alert_or_panel_asks_for_is_exported(version: str, name: str, other: str) -> None:
    """By the name that this major version of the exporter knows: an unknown one would keep it from starting."""
    (file,) = [file for file in monitoring_files({"dcgm_exporter": version}) if file.path == DCGM_COUNTERS]
    text = render(ROOT / "templates", f"node/{file.template}", file.values)
    exported = set(re.findall(r"^(DCGM_\w+),", text, re.MULTILINE))
    assert name in exported
    assert other not in exported
    assert alert_metrics(r"\bDCGM_\w+") - {other} <= exported


def test_every_field_of_amds_exporter_that_an_alert_or_panel_asks_for_is_exported() -> None:
    text = (ROOT / "templates/node/amd-exporter.json.j2").read_text(encoding="utf-8")
    settings = json.loads(text.split("-#}\n", 1)[1].replace("{{ port }}", "5000"))
    asked = alert_metrics(r"\bgpu_(?:\w+_temperature|health|ecc_\w+_total|gfx_activity|package_power)\b")
    assert len(asked) == 6
    assert {name.upper() for name in asked} <= set(settings["GPUConfig"]["Fields"])
