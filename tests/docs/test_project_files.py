"""Files that no other test reads: the Vagrantfile, workflows, scripts."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from ruamel.yaml import YAML

from metalwright.imaging import programs
from metalwright.model.package import AGENT_PACKAGES
from metalwright.node_files import node_files

ROOT = Path(__file__).resolve().parents[2]
SHELL_SCRIPTS = sorted(
    path
    for path in [*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run"]
    if path.is_file() and path.read_bytes().startswith(b"#!")
)


def test_no_two_files_of_tests_take_the_same_loopback_prefix() -> None:
    """Two workers run two files at a time; the BMC of one site must not answer for the other's."""
    users: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for prefix in re.findall(r'"(127\.\d+)"', path.read_text(encoding="utf-8")):
            users.setdefault(prefix, set()).add(path.name)
    assert len(users) > 10
    assert {prefix: files for prefix, files in users.items() if len(files) > 1} == {}


def test_every_file_of_running_nodes_is_in_the_table_that_a_review_reads() -> None:
    admins = [{"name": "a", "authorized_keys": ["x"], "principals": ["x"]}]
    data = {
        "package_pins": (),
        "apt_sources": ["deb x"],
        "ntp_servers": (),
        "admins": admins,
        "audit_rules": ["x"],
        "ssh_trust": {
            "certificate_authorities": ["x"],
            "revoked_keys": [],
            "revoked_certificates": {"x": ["serial: 1"]},
        },
        "agents": dict.fromkeys(AGENT_PACKAGES, "1.0"),
    }
    kernel = {"sysctl": {}, "cpu_governor": "performance", "patches": "none"}
    stacks = [
        {"vendor": vendor, "rivals": ["x"], "load": ["x"], "pins": [], "version": "1", "commands": ["x"]}
        for vendor in ("nvidia", "amd")
    ]
    mirrors = {"docker.io": ["https://mirror.lab.test"]}
    runtimes = [{"name": name, "version": "1.7", "mirrors": mirrors} for name in ("containerd", "docker")]
    rest = {**data, **kernel, "firewall": "none", "open_tcp_ports": (), "gpu_runtime": None}
    declared = {
        item.template
        for stack, runtime in zip(stacks, runtimes, strict=True)
        for item in node_files({**rest, "accelerator": stack, "container_runtime": runtime})
    }
    there = {path.relative_to(ROOT / "templates/node").as_posix() for path in (ROOT / "templates/node").rglob("*.j2")}
    assert declared == there, "declare the file in src/metalwright/node_files.py, so that reviews show what it becomes"


@pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")
def test_vagrantfile_is_valid_ruby() -> None:
    done = subprocess.run(["ruby", "-c", ROOT / "Vagrantfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "Syntax OK"), done.stderr


def test_workflows_pin_actions_by_major_version_and_call_make() -> None:
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        jobs = YAML(typ="safe").load(path.read_text(encoding="utf-8"))["jobs"]
        steps = [step for job in jobs.values() for step in job["steps"]]
        for step in steps:
            name, _, version = step.get("uses", "").partition("@")
            assert not name or (version.startswith("v") and version[1:].isdigit()), f"{path.name}: {step}"
        assert {"make setup", "make test"} <= {step.get("run") for step in steps}


@pytest.mark.parametrize("path", SHELL_SCRIPTS, ids=lambda path: path.name)
def test_script_is_executable_and_valid_bash(path: Path) -> None:
    assert path.stat().st_mode & 0o111
    assert path.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash\n")
    assert subprocess.run(["bash", "-n", path], check=False).returncode == 0


def test_every_system_package_says_why_it_is_needed() -> None:
    text = (ROOT / "scripts" / "system-packages.txt").read_text(encoding="utf-8")
    lines = [line.split(maxsplit=2) for line in text.splitlines() if line and not line.startswith("#")]
    assert all(len(line) == 3 and line[0] in ("demo", "test") for line in lines)
    assert len({line[1] for line in lines}) == len(lines)


def test_nothing_missing_installs_nothing_and_says_nothing() -> None:
    listed = subprocess.run(
        [ROOT / "scripts" / "system-packages", "--list", "demo"], capture_output=True, text=True, check=True
    )
    assert "qemu-system-x86" in listed.stdout.split()


def test_pre_commit_calls_the_locked_tools() -> None:
    config = YAML(typ="safe").load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    assert all(hook["entry"].startswith(".venv/bin/") and hook["language"] == "system" for hook in hooks)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_target_that_is_stopped_cleans_up_and_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    mark = str(tmp_path / "mark")
    script = f"trap 'echo cleaned > {mark}; exit 7' INT; sleep 600 & echo $! > {mark}; while :; do sleep 0.1; done"
    target = subprocess.Popen([ROOT / "scripts" / "until-done", "bash", "-c", script])
    try:
        _wait_for(lambda: Path(mark).exists() and Path(mark).read_text().strip().isdigit())
        child = int(Path(mark).read_text())
        target.send_signal(number)
        assert target.wait(timeout=90) == 128 + number
    finally:
        target.terminate()
    assert Path(mark).read_text() == "cleaned\n"
    _wait_for(lambda: not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2])


def _wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_lock_satisfies_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [Requirement(text) for text in project["project"]["dependencies"] + project["dependency-groups"]["dev"]]
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = {
        canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)
    }
    for requirement in wanted:
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), (
            f"{requirement}: run `make lock`"
        )
    assert text.count("--hash=sha256:") >= len(locked)


def test_every_program_that_images_are_made_with_is_installed_by_the_demo() -> None:
    listed = subprocess.run(
        [ROOT / "scripts" / "system-packages", "--list", "demo"], capture_output=True, text=True, check=True
    )
    assert set(programs._PACKAGES.values()) - set(listed.stdout.split()) == set()


def test_where_sudo_is_impossible_the_one_line_to_run_is_printed(tmp_path: Path) -> None:
    for name, body in {"dpkg-query": "exit 1", "id": "echo 1000", "sudo": "exit 1"}.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        program.chmod(0o755)
    done = subprocess.run(
        [ROOT / "scripts" / "system-packages", "demo"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "\n  sudo apt-get install -y --no-install-recommends qemu-system-x86 ovmf " in done.stderr
