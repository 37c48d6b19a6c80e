"""Acceptance that cannot be fooled: each known way to be green for no reason, through the real suite over SSH."""

from __future__ import annotations

import dataclasses
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.accepted_node import Node, accepted_node, add_blueprint, put
from tests.loopback_ssh import LoopbackServer, ssh_server
from tests.nvidia_text import GPUS, nvidia_smi

from metalwright.acceptance import run as acceptance_run
from metalwright.acceptance.job import Job
from metalwright.acceptance.run import AcceptanceResult, run_acceptance

__all__ = ["accepted_node", "ssh_server"]

KERNEL = {"kernel": [{"id": "release", "releases": [os.uname().release]}]}


def judged(server: LoopbackServer, tmp_path: Path, checks: dict[str, Any], **more: Any) -> AcceptanceResult:
    job = Job(
        target=dataclasses.replace(server.target, user="root"),
        host_key=server.public_host_key,
        expected={"schema": 1, "node": "n1", "checks": checks},
        private_key=server.client_key_path,
        **more,
    )
    return run_acceptance(job, tmp_path / "evidence")


def verdicts(result: AcceptanceResult) -> dict[str, str]:
    return {test.name: test.verdict for test in result.tests}


def why(result: AcceptanceResult, name: str) -> str:
    return next(test.why or "" for test in result.tests if test.name == name)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory whose programs stand in for those of the node."""
    directory = tmp_path / "tools"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    return directory


def gpu_checks(*names: str) -> dict[str, Any]:
    more = {"wanted": None, "generation": 5, "lanes": None, "version": "580.95.05"}
    return {"gpu_health": [{"id": name, "vendor": "nvidia", "count": GPUS, **more} for name in names]}


def frozen(moves: bool, gpus: int) -> Iterator[str]:
    """The answers of a metrics endpoint, one after the other."""
    count = 0
    while True:
        count += moves
        yield "".join(
            f'DCGM_FI_DEV_GPU_TEMP{{gpu="{gpu}",UUID="GPU-{gpu}"}} 40\n'
            f'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{gpu="{gpu}",UUID="GPU-{gpu}"}} {1000 + count}\n'
            for gpu in range(gpus)
        )


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[Iterator[str]]]]:
    """URL of a metrics endpoint, and the place for what it answers."""
    answers: list[Iterator[str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = next(answers[0]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Keep quiet."""

    with http.server.ThreadingHTTPServer(("127.106.2.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.106.2.1:{server.server_address[1]}/metrics", answers
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("moves", "gpus", "verdict", "said"),
    [(True, 8, "PASS", ""), (False, 8, "FAIL", "the collector is stuck"), (True, 7, "FAIL", "7 of 8 GPUs")],
)
def test_ap_02_a_metrics_endpoint_has_to_tell_of_now_and_of_every_gpu(
    ssh_server: LoopbackServer,
    tmp_path: Path,
    endpoint: tuple[str, list[Iterator[str]]],
    moves: bool,
    gpus: int,
    verdict: str,
    said: str,
) -> None:
    """Reads the exporter twice: each GPU needs series of its own, and one of its values must have moved."""
    url, answers = endpoint
    answers.append(frozen(moves, gpus))
    check = {"id": "dcgm_exporter", "url": url, "gpus": GPUS, "interval_s": 0.05}
    result = judged(ssh_server, tmp_path, {"exporter": [check]})
    assert verdicts(result) == {"exporter:dcgm_exporter": verdict}
    assert said in why(result, "exporter:dcgm_exporter")


ASKED = ("test: cold-restart, record: true", "test: boot-id, record: true", "test: cpu-hash, floor: 1, unit: MB/s")


def test_ap_03_parts_are_counted_again_after_the_power_was_off(
    accepted_node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    """Takes the power away where the blueprint asks for it, counts all parts again, and tests the boot that follows."""
    directory = accepted_node.loaded.parent
    add_blueprint(accepted_node.site.root, *ASKED)
    counted = f"grep -q boot-a {directory}/boot_id && n=8 || n=7"
    put(directory / "tools", "nvidia-smi", f'{counted}; for i in $(seq $n); do echo "GPU $i: H100"; done')
    machine = accepted_node.site.machines["lab-1"].system

    def boot() -> None:
        (directory / "boot_id").write_text("boot-b\n")

    machine.at_power_on = boot
    code, certificate = accepted_node.accept(capsys)
    tests = {test["name"]: test for test in certificate["tests"]}
    assert (code, certificate["verdict"]) == (1, "FAIL")
    assert (tests["cold-restart"]["verdict"], tests["cold-restart"]["why"]) == (
        "FAIL",
        "GPUs of the driver: 8 before, 7 after",
    )
    assert (certificate["boot"], tests["boot-id"]["why"]) == ("boot-b", "boot-b"), "the results belong to that boot"
    assert machine.power_state == "On"


@pytest.mark.parametrize("cut", ["before", "after"])
def test_ap_04_a_dead_connection_is_no_evidence_that_something_is_absent(
    ssh_server: LoopbackServer, tmp_path: Path, cut: str
) -> None:
    """A lost connection is an error of the way there: the check is NOT-RUN, whatever it wanted to see or not to see."""
    setattr(ssh_server.faults, f"drop_before_{'exec' if cut == 'before' else 'exit_status'}", True)
    result = judged(ssh_server, tmp_path, {"ports": [{"id": "tcp", "allowed": list(range(65536))}]} | KERNEL)
    assert set(verdicts(result).values()) == {"NOT-RUN"}
    assert "connection" in why(result, "ports:tcp")


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        ("import pytest\n@pytest.mark.skip\ndef test_kernel(check): pass\n", "unconditional skip"),
        (
            "import pytest\npytestmark = pytest.mark.skipif(True, reason='no time')\ndef test_kernel(check): pass\n",
            "no t",
        ),
        ("def test_something_else(): pass\n", "not collected or not run"),
        ("", "not collected or not run"),
        ("import os\nos._exit(0)\n", "not collected or not run"),
        ("import pytest\ndef test_kernel(check): pytest.xfail('known')\n", "known"),
    ],
)
def test_ap_05_a_suite_that_skips_or_collects_nothing_is_no_pass(
    ssh_server: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suite: str, said: str
) -> None:
    """Judges by the list of what was required: a test that was skipped, or that nobody ran, is NOT-RUN."""
    other = tmp_path / "suite"
    other.mkdir()
    for name in ("pytest.ini", "conftest.py"):
        (other / name).write_bytes((acceptance_run.SUITE / name).read_bytes())
    (other / "test_it.py").write_text(suite)
    monkeypatch.setattr(acceptance_run, "SUITE", other)
    result = judged(ssh_server, tmp_path, KERNEL)
    assert (verdicts(result), result.verdict) == ({"kernel:release": "NOT-RUN"}, "NOT-RUN")
    assert said in why(result, "kernel:release")


