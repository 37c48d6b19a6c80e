"""Acceptance runs against a loopback SSH server that runs the suite's commands on this machine."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest
from tests.loopback_ssh import LoopbackServer

from metalwright.acceptance import run
from metalwright.acceptance.job import Job
from metalwright.acceptance.run import AcceptanceResult, run_acceptance

KERNEL = {"kernel": [{"id": "release", "releases": [os.uname().release]}]}
MEASURED = {"seconds": None, "vendor": None, "gpus": 0, "peer": None}
BOOT = {"measured": [{"id": "boot-id", "floor": None, "unit": None, **MEASURED}]}


def job_for(server: LoopbackServer, checks: dict[str, Any], **more: Any) -> Job:
    return Job(
        target=dataclasses.replace(server.target, user="root"),
        host_key=server.public_host_key,
        expected={"schema": 1, "node": "n1", "checks": checks},
        private_key=server.client_key_path,
        **more,
    )


def verdicts(result: AcceptanceResult) -> dict[str, str]:
    return {test.name: test.verdict for test in result.tests}


def test_what_is_as_expected_passes_and_leaves_evidence(ssh_server: LoopbackServer, tmp_path: Path) -> None:
    result = run_acceptance(job_for(ssh_server, KERNEL | BOOT), tmp_path / "evidence")
    assert verdicts(result) == {"kernel:release": "PASS", "boot-id": "PASS"}
    assert result.verdict == "PASS"
    assert result.tests[1].why == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert '<testcase classname="test_system" name="test_kernel[release]"' in result.junit.read_text()


def test_one_connection_serves_all_checks(ssh_server: LoopbackServer, tmp_path: Path) -> None:
    run_acceptance(job_for(ssh_server, KERNEL | BOOT), tmp_path)
    assert ssh_server.logins == ["root"]


def test_what_differs_fails_and_says_what_was_seen(ssh_server: LoopbackServer, tmp_path: Path) -> None:
    result = run_acceptance(job_for(ssh_server, {"kernel": [{"id": "release", "releases": ["1.0"]}]}), tmp_path)
    assert result.verdict == "FAIL"
    assert os.uname().release in (result.tests[0].why or "")


def test_a_measured_value_keeps_floor_and_unit(ssh_server: LoopbackServer, tmp_path: Path) -> None:
    floor = {"id": "cpu-hash", "floor": 1e9, "unit": "MB/s", **MEASURED}
    result = run_acceptance(job_for(ssh_server, {"measured": [floor]}), tmp_path)
    (test,) = result.tests
    assert (test.name, test.verdict, test.floor, test.unit) == ("cpu-hash", "FAIL", 1e9, "MB/s")
    assert test.value is not None
    assert 10 < test.value < 1e5
    assert test.why == f"{test.value} MB/s is under the floor of 1000000000.0"


def test_a_lost_connection_is_never_evidence(ssh_server: LoopbackServer, tmp_path: Path) -> None:
    """A check that only looks for something that must not be there would pass on a dead connection."""
    ssh_server.faults.drop_before_exit_status = True
    result = run_acceptance(job_for(ssh_server, {"ports": [{"id": "tcp", "allowed": [22]}]} | KERNEL), tmp_path)
    assert verdicts(result) == {"ports:tcp": "NOT-RUN", "kernel:release": "NOT-RUN"}
    assert result.verdict == "NOT-RUN"
    assert "connection" in (result.tests[0].why or "")


def test_an_unreachable_node_runs_nothing(ssh_server: LoopbackServer, tmp_path: Path) -> None:
    job = job_for(ssh_server, KERNEL)
    result = run_acceptance(dataclasses.replace(job, target=dataclasses.replace(job.target, port=1)), tmp_path)
    assert verdicts(result) == {"kernel:release": "NOT-RUN"}
    assert "does not answer over SSH" in (result.tests[0].why or "")


def test_another_host_key_runs_nothing(ssh_server: LoopbackServer, tmp_path: Path) -> None:
    client = f"{ssh_server.client_key.get_name()} {ssh_server.client_key.get_base64()}"
    result = run_acceptance(dataclasses.replace(job_for(ssh_server, KERNEL), host_key=client), tmp_path)
    assert result.verdict == "NOT-RUN"
    assert "not the one that the deployment reported" in (result.tests[0].why or "")
    assert ssh_server.commands == []


def test_a_command_that_hangs_fails_its_check_and_the_others_go_on(
    ssh_server: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = tmp_path / "bin" / "uname"
    hanging.parent.mkdir()
    hanging.write_text("#!/bin/sh\nexec sleep 60\n")
    hanging.chmod(0o755)
    monkeypatch.setenv("PATH", f"{hanging.parent}:{os.environ['PATH']}")
    result = run_acceptance(job_for(ssh_server, KERNEL | BOOT, command_limit_s=0.5), tmp_path)
    assert verdicts(result) == {"kernel:release": "FAIL", "boot-id": "PASS"}
    assert (result.tests[0].why or "").startswith("hang: ")


def test_a_run_over_its_deadline_fails_as_a_hang(
    ssh_server: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = tmp_path / "bin" / "uname"
    hanging.parent.mkdir()
    hanging.write_text("#!/bin/sh\nexec sleep 60\n")
    hanging.chmod(0o755)
    monkeypatch.setenv("PATH", f"{hanging.parent}:{os.environ['PATH']}")
    result = run_acceptance(job_for(ssh_server, KERNEL | BOOT, command_limit_s=60), tmp_path, deadline_s=3)
    assert result.verdict == "FAIL"
    assert [test.why for test in result.tests if test.name == "kernel:release"] == ["hang: no result within 3 s"]
    assert result.seconds < 20


def test_a_check_that_no_test_collects_is_not_run(ssh_server: LoopbackServer, tmp_path: Path) -> None:
    result = run_acceptance(job_for(ssh_server, KERNEL | {"fabric": [{"id": "rail-0"}]}), tmp_path)
    assert verdicts(result) == {"kernel:release": "PASS", "fabric:rail-0": "NOT-RUN"}
    assert result.verdict == "NOT-RUN"


def test_nothing_to_check_is_no_pass(ssh_server: LoopbackServer, tmp_path: Path) -> None:
    assert run_acceptance(job_for(ssh_server, {}), tmp_path).verdict == "NOT-RUN"


def test_an_older_junit_file_is_no_evidence(ssh_server: LoopbackServer, tmp_path: Path) -> None:
    run_acceptance(job_for(ssh_server, KERNEL), tmp_path)
    job = dataclasses.replace(job_for(ssh_server, KERNEL), host_key="broken")
    assert run_acceptance(job, tmp_path).verdict == "NOT-RUN"


def test_a_pytest_that_does_not_even_start_leaves_no_older_result_in_force(
    ssh_server: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_acceptance(job_for(ssh_server, KERNEL), tmp_path).verdict == "PASS"
    monkeypatch.setattr(run, "SUITE", tmp_path / "gone")
    result = run_acceptance(job_for(ssh_server, KERNEL), tmp_path)
    assert (result.verdict, result.junit.exists()) == ("NOT-RUN", False)


FOOLING = """
import pathlib, sys
pathlib.Path({marker!r}).touch()
"""


def test_no_environment_of_the_caller_leaves_checks_out_or_moves_the_results(
    ssh_server: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of these, alone, once let a check that fails vanish, or ran code of the caller in the judge."""
    marker, modules = tmp_path / "ran", tmp_path / "modules"
    modules.mkdir()
    for name in ("sitecustomize", "usercustomize", "fooling"):
        (modules / f"{name}.py").write_text(FOOLING.format(marker=str(marker)))
    evidence = tmp_path / "evidence"
    evidence.mkdir()
    (evidence / "pytest.py").write_text(FOOLING.format(marker=str(marker)))
    (tmp_path / "conftest.py").write_text("def pytest_collection_modifyitems(items): items.clear()\n")
    for name, value in {
        "PYTEST_ADDOPTS": f"-k boot --junitxml={tmp_path}/elsewhere.xml",
        "PYTEST_PLUGINS": "fooling",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "",
        "PYTHONPATH": str(modules),
        "PYTHONSTARTUP": str(modules / "fooling.py"),
        "PYTHONOPTIMIZE": "2",
        "PYTHONINSPECT": "1",
        "PYTHONWARNINGS": "error",
        "METALWRIGHT_ACCEPTANCE_JOB": "/nowhere",
    }.items():
        monkeypatch.setenv(name, value)
    checks = {"kernel": [{"id": "release", "releases": ["1.0"]}]} | BOOT
    result = run_acceptance(job_for(ssh_server, checks), evidence)
    assert verdicts(result) == {"kernel:release": "FAIL", "boot-id": "PASS"}
    assert (result.junit.exists(), (tmp_path / "elsewhere.xml").exists(), marker.exists()) == (True, False, False)


