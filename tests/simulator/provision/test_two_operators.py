"""Two people provision one node at once: one wins, the other is told who and since when, and leaves no trace."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from tests.simulator.provision.world import World, world

pytestmark = pytest.mark.timeout(600)


def await_holder(site: World, pid: int) -> None:
    """Wait until the process has the node's lock."""
    lock = site.state / "locks" / "lab-1.lock"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if lock.exists() and (text := lock.read_text()).startswith("{") and json.loads(text)["pid"] == pid:
            return
        time.sleep(0.05)
    raise AssertionError("the first operator never took the lock")


def await_run(site: World) -> None:
    """Wait until the run is in the journal."""
    deadline = time.monotonic() + 120
    while site.count("phase_records") == 0:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_st_03_the_second_operator_is_told_who_works_on_the_node_and_changes_nothing(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    with world(tmp_path, "127.123", tiny_image) as site:
        first = site.start("provision", "lab-1", "--until", "image", "--yes")
        try:
            await_holder(site, first.pid)
            code, early = site.provision()
            assert (code, f"pid {first.pid}" in early, ", since 20" in early) == (1, True, True), early
            await_run(site)
            for command in (["provision", "lab-1", "--yes"], ["rebuild", "lab-1", "--yes", "--overwrite", "lab-1"]):
                code, late = site.run(*command)
                assert (code, f"pid {first.pid}, run 20" in late) == (1, True), late
                assert "hint" in late
            said, _ = first.communicate(timeout=240)
        finally:
            first.kill()
        assert first.returncode == 0, said
        assert (site.count("runs"), site.count("grants"), site.count("deployments")) == (1, 1, 1)
        assert (site.boots(site.machine, "cd"), site.boots(site.machine, "disk")) == (1, 1)
        assert {phase["result"] for phase in site.journal(site.machine)["phases"]} == {"ok"}
