"""Burn-in through the real suite over SSH: real tools from Debian, and tools that lie."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.loopback_ssh import LoopbackServer

from metalwright.acceptance.job import Job
from metalwright.acceptance.run import AcceptanceResult, run_acceptance

OUTPUTS = Path(__file__).with_name("outputs")
PEER = "127.106.3.1"
LISTENING = f"01036A7F:{5201:04X} "
"""How the kernel lists ``PEER`` and the port of iperf3."""


def asked(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "floor": 0.001, "unit": "x", "seconds": 1, "vendor": "nvidia", "gpus": 2, "peer": None} | more


def run(server: LoopbackServer, tmp_path: Path, *checks: dict[str, Any], **more: Any) -> AcceptanceResult:
    job = Job(
        target=dataclasses.replace(server.target, user="root"),
        host_key=server.public_host_key,
        expected={"schema": 1, "node": "n1", "checks": {"measured": list(checks)}},
        private_key=server.client_key_path,
    )
    return run_acceptance(job, tmp_path / "evidence", **more)


@pytest.fixture
def iperf3_server() -> Iterator[None]:
    with subprocess.Popen(
        ["iperf3", "--server", "--bind", PEER, "--one-off"], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    ) as process:
        for _ in range(200):
            if LISTENING in Path("/proc/net/tcp").read_text():  # a connection would be its one test
                break
            time.sleep(0.02)
        yield
        process.terminate()


def test_real_fio_iperf3_stress_ng_and_openssl_are_measured(
    ssh_server: LoopbackServer, tmp_path: Path, iperf3_server: None
) -> None:
    names = ("fio-randread", "iperf3", "stress-cpu", "cpu-hash")
    result = run(ssh_server, tmp_path, *(asked(name, peer=PEER) for name in names))
    assert {test.name: (test.verdict, test.why) for test in result.tests} == dict.fromkeys(names, ("PASS", None))
    values = {test.name: test.value or 0 for test in result.tests}
    assert 10 < values["fio-randread"] < 1e7, "IOPS"
    assert 0.1 < values["iperf3"] < 1000, "Gbit/s over loopback"
    assert 1 < values["stress-cpu"] < 1e6, "operations a second"
    assert 10 < values["cpu-hash"] < 1e5, "MB/s"
    assert not Path("/var/tmp/metalwright-fio").exists()


LIARS = {
    "gpu_burn": f"sed '1d; s/GPU 1: OK/GPU 1: FAULTY/' {OUTPUTS}/gpu_burn.txt",
    "nvbandwidth": "exit 0",
    "all_reduce_perf": f"sed 1d {OUTPUTS}/all_reduce_perf.txt; kill -9 $$",
    "dcgmi": f"sed 1d {OUTPUTS}/dcgmi.txt; exit 255",
    "stress-ng": "sleep 3600",
    "iperf3": """echo '{"error": "unable to connect to server"}'""",
}


def test_tools_that_lie_hang_die_or_are_not_there_never_pass(
    ssh_server: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, script in LIARS.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    checks = [
        asked("gpu-burn"),
        asked("gpu-to-gpu"),
        asked("nccl-all-reduce"),
        asked("dcgm-diag"),
        asked("iperf3", peer=PEER),
        asked("rdma-write", peer=PEER),
        asked("host-to-gpu", vendor="amd"),
        asked("cpu-hash", floor=1e9),
        asked("no-such-test"),
        asked("stress-cpu"),
    ]
    result = run(ssh_server, tmp_path, *checks, deadline_s=6)
    found = {test.name: (test.verdict, " ".join((test.why or "").split()[:5])) for test in result.tests}
    assert found == {
        "gpu-burn": ("FAIL", "gpu_burn says GPU 1: FAULTY"),
        "gpu-to-gpu": ("NOT-RUN", "nvbandwidth ended well and proves"),
        "nccl-all-reduce": ("FAIL", "all_reduce_perf was killed by signal"),
        "dcgm-diag": ("FAIL", "dcgmi ended with exit status"),
        "iperf3": ("NOT-RUN", "iperf3 ended well and proves"),
        "rdma-write": ("NOT-RUN", "ib_write_bw is not on the"),
        "host-to-gpu": ("NOT-RUN", "rocm_bandwidth_test is not on the"),
        "cpu-hash": ("FAIL", found["cpu-hash"][1]),
        "stress-cpu": ("FAIL", "hang: no result within 6"),
        "no-such-test": ("NOT-RUN", found["no-such-test"][1]),
    }
    assert result.verdict == "FAIL"