def test_only_what_finds_programs_and_the_agent_passes_to_pytest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {"PATH": "/bin", "SSH_AUTH_SOCK": "/agent", "LD_PRELOAD": "x", "GREETING": "y"})
    assert run._environment(tmp_path / "job.json") == {
        "PATH": "/bin",
        "SSH_AUTH_SOCK": "/agent",
        "METALWRIGHT_ACCEPTANCE_JOB": str(tmp_path / "job.json"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONUTF8": "1",
    }


@pytest.mark.parametrize("option", ["-k ostype", "--collect-only"])
def test_a_check_that_pytest_leaves_out_for_whatever_reason_is_not_run(
    ssh_server: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """The verdict comes from the plan: each planned check has a result, whatever the document holds."""
    environment = run._environment
    monkeypatch.setattr(run, "_environment", lambda job_file: environment(job_file) | {"PYTEST_ADDOPTS": option})
    sysctl = {"sysctl": [{"id": "kernel.ostype", "value": "Linux"}]}
    result = run_acceptance(job_for(ssh_server, sysctl | KERNEL), tmp_path)
    ostype = "PASS" if "ostype" in option else "NOT-RUN"
    assert verdicts(result) == {"sysctl:kernel.ostype": ostype, "kernel:release": "NOT-RUN"}
    assert result.verdict == "NOT-RUN"
