"""The main job on a real virtual machine: blank to accepted, destroyed, and brought back, with kills on the way."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.patient import run_patiently

REPOSITORY = Path(__file__).parents[2]
SEED = int(os.environ.get("METALWRIGHT_KILL_SEED") or random.SystemRandom().randrange(1_000_000))


def demonstrate(directory: Path, *options: str) -> tuple[dict[str, Any], str]:
    """Run the demo with one machine; returns its node in ``result.json``, and what the demo said."""
    command = [sys.executable, "-m", "metalwright.demo", "--machines", "1", "--loopback", "127.140", *options]
    done = run_patiently([*command, "--directory", str(directory)], cwd=REPOSITORY)
    assert done.returncode == 0, f"seed {SEED}\n" + done.stdout[-3000:] + done.stderr[-6000:]
    (node,) = json.loads((directory / "result.json").read_text())["nodes"]
    assert not (directory / "site" / ".metalwright" / "lab" / "machines").exists()
    return node, done.stdout


def count(directory: Path, table: str) -> int:
    journal = directory / "site" / ".metalwright" / "journal.sqlite"
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as connection:
        number: int = connection.execute(f"select count(*) from {table}").fetchone()[0]
    return number


def assert_as_planned(node: dict[str, Any]) -> None:
    assert node["state"] == "ready"
    assert node["image"]["read_back_sha256"] == node["image"]["content_sha256"]
    assert node["image"]["disk"]["serial"] == "SYS0001"
    assert node["data_disk_is_untouched"] is True
    assert node["addresses"]["host-management"] == "10.1.0.11/24"
    assert node["rebuild"]["result"] == "ok"
    assert {phase["result"] for phase in node["rebuild"]["phases"]} == {"ok"}


@pytest.mark.lab
@pytest.mark.long
@pytest.mark.timeout(1500)
def test_killed_in_the_image_phase_of_provision_and_of_rebuild_the_node_ends_as_if_nothing_had_happened(
    tmp_path: Path, record_property: Any
) -> None:
    directory = tmp_path / "demo"
    node, said = demonstrate(directory, "--kill", str(SEED))
    record_property("note", "\n".join(line for line in said.splitlines() if "kill -9" in line))
    assert said.count("killed (kill -9)") == 2
    assert_as_planned(node)
    assert count(directory, "deployments where state = 'done'") == 2
    interrupted = count(directory, "deployments where state in ('expired', 'failed') and go_request_id is not null")
    assert count(directory, "events where what = 'disk overwritten'") == 2 + interrupted
    started_media = sum(number for device, number in node["boots"].items() if device.startswith("cd"))
    assert 2 + interrupted <= started_media <= 4


@pytest.mark.lab
@pytest.mark.timeout(1500)
def test_a_blank_machine_is_provisioned_accepted_destroyed_and_rebuilt(tmp_path: Path) -> None:
    node, _ = demonstrate(tmp_path / "demo")
    assert_as_planned(node)
    assert sum(number for device, number in node["boots"].items() if device.startswith("cd")) == 2
