"""The shipped drain and undrain hooks with stand-ins of the schedulers' programs that record what they are asked."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.docs.console_blocks import ROOT

from metalwright.model.hooks import Hook
from metalwright.starter.site import create_site

HOOKS = sorted(path.name for path in (ROOT / "hooks").iterdir())
VALUES = {"node": "gpu-1", "fqdn": "gpu-1.lab.test", "run": "r-7", "reason": "rebuild: disk is old"}


@dataclass
class Cluster:
    """Programs in ``bin``: each call is a line of ``calls``, and what they answer is a script."""

    root: Path

    def program(self, name: str, script: str = "") -> None:
        path = self.root / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/sh\nprintf "{name} %s\\n" "$*" >> {self.root}/calls\n{script}\n')
        path.chmod(0o755)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """As metalwright calls a hook."""
        hook = Hook(command=command)
        environment = {f"METALWRIGHT_{key.upper()}": value for key, value in VALUES.items()}
        return subprocess.run(
            hook.arguments(VALUES),
            cwd=ROOT,
            env={"PATH": f"{self.root}/bin:/usr/bin:/bin", "DRAIN_POLL_S": "0.05", **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )

    @property
    def calls(self) -> list[str]:
        path = self.root / "calls"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_can_be_run_and_is_valid_shell(name: str) -> None:
    assert os.access(ROOT / "hooks" / name, os.X_OK)
    assert subprocess.run(["sh", "-n", ROOT / "hooks" / name]).returncode == 0


def test_a_new_site_has_them_ready_to_run(tmp_path: Path) -> None:
    create_site(tmp_path / "site")
    assert {path.name for path in (tmp_path / "site/hooks").iterdir() if os.access(path, os.X_OK)} == set(HOOKS)


def test_kubernetes_cordons_before_it_drains_and_says_why(cluster: Cluster) -> None:
    cluster.program("kubectl", 'case "$*" in get*) echo node/gpu-1.lab.test;; esac')
    assert cluster.run("hooks/drain-kubernetes", "{fqdn}").returncode == 0
    assert [call.split()[1] for call in cluster.calls] == ["get", "cordon", "annotate", "drain"]
    assert cluster.calls[2].endswith("metalwright.run=r-7 metalwright.reason=rebuild: disk is old")
    assert "--ignore-daemonsets" in cluster.calls[3]
    assert "--force" not in cluster.calls[3], "a pod that nothing starts again is a person's matter"


def test_a_drain_that_kubernetes_refuses_is_a_failed_drain(cluster: Cluster) -> None:
    cluster.program("kubectl", 'case "$*" in get*) echo node/x;; drain*) echo cannot evict >&2; exit 1;; esac')
    done = cluster.run("hooks/drain-kubernetes", "{fqdn}")
    assert (done.returncode, done.stderr) == (1, "cannot evict\n")


@pytest.mark.parametrize("name", ["drain-kubernetes", "undrain-kubernetes"])
def test_a_node_that_is_not_in_the_cluster_needs_nothing(name: str, cluster: Cluster) -> None:
    cluster.program("kubectl")
    assert cluster.run(f"hooks/{name}", "{fqdn}").returncode == 0
    assert len(cluster.calls) == 1


def test_a_cluster_that_does_not_answer_is_no_empty_cluster(cluster: Cluster) -> None:
    cluster.program("kubectl", "exit 1")
    assert cluster.run("hooks/drain-kubernetes", "{fqdn}").returncode != 0


def test_kubernetes_gets_the_node_back(cluster: Cluster) -> None:
    cluster.program("kubectl", 'case "$*" in get*) echo node/x;; esac')
    assert cluster.run("hooks/undrain-kubernetes", "{fqdn}").returncode == 0
    assert cluster.calls[-1] == "kubectl uncordon gpu-1.lab.test"


def slurm(cluster: Cluster, *states: str, jobs: str = "") -> None:
    """A Slurm whose node goes through these states, one a question; the last one stays."""
    answers = cluster.root / "states"
    answers.write_text("".join(f"{state}\n" for state in states))
    show = (
        f'case "$*" in *"show node"*) echo "NodeName=gpu-1 Arch=x State=$(head -n1 {answers}) Threads=1"; '
        f'[ "$(wc -l < {answers})" -gt 1 ] && sed -i 1d {answers}; true;; esac'
    )
    cluster.program("scontrol", show)
    cluster.program("squeue", f'[ "$(head -n1 {answers})" = "{states[-1]}" ] || echo {jobs}')


def test_slurm_drains_and_waits_for_the_jobs_of_the_node(cluster: Cluster) -> None:
    slurm(cluster, "MIXED", "MIXED+DRAIN", "IDLE+COMPLETING+DRAIN", "IDLE+DRAIN", jobs="17")
    done = cluster.run("hooks/drain-slurm", "{node}")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == "gpu-1: IDLE+DRAIN"
    updates = [call for call in cluster.calls if "update" in call]
    assert updates == ["scontrol update NodeName=gpu-1 State=DRAIN Reason=metalwright r-7: rebuild: disk is old"]


@pytest.mark.parametrize("state", ["IDLE+DRAIN", "DOWN*+DRAIN"])
def test_a_node_that_is_drained_or_down_is_not_drained_again(state: str, cluster: Cluster) -> None:
    slurm(cluster, state)
    assert cluster.run("hooks/drain-slurm", "{node}").returncode == 0
    assert not any("update" in call for call in cluster.calls)


def test_jobs_that_cannot_be_listed_are_not_no_jobs(cluster: Cluster) -> None:
    slurm(cluster, "IDLE+DRAIN")
    cluster.program("squeue", "echo slurm_load_jobs error >&2; exit 1")
    assert cluster.run("hooks/drain-slurm", "{node}").returncode != 0


def test_a_node_that_slurm_does_not_know_is_no_drained_node(cluster: Cluster) -> None:
    cluster.program("scontrol", "echo no such node >&2; exit 1")
    assert cluster.run("hooks/drain-slurm", "{node}").returncode != 0


@pytest.mark.parametrize(("state", "resumes"), [("IDLE+DRAIN", True), ("DOWN", True), ("IDLE", False)])
def test_slurm_resumes_only_what_is_drained_or_down(state: str, resumes: bool, cluster: Cluster) -> None:
    slurm(cluster, state)
    assert cluster.run("hooks/undrain-slurm", "{node}").returncode == 0
    assert ("scontrol update NodeName=gpu-1 State=RESUME" in cluster.calls) is resumes


@pytest.mark.parametrize(("state", "code"), [("inactive", 0), ("failed", 0), ("active", 1), ("", 1)])
def test_a_unit_counts_as_drained_only_when_it_was_seen_to_be_stopped(state: str, code: int, cluster: Cluster) -> None:
    cluster.program("ssh", f'case "$*" in *is-active*) echo "{state}"; exit 3;; esac')
    assert cluster.run("hooks/drain-unit", "training.service", "{fqdn}").returncode == code
    assert cluster.calls[0].endswith("gpu-1.lab.test sudo systemctl stop training.service")


def test_a_unit_is_started_again(cluster: Cluster) -> None:
    cluster.program("ssh")
    assert cluster.run("hooks/undrain-unit", "training.service", "{fqdn}").returncode == 0
    assert cluster.calls[0].endswith("sudo systemctl start training.service")
