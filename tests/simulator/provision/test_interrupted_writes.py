"""What goes wrong while a disk is written: ready or failed with a reason, never half of it taken for a system.

The real agent is frozen when it was told *go*, so that each accident meets a write that has begun and has not ended.
After each, one more ``rebuild`` brings the node back. The tests share one node and run in their order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.simulator.provision.world import World, world

from metalwright.imaging.agent.stamp import PARTIAL_MAGIC, decode_stamp, read_stamp_area

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]

REBUILD = ("rebuild", "lab-1", "--until", "image", "--yes")
CUT_S = 8.0
PATIENCE_S = 700.0


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, tiny_image: tuple[Path, str]) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("interrupted"), "127.151", tiny_image) as site:
        site.timeout_s = PATIENCE_S
        site.fill(site.machine, site.machine.data_disk)
        code, text = site.provision()
        assert code == 0, text
        yield site


def until(is_there: Callable[[], bool], run: subprocess.Popen[str]) -> None:
    while not is_there():
        assert run.poll() is None, run.communicate()[0]
        time.sleep(0.01)


def pids(pattern: str) -> list[int]:
    found = subprocess.run(["pgrep", "-f", pattern], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


def written_half(site: World) -> tuple[subprocess.Popen[str], int]:
    """A rebuild whose agent was frozen in the middle of its write, and the agent.

    It has cleared the disk: a file that stands for one has no size for a moment, which a drive always has.
    """
    run = site.start(*REBUILD)
    until(lambda: site.count("deployments where state = 'go'") == 1, run)
    disk = site.disk(site.machine, site.machine.system_disk)
    until(lambda: decode_stamp(read_stamp_area(str(disk)), PARTIAL_MAGIC) is not None, run)
    (agent,) = pids(f"metalwright.imaging.agent --media {site.demo.root}")
    os.kill(agent, signal.SIGSTOP)
    assert site.count("deployments where state = 'go'") == 1, "the write was over before it could be stopped"
    return run, agent


def ended(run: subprocess.Popen[str]) -> tuple[int, str]:
    text = run.communicate(timeout=PATIENCE_S)[0]
    assert "Traceback" not in text
    return run.returncode, text


def is_brought_back(site: World, data: str) -> None:
    """One more rebuild ends well, and the data disk was never touched."""
    code, text = site.run(*REBUILD)
    assert code == 0, text
    stamp = site.stamp(site.machine)
    assert stamp is not None
    assert stamp["image"] == f"sha256:{site.image.file_sha256}"
    assert site.sha256(site.machine, site.machine.data_disk) == data


def test_power_that_is_lost_while_writing_leaves_no_system_and_one_more_rebuild_brings_it_back(node: World) -> None:
    data = node.sha256(node.machine, node.machine.data_disk)
    run, agent = written_half(node)
    os.kill(agent, signal.SIGKILL)
    code, text = ended(run)
    assert (code, "powered off in the middle of its deployment" in text) == (1, True), text
    assert node.stamp(node.machine) is None
    is_brought_back(node, data)


def test_a_ramdisk_that_restarts_by_itself_while_writing_writes_nothing_more(node: World) -> None:
    machine, data = node.machine, node.sha256(node.machine, node.machine.data_disk)
    run, agent = written_half(node)
    again = Path(f"/proc/{agent}/cmdline").read_text().split("\0")[:-1]
    medium = Path(again[again.index("--media") + 1])
    kept = medium.read_bytes()
    os.kill(agent, signal.SIGKILL)
    before = node.sha256(machine, machine.system_disk)
    if not medium.exists():
        medium.write_bytes(kept)
    second = subprocess.run(again, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert second.returncode != 0, second.stdout
    assert node.sha256(machine, machine.system_disk) == before
    code, text = ended(run)
    assert code == 1, text
    assert node.stamp(machine) is None
    is_brought_back(node, data)


def test_a_network_that_is_cut_and_comes_back_while_writing_costs_time_alone(node: World) -> None:
    cds = node.boots(node.machine, "cd")
    run, agent = written_half(node)
    servers = pids(f"serve --with-parent {run.pid}$")
    assert servers
    for server in servers:
        os.kill(server, signal.SIGSTOP)
    os.kill(agent, signal.SIGCONT)
    time.sleep(CUT_S)
    for server in servers:
        os.kill(server, signal.SIGCONT)
    code, text = ended(run)
    assert code == 0, text
    assert node.stamp(node.machine) is not None
    assert node.boots(node.machine, "cd") == cds + 1


def test_wrong_bytes_from_the_server_leave_the_disk_as_it_was(node: World) -> None:
    machine, data = node.machine, node.sha256(node.machine, node.machine.data_disk)
    (file,) = (node.demo.root / "images/tiny/1").glob("image.raw*")
    good, before = file.read_bytes(), node.sha256(machine, machine.system_disk)
    run = node.start(*REBUILD)
    until(lambda: node.count("deployments where state = 'prepared'") == 1, run)
    file.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    code, text = ended(run)
    file.write_bytes(good)
    assert (code, "digest" in text or "sha256" in text) == (1, True), text
    assert node.sha256(machine, machine.system_disk) == before
    is_brought_back(node, data)
