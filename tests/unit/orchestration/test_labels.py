"""Labels and topology of nodes, judged by the schedulers that read them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.docs.console_blocks import ROOT
from tests.simulator.discovery.sites import run_cli
from tests.unit.orchestration.slurm import Slurm, controller

from metalwright.loading import SitePaths, load_site
from metalwright.orchestration import export_orchestration
from metalwright.topology import _value, node_labels, scheduler_nodes

SITE = load_site(ROOT)
FILES = export_orchestration(SitePaths(ROOT), SITE)
UNCONCERNED = re.compile("state (save )?file|MailProg|mpi|PMIx", re.IGNORECASE)
"""What a controller without history, mail and MPI says of itself."""

VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def test_a_node_says_where_it_stands_and_what_it_is() -> None:
    labels = node_labels(SITE, SITE.node("gpu-a01-u05"))
    assert labels["example.net/rack"] == "gpu-a01"
    assert labels["example.net/blueprint"] == "gpu-h100-8x"
    assert labels["example.net/port-fabric-0"] == "leaf-1"
    assert labels["tier"] == "training"
    assert all(KEY.fullmatch(key) and VALUE.fullmatch(value) for key, value in labels.items())


@given(st.text(max_size=100))
def test_any_text_becomes_a_valid_value(text: str) -> None:
    value = _value(text)
    assert len(value) <= 63
    assert VALUE.fullmatch(value)


def test_a_node_that_nobody_may_use_is_offered_to_no_scheduler() -> None:
    rack = SITE.racks[0]
    nodes = (rack.nodes[0].model_copy(update={"state": "quarantined"}), *rack.nodes[1:])
    changed = SITE.model_copy(update={"racks": (rack.model_copy(update={"nodes": nodes}), *SITE.racks[1:])})
    files = export_orchestration(SitePaths(ROOT), changed)
    assert all("gpu-a01-u05" not in text for text in files.values())
    assert len(scheduler_nodes(changed)) == 5


def test_the_same_site_gives_the_same_bytes_and_scripts_can_be_run(tmp_path: Path) -> None:
    first = run_cli("--site", str(ROOT), "labels", "export", str(tmp_path))
    assert first.out.count("wrote") == 4
    assert os.access(tmp_path / "kubernetes/labels.sh", os.X_OK)
    assert run_cli("--site", str(ROOT), "labels", "export", str(tmp_path), "--check").code == 0
    (tmp_path / "slurm/gres.conf").write_text("changed\n")
    again = run_cli("--site", str(ROOT), "labels", "export", str(tmp_path), "--check")
    assert (again.code, again.out) == (2, f"would write {tmp_path}/slurm/gres.conf\n")


def test_kubernetes_gets_each_label_of_each_node(tmp_path: Path) -> None:
    record = tmp_path / "calls"
    (tmp_path / "kubectl").write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {record}\n')
    (tmp_path / "kubectl").chmod(0o755)
    (tmp_path / "labels.sh").write_text(FILES["kubernetes/labels.sh"])
    subprocess.run(["sh", tmp_path / "labels.sh"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
    calls = record.read_text().splitlines()
    assert len(calls) == len(scheduler_nodes(SITE))
    wanted = " ".join(f"{key}={value}" for key, value in node_labels(SITE, SITE.node("gpu-a01-u05")).items())
    assert calls[0] == f"label --overwrite node gpu-a01-u05.example.net {wanted}"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    files = {name.partition("/")[2]: text for name, text in FILES.items() if name.startswith("slurm/")}
    with controller(tmp_path_factory.mktemp("slurm"), files) as running:
        yield running


def test_slurm_reads_nodes_gpus_and_topology(slurm: Slurm) -> None:
    shown = slurm.run("scontrol", "--oneliner", "show", "node", "gpu-a02-u13")
    assert "Gres=gpu:h100:8" in shown
    assert "NodeAddr=10.30.1.66" in shown
    assert "AvailableFeatures=rack-gpu-a02,role-training,tier-training" in shown
    assert "Sockets=2" in shown
    names = ",".join(node.name for node in scheduler_nodes(SITE))
    assert f"Nodes={names}" in slurm.run("scontrol", "show", "topology")
    log = (slurm.directory / "log").read_text().splitlines()
    assert [line for line in log if "error" in line and not UNCONCERNED.search(line)] == []


def hook(slurm: Slurm, name: str, node: str) -> str:
    environment = {
        **slurm.environment,
        "METALWRIGHT_NODE": node,
        "METALWRIGHT_RUN": "r-1",
        "METALWRIGHT_REASON": "rebuild",
        "DRAIN_POLL_S": "0.2",
    }
    done = subprocess.run(
        slurm.wrap([str(ROOT / "hooks" / name)]), env=environment, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_shipped_hook_drains_a_node_of_a_real_slurm_once(slurm: Slurm) -> None:
    assert "DRAIN" in hook(slurm, "drain-slurm", "gpu-a01-u13")
    assert "DRAIN" in slurm.state("gpu-a01-u13")
    shown = slurm.run("scontrol", "--oneliner", "show", "node", "gpu-a01-u13")
    assert "Reason=metalwright r-1: rebuild" in shown
    hook(slurm, "drain-slurm", "gpu-a01-u13")
    assert "DRAIN" in slurm.state("gpu-a01-u13")


def test_undraining_a_node_that_serves_changes_nothing(slurm: Slurm) -> None:
    assert "nothing to do" in hook(slurm, "undrain-slurm", "gpu-a01-u21")


def test_only_what_was_written_is_said_to_be_written() -> None:
    run = run_cli("--site", str(ROOT), "labels", "export", "/proc/schedulers")
    assert (run.code, run.out) == (1, "")
    assert "/proc/schedulers/kubernetes: cannot make the directory" in run.err


@pytest.mark.parametrize("command", ["labels", "monitoring"])
def test_an_export_into_a_directory_without_a_name_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    run = run_cli("--site", str(ROOT), command, "export", "")
    assert run.code == 64
    assert "the directory has no name" in run.err
    assert "hint: `.` is this one" in run.err
    assert list(tmp_path.iterdir()) == []
