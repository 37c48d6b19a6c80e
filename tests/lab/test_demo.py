"""The main job on a real virtual machine: blank to accepted, destroyed, and brought back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.lab
@pytest.mark.timeout(1500)
def test_a_blank_machine_is_provisioned_accepted_destroyed_and_rebuilt(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "metalwright.demo", "--machines", "1", "--loopback", "127.95"]
    done = subprocess.run(
        [*command, "--directory", str(tmp_path / "demo")],
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    (node,) = json.loads((tmp_path / "demo" / "result.json").read_text())["nodes"]
    assert node["state"] == "ready"
    assert node["image"]["read_back_sha256"] == node["image"]["content_sha256"]
    assert node["image"]["disk"]["serial"] == "SYS0001"
    assert node["data_disk_is_untouched"] is True
    assert node["addresses"]["host-management"] == "10.1.0.11/24"
    assert node["rebuild"]["result"] == "ok"
    assert {phase["result"] for phase in node["rebuild"]["phases"]} == {"ok"}
    assert not (tmp_path / "demo" / "site" / ".metalwright" / "lab" / "machines").exists()