@pytest.mark.parametrize(
    ("changes", "check", "said"),
    [
        ({"pending": "Yes"}, "memory", "restart the node"),
        ({"failure": "Yes"}, "memory", "reject the GPU"),
    ],
)
def test_ap_06_a_gpu_that_waits_for_a_repair_is_not_accepted(
    ssh_server: LoopbackServer, tmp_path: Path, tools: Path, changes: dict[str, Any], check: str, said: str
) -> None:
    """Reads every GPU's memory repairs: pending asks for a restart and a new acceptance, failed rejects the GPU."""
    (tmp_path / "gpus.xml").write_text(nvidia_smi(**changes))
    put(tools, "nvidia-smi", f"cat {tmp_path}/gpus.xml")
    result = judged(ssh_server, tmp_path, gpu_checks("count", "driver", "ecc", "memory", "link", "clocks"))
    assert {name for name, verdict in verdicts(result).items() if verdict != "PASS"} == {f"gpu_health:{check}"}
    assert said in why(result, f"gpu_health:{check}")
    assert "0000:03:00.0" in why(result, f"gpu_health:{check}")


def test_ap_07_a_tool_that_hangs_fails_its_checks_and_the_others_go_on(
    ssh_server: LoopbackServer, tmp_path: Path, tools: Path
) -> None:
    """Every command has a time limit and is killed on the node; a hang is a failure, and the other checks still run."""
    put(tools, "nvidia-smi", "exec sleep 3600")
    checks = gpu_checks("count", "memory", "ecc") | KERNEL
    result = judged(ssh_server, tmp_path, checks, command_limit_s=0.5)
    assert verdicts(result) == {
        "gpu_health:count": "FAIL",
        "gpu_health:memory": "FAIL",
        "gpu_health:ecc": "FAIL",
        "kernel:release": "PASS",
    }
    assert why(result, "gpu_health:count").startswith("hang: ")
    assert result.seconds < 10


UNITS = {
    "mig-config": ("Type=oneshot\nActiveState=inactive\nSubState=dead\nResult=success", "PASS"),
    "remains": ("Type=oneshot\nActiveState=active\nSubState=exited\nResult=success", "PASS"),
    "failed": ("Type=oneshot\nActiveState=failed\nSubState=failed\nResult=exit-code", "FAIL"),
    "ended": ("Type=simple\nActiveState=inactive\nSubState=dead\nResult=success", "FAIL"),
}


def test_ap_08_a_unit_is_judged_by_its_type(ssh_server: LoopbackServer, tmp_path: Path, tools: Path) -> None:
    """A oneshot unit is well when it succeeded, also when it is no longer active; others have to run."""
    for name, (properties, _) in UNITS.items():
        (tmp_path / name).write_text(f"Id={name}\nLoadState=loaded\n{properties}\n")
    put(tools, "systemctl", f'for unit; do :; done; cat "{tmp_path}/$unit"')
    result = judged(ssh_server, tmp_path, {"service": [{"id": name, "unit": name} for name in UNITS]})
    assert verdicts(result) == {f"service:{name}": verdict for name, (_, verdict) in UNITS.items()}
