"""What a review says will change is what a real system then shows: an agent more, and another image.

The tests share one QEMU node, made ready with the pieces of the demo, and run in their order.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.disk_images import sha256
from tests.simulator.provision.changes import commit, repin, reviewed, witness
from tests.simulator.provision.world import World, add_image

from metalwright.demo.__main__ import _prepare
from metalwright.demo.shell import Shell
from metalwright.demo.site import DemoSite, Machine
from metalwright.imaging.agent.grow import find_root
from metalwright.imaging.agent.root_file_system import ImageFileRoot
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.ordering import login_key
from metalwright.loading import SitePaths, load_site
from metalwright.node_files import node_data, node_files
from metalwright.simulator.lab import Lab
from metalwright.ssh import connect
from metalwright.workspace import open_workspace

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(3000)]

REPOSITORY = Path(__file__).parents[2]
IN_BAND = ["software", "accept", "ready"]
EXPORTER, LLDPD = "node_exporter: 1.5.0", "node_exporter: 1.5.0, lldpd: 1.0.16"
MARK = "/etc/second-image"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One ready node, in a site under git."""
    directory = tmp_path_factory.mktemp("review-lab")
    demo = DemoSite(directory / "site", "127.94", (Machine("lab-1", 1),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METALWRIGHT_CACHE", os.environ.get("METALWRIGHT_CACHE", str(REPOSITORY / ".cache")))
        shell = Shell(demo.root, {})
        site = World(demo, _prepare(demo, shell), {}, timeout_s=1500)
        try:
            shell.run("lab", "up")
            shell.run("discover", demo.sweep_prefix)
            succeed(site, "provision", "lab-1", "--yes")
            subprocess.run(["git", "-C", str(demo.root), "init", "-qb", "main"], check=True)
            commit(demo.root, "as provisioned")
            yield site
        finally:
            Lab(demo.lab_dir).down(wipe=True)


def succeed(made: World, *arguments: str) -> None:
    code, said = made.run(*arguments)
    assert code == 0, said


def on_node(made: World, script: str) -> str:
    """What a shell script says that root runs on the node."""
    with open_workspace(made.demo.root) as workspace:
        host_key = workspace.ssh_host_key("lab-1")
        assert host_key is not None
        with connect(workspace.ssh_target("lab-1"), host_key=host_key, key=login_key(workspace)) as session:
            done = session.run(["sh", "-c", script], sudo=True)
    assert done.rc == 0, done.stderr
    return done.stdout


def managed_files(made: World) -> dict[str, str]:
    """Digest of every file that the software phase may write, as the node has it."""
    repository = load_site(made.demo.root)
    paths = " ".join(file.path for file in node_files(node_data(repository, repository.node("lab-1"))))
    lines = on_node(made, f"sha256sum {paths} /etc/systemd/network/* 2>/dev/null; true").splitlines()
    return {path: digest for digest, path in (line.split(maxsplit=1) for line in lines)}


def packages(made: World) -> dict[str, str]:
    lines = on_node(made, "dpkg-query -W -f '${Package} ${Version}\\n'").splitlines()
    return dict(line.split() for line in lines)


def test_an_agent_more_is_the_packages_and_files_that_the_review_names_and_no_more(made: World) -> None:
    files, installed, before = managed_files(made), packages(made), witness(made)
    boot_id = on_node(made, "cat /proc/sys/kernel/random/boot_id")
    repin(made, "1.0.0", "1.0.1", (EXPORTER, LLDPD), part="patch")
    node, values = reviewed(made)
    assert values == {"software.agents.lldpd": (None, "1.0.16")}
    assert (node["reboots"], node["reimage"], node["phases"]) == (0, False, IN_BAND)

    succeed(made, "image", "packages")
    succeed(made, "provision", "lab-1", "--yes")
    now, after = packages(made), witness(made)
    assert now["lldpd"].startswith("1.0.16")
    assert {name: version for name, version in now.items() if name in installed} == installed, "nothing else moved"
    changed = {path for path, digest in managed_files(made).items() if files.get(path) != digest}
    assert changed == set(node["files"])
    assert on_node(made, "cat /proc/sys/kernel/random/boot_id") == boot_id
    assert (after.bios, after.boots, after.stamp, after.data) == (before.bios, before.boots, before.stamp, before.data)
    assert after.writes == before.writes, "the BMC was not written to"


def test_another_image_is_written_to_the_system_disk_and_boots_as_often_as_the_review_says(
    made: World, tmp_path: Path
) -> None:
    old, other = made.image.file_sha256, second_image(made, tmp_path)
    digest = sha256(other)
    add_image(made.demo.root, other, "2026.11.2", digest, name="debian-12")
    repin(made, "1.0.1", "1.1.0", ("version: 2026.11.1", "version: 2026.11.2"), (old, digest))
    node, values = reviewed(made)
    assert values == {"image.version": ("2026.11.1", "2026.11.2"), "image.file_sha256": (old, digest)}
    assert (node["reboots"], node["reimage"], node["phases"]) == (2, True, ["image", *IN_BAND])

    before, installed = witness(made), packages(made)
    succeed(made, "image", "packages")
    succeed(made, "rebuild", "lab-1", "--image", "debian-12@2026.11.2", "--yes")
    after = witness(made)
    assert on_node(made, f"cat {MARK}") == "the second\n"
    assert (before.stamp["image"], after.stamp["image"]) == (f"sha256:{old}", f"sha256:{digest}")
    assert sum(after.boots.values()) - sum(before.boots.values()) == node["reboots"]
    assert (after.bios, after.data, packages(made)) == (before.bios, before.data, installed)


def second_image(made: World, directory: Path) -> Path:
    """The demo's image with one file more."""
    catalogue, raw = ImageCatalogue(SitePaths(made.demo.root).images), directory / "second.raw"
    subprocess.run(["zstd", "-qd", "--sparse", str(catalogue.file_path(made.image)), "-o", str(raw)], check=True)
    ImageFileRoot(find_root(str(raw)).target, directory).write_file(MARK, "the second\n", 0o644)
    packed = directory / "second.raw.zst"
    subprocess.run(["zstd", "-q", "-1", str(raw), "-o", str(packed)], check=True)
    raw.unlink()
    return packed
