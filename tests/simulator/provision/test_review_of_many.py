"""What a review says of several nodes is what provision does to them, node by node; a second run does nothing more.

One commit: two nodes get another BIOS value and newer firmware, the BMC of the third another address.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.failures.test_firmware import add_images, image
from tests.simulator.provision.changes import bios_values, commit
from tests.simulator.provision.world import Options, World, world

from metalwright.allocations import allocate_addresses
from metalwright.demo.site import Machine

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

MACHINES = tuple(Machine(f"lab-{number}", number) for number in (1, 2, 3))
NAMES = [machine.name for machine in MACHINES]
MOVED, TO = "lab-3", "127.117.0.50"
BMC_NETWORK = "bmc"
RACK = "inventory/racks/lab.yaml"
IN_BAND = {"software", "accept", "ready"}
"""Phases that this site has no system for."""


@dataclass(frozen=True)
class Seen:
    """One machine as its BMC and its disks tell it."""

    bios: dict[str, str]
    firmware: str
    address: str
    boots: int
    disks: tuple[str, ...]
    writes: int


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_image: tuple[Path, str]) -> Iterator[World]:
    """Three nodes, provisioned up to the image phase, in a site under git with an approved firmware image."""
    with world(tmp_path_factory.mktemp("many"), "127.117", tiny_image, Options(machines=MACHINES)) as site:
        code, said = site.provision(nodes=NAMES)
        assert code == 0, said
        add_images(site.demo.root, image("bmc", "2.0"))
        subprocess.run(["git", "-C", str(site.demo.root), "init", "-qb", "main"], check=True)
        commit(site.demo.root, "as provisioned")
        yield site


def look(made: World) -> dict[str, Seen]:
    found = {}
    for machine in MACHINES:
        (report,) = json.loads(made.cli("inspect", machine.name, "--json").stdout)
        disks = (machine.system_disk, machine.data_disk)
        found[machine.name] = Seen(
            bios_values(made, machine.name),
            report["bmc"]["firmware_version"],
            report["bmc"]["address"],
            sum(made.status(machine).boots.values()),
            tuple(made.sha256(machine, disk) for disk in disks),
            len(made.writes(machine)),
        )
    return found


def change(made: World) -> None:
    for arguments in (("bump", "lab-vm@1.0.0"), ("release", "lab-vm@1.1.0")):
        code, said = made.run("blueprint", *arguments)
        assert code == 0, said
        if arguments[0] == "bump":
            path = "blueprints/lab-vm/1.1.0.yaml"
            made.edit(path, "SysProfile: Performance", "SysProfile: Balanced")
            made.edit(path, 'bmc: ">=1.0"', 'bmc: ">=2.0"')
    text = (made.demo.root / RACK).read_text()
    moved, stays = text.replace("lab-vm@1.0.0", "lab-vm@1.1.0", 2), f"  - name: {MOVED}\n"
    (made.demo.root / RACK).write_text(moved.replace(stays, f"{stays}    addresses: {{oob-management: {TO}}}\n"))
    allocate_addresses(made.demo.root, date(2026, 11, 30))
    commit(made.demo.root, "two nodes to 1.1.0, a BMC to another address")


def differences(before: Seen, after: Seen) -> dict[str, Any]:
    """What the machines show, in the words of a review."""
    bios = {
        f"bios.attributes.{name}": (value, after.bios[name])
        for name, value in before.bios.items()
        if value != after.bios[name]
    }
    firmware = {"firmware.bmc": True} if before.firmware != after.firmware else {}
    address = {BMC_NETWORK: (before.address, after.address)} if before.address != after.address else {}
    return {**bios, **firmware, **address}


def announced(review: Any) -> dict[str, dict[str, Any]]:
    """What the review says will differ, node by node."""
    values: dict[str, Any] = {
        item["path"]: True if item["section"] == "Firmware" else (item["from"], item["to"])
        for item in review["changes"]
    }
    return {
        node["node"]: {
            **(values if node["base"] != node["blueprint"] else {}),
            **{move["network"]: (move["from"], move["to"]) for move in node["addresses"]},
        }
        for node in review["nodes"]
    }


def test_the_review_names_each_node_and_what_provision_then_changes_on_it_and_a_second_run_changes_nothing(
    made: World,
) -> None:
    before = look(made)
    change(made)
    review = json.loads(made.cli("review", "HEAD~1..HEAD", "--json").stdout)
    assert review["refused"] == []
    told = announced(review)
    assert set(told) == set(NAMES)
    assert set(told[MOVED]) == {BMC_NETWORK}
    assert set(told["lab-1"]) == {"bios.attributes.SysProfile", "firmware.bmc"}
    assert told["lab-1"] == told["lab-2"]

    planned = json.loads(made.cli("plan", *NAMES, "--json").stdout)
    phases = {node["node"]: {item["phase"] for item in node["changes"]} - IN_BAND for node in planned["nodes"]}
    assert phases == {node["node"]: set(node["phases"]) - IN_BAND for node in review["nodes"]}

    code, said = made.provision(nodes=NAMES)
    assert code == 0, said
    after = look(made)
    assert {name: differences(before[name], after[name]) for name in NAMES} == told
    for node in review["nodes"]:
        was, becomes = before[node["node"]], after[node["node"]]
        assert (becomes.disks == was.disks) is not node["reimage"]
        if node["reboots"] is not None:
            assert becomes.boots - was.boots == node["reboots"]
    assert {node["node"]: node["reboots"] for node in review["nodes"]} == {"lab-1": None, "lab-2": None, MOVED: 0}

    code, said = made.provision(nodes=NAMES)
    assert code == 0, said
    assert look(made) == after, "the same once more: no write to a BMC, no boot, no other value"
    again = json.loads(made.cli("review", "HEAD..HEAD", "--json").stdout)
    assert (again["nodes"], again["changes"], again["files"]) == ([], [], [])
