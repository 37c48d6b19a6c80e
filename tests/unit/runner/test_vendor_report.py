"""The GPU vendor's report: real tools (scripts of this test) run over a real SSH connection, with limits that bite."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.loopback_ssh import LoopbackServer, ssh_server

from metalwright.runner import vendor_report
from metalwright.runner.vendor_report import AMD_SMI, Attempt, Run, VendorTool, keep_vendor_reports
from metalwright.secrets.value import Secret
from metalwright.ssh import Completed, connect

__all__ = ["ssh_server"]
SHORT = VendorTool(
    "nvidia-bug-report.sh",
    (
        Attempt(("nvidia-bug-report.sh", "--output-file", "report.log"), 1),
        Attempt(("nvidia-bug-report.sh", "--safe-mode", "--output-file", "report.log"), 5),
    ),
)
TWO_PARTS = 'echo "GPU 0: Xid 79" | gzip >"$2.gz"; echo "password=hunter22 $SITE" | gzip >>"$2.gz"; echo done'
HANGS = """
if [ "$1" = --safe-mode ]; then echo "safe and sound" | gzip >"$3.gz"; exit 0; fi
echo "as far as it came" | gzip >"$2.gz"
sleep 61.5
"""
Tool = Callable[[str, str], None]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """Puts a program on the node."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

    def put(name: str, script: str) -> None:
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)

    return put


@pytest.fixture
def run(ssh_server: LoopbackServer) -> Iterator[Run]:
    key = ssh_server.client_key_path
    with connect(ssh_server.target, host_key=ssh_server.public_host_key, key=key, timeout_s=10) as session:

        def on_node(argv: tuple[str, ...], limit_s: float) -> Completed:
            return session.run(argv, timeout_s=limit_s)

        yield on_node


def text_of(directory: Path, told: dict[str, object]) -> str:
    path = directory / str(told["file"])
    assert path.stat().st_mode & 0o777 == 0o600
    return gzip.decompress(path.read_bytes()).decode()


def test_a_report_is_fetched_whole_with_its_secrets_masked(
    run: Run, tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Secret("Site-secret-77")
    monkeypatch.setenv("SITE", "Site-secret-77")
    tool("nvidia-bug-report.sh", TWO_PARTS)
    kept = keep_vendor_reports(run, tmp_path / "evidence", "n1")
    assert list(kept) == ["nvidia-bug-report.sh"]
    assert kept["nvidia-bug-report.sh"]["exit"] == 0
    assert "problem" not in kept["nvidia-bug-report.sh"]
    assert text_of(tmp_path / "evidence", kept["nvidia-bug-report.sh"]) == "GPU 0: Xid 79\npassword=*** ***\n"
    assert not list(Path("/dev/shm").glob("metalwright.*"))


def test_a_tool_that_hangs_is_ended_with_all_its_children_and_called_again_in_safe_mode(
    run: Run, tool: Tool, tmp_path: Path
) -> None:
    tool("nvidia-bug-report.sh", HANGS)
    begun = time.monotonic()
    kept = keep_vendor_reports(run, tmp_path, "n1", (SHORT,))["nvidia-bug-report.sh"]
    assert time.monotonic() - begun < 10
    assert text_of(tmp_path, kept) == "safe and sound\n"
    assert "--safe-mode" in str(kept["command"])
    assert kept["before"] == "it did not end in time; what it had written is kept; tried again"
    kept_texts = sorted(gzip.decompress(path.read_bytes()).decode() for path in tmp_path.glob("*.gz"))
    assert kept_texts == ["as far as it came\n", "safe and sound\n"]
    assert "sleep\x0061.5\x00" not in "".join(path.read_text() for path in readable_command_lines())


def readable_command_lines() -> Iterator[Path]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            path.read_text()
        except OSError:
            continue
        yield path


def test_a_report_that_is_too_long_is_cut_and_says_so(
    run: Run, tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vendor_report, "FETCHED_BYTES", 3000)
    tool("nvidia-bug-report.sh", 'head -c 100000 /dev/urandom | base64 | gzip >"$2.gz"')
    kept = keep_vendor_reports(run, tmp_path, "n1")["nvidia-bug-report.sh"]
    assert kept["problem"] == "the report is longer than is kept; its beginning is there"
    assert 1000 < len(text_of(tmp_path, kept)) < 6000


def test_what_amd_smi_prints_of_each_part_is_kept_and_a_failing_part_is_in_it(
    run: Run, tool: Tool, tmp_path: Path
) -> None:
    tool("amd-smi", 'if [ "$1" = bad-pages ]; then echo "cannot read" >&2; exit 3; fi; echo "MI300X $1"')
    kept = keep_vendor_reports(run, tmp_path, "n1")
    assert list(kept) == [AMD_SMI.name]
    text = text_of(tmp_path, kept["amd-smi"])
    assert "== amd-smi metric\nMI300X metric\n" in text
    assert "== amd-smi bad-pages\ncannot read\n" in text


def test_without_a_tool_there_is_no_report_and_a_broken_connection_is_told(
    ssh_server: LoopbackServer, run: Run, tool: Tool, tmp_path: Path
) -> None:
    assert keep_vendor_reports(run, tmp_path, "n1") == {}
    tool("nvidia-bug-report.sh", TWO_PARTS)
    ssh_server.faults.drop_before_exit_status = True
    kept = keep_vendor_reports(run, tmp_path, "n1", (SHORT,))
    assert kept["nvidia-bug-report.sh"]["problem"] == "the SSH connection broke during a command"
