"""What a review says will change is what drift sees and provision changes, and nothing else: judged by the BMC."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.simulator.provision.world import World, world

OLD, NEW = "Performance", "Balanced"


def commit(site: Path, message: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.net"]
    subprocess.run(["git", "-C", str(site), "add", "-A"], check=True)
    subprocess.run(["git", "-C", str(site), *identity, "commit", "-qm", message], check=True)


def next_version(made: World) -> None:
    """lab-vm@1.1.0 with another BIOS attribute; the node moves to it."""
    code, said = made.run("blueprint", "bump", "lab-vm")
    assert code == 0, said
    made.edit("blueprints/lab-vm/1.1.0.yaml", f"SysProfile: {OLD}", f"SysProfile: {NEW}")
    code, said = made.run("blueprint", "release", "lab-vm@1.1.0")
    assert code == 0, said
    made.edit("inventory/racks/lab.yaml", "lab-vm@1.0.0", "lab-vm@1.1.0")


def bios_values(made: World) -> dict[str, str]:
    """Every attribute as the BMC tells it."""
    shown = json.loads(made.cli("bios", "show", "lab-1", "--json").stdout)
    return {item["name"]: item["value"] for item in shown["attributes"]}


@pytest.mark.long
@pytest.mark.timeout(400)
def test_the_review_and_the_bmc_tell_of_the_same_changes(tmp_path: Path, tiny_image: tuple[Path, str]) -> None:
    with world(tmp_path, "127.98", tiny_image) as made:
        code, said = made.provision()
        assert code == 0, said
        subprocess.run(["git", "-C", str(made.demo.root), "init", "-qb", "main"], check=True)
        commit(made.demo.root, "as provisioned")
        next_version(made)
        commit(made.demo.root, "another profile")

        review = json.loads(made.cli("review", "HEAD~1..HEAD", "--json").stdout)
        (node,) = review["nodes"]
        assert (node["node"], node["reboots"], node["reimage"]) == ("lab-1", 1, False)
        assert review["refused"] == []
        announced = {
            change["path"].removeprefix("bios.attributes."): (change["from"], change["to"])
            for change in review["changes"]
        }
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
        differing = {
            item["what"].removeprefix("BIOS "): (item["found"], item["wanted"]) for item in seen["differences"]
        }
        assert (drift.returncode, differing) == (2, announced), drift.stderr
        assert [touch["layer"] for touch in seen["touched"]] == ["bios"]
        assert [line.partition(":")[0] for line in seen["unknown"]] == ["software"], "the tiny system is no Debian"

        before, stamp, values = len(made.writes(made.machine)), made.stamp(made.machine), bios_values(made)
        boots = sum(made.status(made.machine).boots.values())
        code, said = made.run("provision", "lab-1", "--until", "image", "--yes")
        assert code == 0, said
        after = bios_values(made)
        changed = {name: (values[name], after[name]) for name in values if values[name] != after[name]}
        assert changed == announced
        patched = [entry.args[1] for entry in made.writes(made.machine)[before:] if entry.args[0] == "PATCH"]
        assert {path.rpartition("/")[2] for path in patched} == {"Settings"}, patched
        assert made.stamp(made.machine) == stamp
        assert sum(made.status(made.machine).boots.values()) - boots == node["reboots"]
