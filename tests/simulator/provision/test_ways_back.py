"""The ways back to what was good, through the real agent: judged by what is on the disk, never by our own word.

The tests share one node and run in their order. A judge stands for the acceptance tests (``judged.py``), and the site's
software deploy touches nothing: the system of the node is this machine's.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.disk_images import MIB, efi_program, sha256, write_disk
from tests.simulator.provision.world import CLI_TIMEOUT_S, World, add_image, world

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
JUDGED = Path(__file__).with_name("judged.py")
NO_SOFTWARE = '''"""In band: nothing."""

from pyinfra.operations import server

server.shell(name="Nothing", commands=["true"])
'''


@dataclass
class Ways:
    """A node that was accepted with image ``tiny@1``; ``tiny@2`` is there as well."""

    site: World
    good: str
    other: str
    other_sha256: str
    data: str

    def run(self, *arguments: str, refused: str | None = None) -> tuple[int, str]:
        """Run ``metalwright`` (or a script of the site) under the judge, who refuses an image by its digest."""
        site = ["--site", str(self.site.demo.root)] if not arguments[0].endswith(".py") else []
        environment = {**os.environ, **self.site.environment, **({"REFUSED_IMAGE": refused} if refused else {})}
        done = subprocess.run(
            [sys.executable, str(JUDGED), *([] if site else arguments[:1]), *site, *arguments[0 if site else 1 :]],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=CLI_TIMEOUT_S,
            check=False,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert "Traceback" not in said, said
        return done.returncode, said

    def on_disk(self) -> str:
        """Digest of the ESP on the system disk, which no node's seed touches."""
        return esp_sha256(self.site.disk(self.site.machine, self.site.machine.system_disk))

    def newest_run(self) -> str:
        """The run that wrote the disk."""
        return str((self.site.stamp(self.site.machine) or {})["run"])

    def state(self) -> str:
        """What the journal says of the node."""
        told = json.loads(self.site.cli("status", "--json").stdout)
        return next(str(node["state"]) for node in told["nodes"] if node["node"] == self.site.machine.name)

    def is_data_whole(self) -> bool:
        """Whether the data disk is as it was before the first run."""
        return self.site.sha256(self.site.machine, self.site.machine.data_disk) == self.data


def esp_sha256(disk: Path) -> str:
    with disk.open("rb") as file:
        file.seek(MIB)
        return hashlib.sha256(file.read(MIB)).hexdigest()


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory, tiny_image: tuple[Path, str]) -> Iterator[Ways]:
    directory = tmp_path_factory.mktemp("ways-back")
    other = write_disk(directory / "other.raw", programs={"BOOTX64.EFI": efi_program(), "OTHER.EFI": b"another system"})
    with world(directory, "127.143", tiny_image) as site:
        (site.demo.root / "deploys/software.py").write_text(NO_SOFTWARE)
        data = site.fill(site.machine, site.machine.data_disk)
        add_image(site.demo.root, other, "2", sha256(other))
        made = Ways(site, esp_sha256(tiny_image[0]), esp_sha256(other), sha256(other), data)
        assert made.good != made.other
        code, text = made.run("provision", "lab-1", "--yes")
        assert code == 0, text
        assert made.on_disk() == made.good
        assert made.state() == "ready"
        yield made


def test_an_image_that_is_not_accepted_is_replaced_once_by_the_one_that_was_good(ways: Ways) -> None:
    cds = ways.site.boots(ways.site.machine, "cd")
    code, text = ways.run("rebuild", "lab-1", "--image", "tiny@2", "--yes", refused=ways.other_sha256)
    assert code == 0, text
    assert "lab-1: NOT ACCEPTED. Once more, and then no more, with lab-vm@1.0.0, image tiny@1" in text
    assert "ok, by its second try" in text
    assert ways.on_disk() == ways.good
    assert ways.site.boots(ways.site.machine, "cd") == cds + 2
    assert ways.is_data_whole()
    assert ways.run("resume", "--yes")[1].strip() == "nothing to resume: every run has finished"


def test_after_two_refusals_the_node_is_left_failed_and_no_third_disk_is_written(ways: Ways) -> None:
    cds = ways.site.boots(ways.site.machine, "cd")
    code, text = ways.run("rebuild", "lab-1", "--image", "tiny@2", "--yes", refused="sha256:")
    assert code == 1, text
    assert "lab-1: the second try failed as well; nothing more is tried" in text
    assert ways.on_disk() == ways.good
    assert ways.site.boots(ways.site.machine, "cd") == cds + 2
    code, text = ways.run("rebuild", "lab-1", "--yes")
    assert code == 0, text


def test_a_run_is_taken_back_to_what_the_node_had_before_it(ways: Ways) -> None:
    code, text = ways.run("rebuild", "lab-1", "--image", "tiny@2", "--yes")
    assert code == 0, text
    assert ways.on_disk() == ways.other
    assert ways.state() == "held"

    taken_back = ways.newest_run()
    code, text = ways.run("rollback", taken_back, "--yes")
    assert code == 0, text
    assert f"lab-1: back to lab-vm@1.0.0, image tiny@1 (what it had before run {taken_back})" in text
    assert ways.on_disk() == ways.good
    assert ways.is_data_whole()
    assert ways.run("rollback", taken_back, "--yes")[0] == 0
    assert ways.newest_run() != taken_back


def test_with_a_lost_journal_the_script_brings_back_what_the_lock_file_names(ways: Ways) -> None:
    machine, script = ways.site.machine, str(ways.site.demo.root / "runbooks/rollback.py")
    assert '"image":"tiny@1"' in (ways.site.demo.root / "inventory/known-good.lock").read_text().replace(" ", "")
    for file in ways.site.state.glob("journal.sqlite*"):
        file.unlink()
    code, _, said = ways.site.pyinfra("power", "--data", "power=Off")
    assert code == 0, said
    ways.site.fill(machine, machine.system_disk, b"noise of a dying disk\n" * 64)
    destroyed = ways.on_disk()
    assert destroyed != ways.good

    code, text = ways.run(script, "lab-1", "--to", "last-known-good", "--yes")
    assert code == 1, text
    assert "carries data that metalwright did not write" in text
    assert ways.on_disk() == destroyed

    code, text = ways.run(script, "lab-1", "--to", "last-known-good", "--overwrite", "lab-1", "--yes")
    assert code == 0, text
    assert "lab-1: to lab-vm@1.0.0, image tiny@1 (last known good, by inventory/known-good.lock)" in text
    assert ways.on_disk() == ways.good
    assert ways.is_data_whole()
    assert ways.state() in ("ready", "held")
