"""Damaged captures: a report or a Redfish error comes out, never a crash, an endless walk or parts made up."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.captures.conftest import load, truth

from metalwright.errors import RedfishError
from metalwright.matching import match
from metalwright.model.blueprint import Blueprint
from metalwright.model.rack import Node
from metalwright.model.report import HardwareReport
from metalwright.redfish.inventory import read_reports
from metalwright.redfish.inventory.reader import Reader

ODD_VALUES: tuple[Any, ...] = (
    *(None, "", " ", "N/A", "nan", "43.000000", 0, -1, 1e400, True, 2**80, "😀" * 300),
    *([], {}, [None], [[]], {"@odata.id": ""}),
)
KINDS = ("swap", "drop", "repeat", "loop", "cut", "fail")
READ_BUDGET = 800


class DamagedTree:
    """Serves a captured tree with damage that depends on the seed and the URI alone."""

    def __init__(self, tree: Reader, seed: int, share: float, kinds: Sequence[str] = KINDS) -> None:
        self._tree, self._seed, self._share, self._kinds = tree, seed, share, kinds
        self.reads = 0
        self.bites = 0

    async def get(self, path: str) -> Mapping[str, Any]:
        self.reads += 1
        body = copy.deepcopy(dict(await self._tree.get(path)))
        chance = random.Random(f"{self._seed} {path}")
        if path.rstrip("/").count("/") > 2 and chance.random() < self._share:
            before = copy.deepcopy(body)
            for _ in range(chance.randint(1, 4)):
                damage(body, path, chance, chance.choice(self._kinds))
            self.bites += body != before
        return body


def damage(body: dict[str, Any], path: str, chance: random.Random, kind: str) -> None:
    members = body.get("Members")
    if kind == "fail":
        body.clear()
        body["error"] = chance.choice([{"code": "Base.1.8.InternalError"}, None, [], "busy"])
    elif kind == "repeat" and isinstance(members, list) and members:
        twins = [{"@odata.id": f"{member['@odata.id']}/"} for member in members if _is_link(member)]
        body["Members"] = [*members, *chance.choice([members, twins])]
    elif kind == "cut" and isinstance(members, list):
        body["Members"] = members[: len(members) // 2]
        body["Members@odata.nextLink"] = chance.choice([path, f"{path}?$skip=1", "", 7, "/redfish/v1/nowhere"])
    elif kind == "loop":
        body["Links"] = {
            "Chassis": [{"@odata.id": path}],
            "Contains": {"@odata.id": path},
            "Drives": [{"@odata.id": path}],
        }
    elif kind in ("swap", "drop"):
        swap(body, chance, drop=kind == "drop")


def _is_link(member: object) -> bool:
    """Whether it can have a twin; earlier damage to the same body leaves members that are none."""
    return isinstance(member, dict) and "@odata.id" in member


def swap(body: dict[str, Any], chance: random.Random, drop: bool) -> None:
    """Change one property, at any depth."""
    holder: Any = body
    while isinstance(holder, dict) and holder:
        name = chance.choice(sorted(holder))
        inner = holder[name]
        if isinstance(inner, list) and inner and isinstance(inner[0], dict) and chance.random() < 0.5:
            inner = chance.choice(inner)
        if isinstance(inner, dict) and inner and chance.random() < 0.6:
            holder = inner
            continue
        if drop:
            del holder[name]
        else:
            holder[name] = chance.choice(ODD_VALUES)
        return


@cache
def whole(machine: str) -> tuple[tuple[HardwareReport, ...], int]:
    """The reports of the undamaged tree, and the reads that they took."""
    tree = DamagedTree(load(machine), 0, 0.0)
    return tuple(asyncio.run(read_reports(tree))), tree.reads


def parts_of(reports: Sequence[HardwareReport]) -> list[dict[str, Any]]:
    return [report.model_copy(update={"problems": ()}).to_json() for report in reports]


def read(tree: DamagedTree) -> list[HardwareReport] | None:
    try:
        return asyncio.run(read_reports(tree, read_budget=READ_BUDGET))
    except RedfishError:
        return None


@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.03, 0.15, 0.6]))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_tree_never_crashes_the_reader(machine: str, seed: int, share: float) -> None:
    tree = DamagedTree(load(machine), seed, share)
    reports = read(tree)
    assert tree.reads <= READ_BUDGET
    for report in reports or ():
        json.dumps(report.to_json(), allow_nan=False)
        assert HardwareReport.model_validate(report.to_json()) == report


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_damage_bites_and_costs_few_reads(machine: str, kind: str) -> None:
    """A test whose damage does nothing cannot fail; loops and cut pages must not make the walk longer than they are."""
    reports, reads = whole(machine)
    bites, told = 0, False
    for seed in range(2):
        tree = DamagedTree(load(machine), seed, 0.9, (kind,))
        found = read(tree)
        bites += tree.bites
        told = told or found is None or parts_of(found) != parts_of(reports)
        assert tree.reads <= 2 * reads + 20
    assert bites > 2
    assert told or kind in ("repeat", "loop", "cut") or not reports


@given(seed=st.integers(0, 2**32))
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_members_that_are_repeated_change_nothing(machine: str, seed: int) -> None:
    found = read(DamagedTree(load(machine), seed, 0.9, ("repeat",)))
    assert found is not None
    assert parts_of(found) == parts_of(whole(machine)[0])


def describes(item: BaseModel) -> bool:
    """Whether more than the slot is known: a member that cannot be read is a slot of unknown content."""
    return any(value is not None for name, value in item if name != "slot")


@given(seed=st.integers(0, 2**32))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_never_makes_up_sockets_dimms_or_gpus(machine: str, seed: int) -> None:
    true_hosts = {host["uri"].rpartition("/")[2]: host for host in truth()[machine]["systems"]}
    for report in read(DamagedTree(load(machine), seed, 0.1)) or ():
        host = true_hosts.get(report.system.id, {})
        for part, found in (("cpus", report.cpus), ("dimms", report.memory.dimms), ("gpus", report.gpus)):
            if found is not None and part in host:
                assert len([item for item in found if describes(item)]) <= host[part], part


def demanding_one_more(host: dict[str, Any], part: str) -> Blueprint:
    """A blueprint of the machine that wants one socket, DIMM or GPU more than there is."""
    more = {name: 1 if name == part else 0 for name in ("cpus", "dimms", "gpus")}
    hardware: dict[str, Any] = {
        "system": {"manufacturer": host["manufacturer"], "models": [host["model"]]},
        "cpus": {"count": host["cpus"] + more["cpus"]},
        "memory": {"total_gib": host["memory_gib"], "dimms": host["dimms"] + more["dimms"]},
        "drives": [{"role": "system", "count": 1, "min_bytes": 1}],
    }
    if part == "gpus":
        hardware["gpus"] = {"count": host.get("gpus", 0) + 1, "vendor": "nvidia", "model": "H100"}
    values = {"schema": 1, "name": "captured", "version": "1.0.0", "class": {"role": "x", "owner": "x", "why": "x"}}
    image = {"name": "x", "version": "1", "file_sha256": "0" * 64}
    tests = [{"test": "boot", "record": True}]
    return Blueprint.model_validate({**values, "hardware": hardware, "image": image, "acceptance": tests})


@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.0, 0.1, 0.4]))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_never_lets_a_machine_pass_that_lacks_a_part(machine: str, seed: int, share: float) -> None:
    hosts = {host["uri"].rpartition("/")[2]: host for host in truth()[machine]["systems"] if host["kind"] == "host"}
    for report in read(DamagedTree(load(machine), seed, share)) or ():
        host = hosts[report.system.id]
        keys = {"serial": report.system.serial, "uuid": report.system.uuid, "bmc_mac": (report.bmc.macs or (None,))[0]}
        given_keys = {key: value for key, value in keys.items() if value is not None}
        if len(given_keys) < 2:
            continue
        node = Node.model_validate({"name": "captured", "blueprint": "captured@1.0.0", **given_keys})
        for part in ("cpus", "dimms", "gpus"):
            assert match(demanding_one_more(host, part), report, node).verdict != "PASS", part
