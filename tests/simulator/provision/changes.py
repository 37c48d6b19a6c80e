"""A change of a site under git: a version that the node moves to, what its review says, and what the machine shows."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.simulator.provision.world import World


def commit(site: Path, message: str) -> None:
    """Commit all of the site."""
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.net"]
    subprocess.run(["git", "-C", str(site), "add", "-A"], check=True)
    subprocess.run(["git", "-C", str(site), *identity, "commit", "-qm", message], check=True)


def repin(made: World, old: str, new: str, *edits: tuple[str, str], part: str = "minor") -> None:
    """A released version with these edits; the node moves to it, in a commit of its own."""
    code, said = made.run("blueprint", "bump", f"lab-vm@{old}", "--part", part)
    assert code == 0, said
    for before, after in edits:
        made.edit(f"blueprints/lab-vm/{new}.yaml", before, after)
    code, said = made.run("blueprint", "release", f"lab-vm@{new}")
    assert code == 0, said
    made.edit("inventory/racks/lab.yaml", f"lab-vm@{old}", f"lab-vm@{new}")
    commit(made.demo.root, f"lab-1 to {new}")


def reviewed(made: World) -> tuple[dict[str, Any], dict[str, tuple[Any, Any]]]:
    """What the review of the last commit says of the node, and each value of its blueprint: was, becomes."""
    review = json.loads(made.cli("review", "HEAD~1..HEAD", "--json").stdout)
    (node,) = review["nodes"]
    assert (node["node"], review["refused"]) == ("lab-1", [])
    return node, {change["path"]: (change["from"], change["to"]) for change in review["changes"]}


@dataclass(frozen=True)
class Witness:
    """The machine as its BMC and its disks tell it."""

    bios: dict[str, str]
    boots: dict[str, int]
    writes: int
    stamp: Any
    system: str
    data: str


def witness(made: World) -> Witness:
    """Look at the first machine."""
    machine = made.machine
    return Witness(
        bios_values(made),
        dict(made.status(machine).boots),
        len(made.writes(machine)),
        made.stamp(machine),
        made.sha256(machine, machine.system_disk),
        made.sha256(machine, machine.data_disk),
    )


def bios_values(made: World, node: str = "lab-1") -> dict[str, str]:
    """Every attribute as the BMC tells it."""
    shown = json.loads(made.cli("bios", "show", node, "--json").stdout)
    return {item["name"]: item["value"] for item in shown["attributes"]}
