"""What a review says will change is what drift sees and provision changes, and nothing else: judged by BMC and disk.

The tests share one node and run in their order.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.disk_images import sha256, write_disk
from tests.simulator.provision.changes import commit, repin, reviewed, witness
from tests.simulator.provision.world import World, add_image, world

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

OLD, NEW = "Performance", "Balanced"
OTHER = {"etc/hostname": "unset\n", "etc/motd": "another image\n"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_image: tuple[Path, str]) -> Iterator[World]:
    """One node, provisioned up to the image phase, in a site under git."""
    with world(tmp_path_factory.mktemp("review"), "127.98", tiny_image) as site:
        site.fill(site.machine, site.machine.data_disk)
        code, said = site.provision()
        assert code == 0, said
        subprocess.run(["git", "-C", str(site.demo.root), "init", "-qb", "main"], check=True)
        commit(site.demo.root, "as provisioned")
        yield site


def test_the_review_and_the_bmc_tell_of_the_same_changes(made: World) -> None:
    repin(made, "1.0.0", "1.1.0", (f"SysProfile: {OLD}", f"SysProfile: {NEW}"))
    node, values = reviewed(made)
    assert (node["reboots"], node["reimage"]) == (1, False)
    announced = {path.removeprefix("bios.attributes."): value for path, value in values.items()}
    assert announced == {"SysProfile": (OLD, NEW)}

    planned = json.loads(made.cli("plan", "lab-1", "--json").stdout)["nodes"][0]["changes"]
    bios = {
        change["what"].removeprefix("BIOS "): (change["from"], change["to"])
        for change in planned
        if change["phase"] == "bios"
    }
    assert bios == announced
    assert {change["phase"] for change in planned} <= set(node["phases"])

    drift = made.cli("drift", "lab-1", "--json")
    (seen,) = json.loads(drift.stdout)["nodes"]
    differing = {item["what"].removeprefix("BIOS "): (item["found"], item["wanted"]) for item in seen["differences"]}
    assert (drift.returncode, differing) == (2, announced), drift.stderr
    assert [touch["layer"] for touch in seen["touched"]] == ["bios"]
    assert [line.partition(":")[0] for line in seen["unknown"]] == ["software"], "the tiny system is no Debian"

    before = witness(made)
    code, said = made.provision()
    assert code == 0, said
    after = witness(made)
    changed = {
        name: (before.bios[name], after.bios[name]) for name in before.bios if before.bios[name] != after.bios[name]
    }
    assert changed == announced
    patched = [entry.args[1] for entry in made.writes(made.machine)[before.writes :] if entry.args[0] == "PATCH"]
    assert {path.rpartition("/")[2] for path in patched} == {"Settings"}, patched
    assert (after.stamp, after.system, after.data) == (before.stamp, before.system, before.data)
    assert sum(after.boots.values()) - sum(before.boots.values()) == node["reboots"]


def test_a_review_of_another_image_says_what_the_rebuild_then_writes(made: World, tmp_path: Path) -> None:
    other = write_disk(tmp_path / "other.raw", files=OTHER)
    digest, old = sha256(other), made.image.file_sha256
    add_image(made.demo.root, other, "2", digest)
    repin(made, "1.1.0", "1.2.0", ("version: 1\n", "version: 2\n"), (old, digest))
    node, values = reviewed(made)
    assert values == {"image.version": ("1", "2"), "image.file_sha256": (old, digest)}
    assert (node["reboots"], node["reimage"], "image" in node["phases"]) == (2, True, True)

    before = witness(made)
    code, said = made.provision()
    assert (code, "metalwright rebuild lab-1 --image tiny@2" in said) == (1, True), said
    assert witness(made) == before, "the review says that it takes a rebuild"
    code, said = made.run("rebuild", "lab-1", "--image", "tiny@2", "--until", "image", "--yes")
    assert code == 0, said
    after = witness(made)
    assert (before.stamp["image"], after.stamp["image"]) == (f"sha256:{old}", f"sha256:{digest}")
    assert after.system != before.system
    assert (after.bios, after.data) == (before.bios, before.data)
    assert sum(after.boots.values()) - sum(before.boots.values()) == node["reboots"]
    asked = [entry.args for entry in made.writes(made.machine)[before.writes :]]
    assert not [path for _, path, *_ in asked if "Bios" in path or "Accounts" in path], asked
    assert [path for _, path, *_ in asked if path.endswith("VirtualMedia.InsertMedia")], asked


def test_a_review_of_another_agent_touches_neither_bmc_nor_disk_and_neither_does_provision(made: World) -> None:
    repin(made, "1.2.0", "1.2.1", ("node_exporter: 1.5.0", "node_exporter: 1.5.1"), part="patch")
    node, values = reviewed(made)
    assert values == {"software.agents.node_exporter": ("1.5.0", "1.5.1")}
    assert (node["reboots"], node["reimage"], node["phases"]) == (0, False, ["software", "accept", "ready"])
    before = witness(made)
    code, said = made.provision()
    assert code == 0, said
    assert witness(made) == before
