"""Provisioning up to the image phase, over simulated machines and the real agent."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.simulator.provision.world import world

pytestmark = pytest.mark.timeout(300)


def test_a_blank_machine_gets_its_image_and_a_second_run_writes_nothing(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    with world(tmp_path, "127.110", tiny_image) as site:
        machine = site.machine
        code, text = site.provision()
        assert code == 0, text
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
