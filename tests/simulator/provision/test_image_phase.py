"""Provisioning up to the image phase, over simulated machines and the real agent."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.simulator.provision.world import World, world

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def kill_boot_server(site: World, run: subprocess.Popen[str]) -> None:
    """End the boot server of a run once the ramdisk has said hello; it then waits for the next server."""
    journal = site.state / "journal.sqlite"
    while not journal.exists() or site.count("deployments where state != 'prepared'") == 0:
        assert run.poll() is None
        time.sleep(0.01)
    found = subprocess.run(
        ["pgrep", "-f", f"serve --with-parent {run.pid}$"], capture_output=True, text=True, check=True
    )
    for pid in found.stdout.split():
        os.kill(int(pid), signal.SIGKILL)


def test_a_blank_machine_gets_its_image_across_a_death_of_the_boot_server_and_a_second_run_writes_nothing(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    with world(tmp_path, "127.110", tiny_image) as site:
        machine = site.machine
        run = site.start("provision", machine.name, "--until", "image", "--yes")
        kill_boot_server(site, run)
        text = run.communicate(timeout=240)[0]
        assert run.returncode == 0, text
        stamp = site.stamp(machine)
        assert stamp is not None
        assert stamp["image"] == f"sha256:{site.image.file_sha256}"
        assert site.is_untouched(machine, machine.data_disk)
        assert (site.boots(machine, "cd"), site.boots(machine, "disk")) == (1, 1)

        before, writes = site.sha256(machine, machine.system_disk), len(site.writes(machine))
        code, text = site.provision()
        assert code == 0, text
        assert site.sha256(machine, machine.system_disk) == before
        assert len(site.writes(machine)) == writes
        assert (site.boots(machine, "cd"), site.boots(machine, "disk")) == (1, 1)
