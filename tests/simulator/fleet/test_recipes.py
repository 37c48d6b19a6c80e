"""Every known failure that a BMC can show is a fault by its id, and bites at a BMC of a profile."""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.simulator.fleet.direct import Direct

from metalwright.errors import LabError
from metalwright.redfish.inventory import CapturedTree, read_reports
from metalwright.simulator.faults import Fault
from metalwright.simulator.fleet.aiming import misaimed, misaimed_groups
from metalwright.simulator.fleet.binding import TreeRoutes
from metalwright.simulator.fleet.plan import FaultGroup, place
from metalwright.simulator.fleet.service import Fleet, fleet_in_thread
from metalwright.simulator.fleet.tree import Identity, Tree
from metalwright.simulator.profiles import NAMES, load_profile
from metalwright.simulator.recipes import faults_of, recipes
from metalwright.simulator.rules import Do, apply_edits

CATALOGUES = Path(__file__).parents[2] / "failures"
ELSEWHERE = {"IN-11", "IN-12", "DI-02", "DI-03", "DI-04"}
"""What a person wrote, or a datagram: no BMC shows it."""
ROOT, SYS = "/redfish/v1", "/redfish/v1/Systems/1"
SESSIONS, FIRMWARE = f"{ROOT}/SessionService/Sessions", f"{ROOT}/UpdateService/FirmwareInventory"
RESET = f"{SYS}/Actions/ComputerSystem.Reset"
ASKED: dict[str, list[str]] = {
    "rt-01a": [f"{SYS}/Bios/SD"], "rt-01b": [f"{SYS}/Bios/SD"], "rt-01c": [f"{SYS}/Bios/SD"],
    "rt-03a": [f"PATCH {SYS}"], "rt-06": [f"POST {RESET}"], "rt-08a": [f"{ROOT}/Chassis"],
    "rt-09a": [FIRMWARE, f"{FIRMWARE}?$skip=2"], "rt-09b": [FIRMWARE, f"{FIRMWARE}?$skip=2"],
    "rt-09c": [FIRMWARE], "rt-09d": [FIRMWARE], "rt-12a": [f"POST {SESSIONS}"], "rt-12b": [f"POST {SESSIONS}"],
    "rt-21a": [f"PATCH {ROOT}/Managers/1/NetworkProtocol"],
    "rt-21b": [f"PATCH {ROOT}/Managers/1/NetworkProtocol"], "rt-22": [f"{ROOT}/Managers/1/EthernetInterfaces/1"],
    "rt-23": [f"POST {SESSIONS}"], "rt-24": [f"POST {SYS}/Bios/Actions/Bios.ResetBios"], "rt-25a": [ROOT],
    "rt-25b": [f"{ROOT}/"], "rt-26": [f"{SYS}/BootOptions/Boot0001"], "rt-28": [f"{SYS}/Memory"],
    "in-01": [f"{ROOT}/Chassis/1"], "in-02": [f"{SYS}/Processors/1"], "in-04": [f"{SYS}/Memory"],
    "in-05": [f"{ROOT}/Chassis/1/PCIeDevices/GPU8"], "in-06": [f"{ROOT}/Chassis/1/PCIeDevices"],
    "in-08": [f"{SYS}/EthernetInterfaces"], "in-09": [f"{SYS}/EthernetInterfaces"], "in-13": [FIRMWARE],
    "in-16": [f"{SYS}/Processors", f"{SYS}/Processors/broken"],
    "di-05": [f"{SYS}/EthernetInterfaces"],
}  # fmt: skip
NOT_BY_ONE_REQUEST = {"rt-10", "rt-13", "rt-14a", "rt-14b", "rt-15", "rt-17", "rt-18", "rt-19", "rt-27"}
"""Those that need several sessions or logins, take long, or are no matter of requests."""


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with fleet_in_thread(place("127.91.17.0/30", [(load_profile("h100-8x-supermicro").tree, 1)], 1)) as running:
        yield running


@pytest.fixture
def server(fleet: Fleet) -> Iterator[Direct]:
    direct = Direct(fleet, "h100-8x-supermicro")
    yield direct
    direct.bmc.system.faults.clear()


def test_each_failure_of_the_three_areas_has_a_recipe() -> None:
    areas = ("redfish-transport", "inventory", "discovery")
    ids = {key for area in areas for key in tomllib.loads((CATALOGUES / f"{area}.toml").read_text()) if key != "title"}
    assert {name.upper()[:5] for name in recipes()} == ids - ELSEWHERE


@pytest.mark.parametrize("name", sorted(set(recipes()) - NOT_BY_ONE_REQUEST))
def test_a_recipe_bites_at_the_request_that_it_is_about(name: str, fleet: Fleet, server: Direct) -> None:
    fleet.set_fault(server.bmc, Fault(name=name))
    paths = {"in-14a": "/Storage/[^/]+$", "in-14b": "/Drives/[^/]+$", "in-17": "/NetworkAdapters/[^/]+/Ports/[^/]+$"}
    if name in paths:
        asked = [next(path for path in server.bmc.tree_routes.tree.texts if re.search(paths[name], path))]
    else:
        asked = ASKED.get(name, [SYS])
    for words in asked:
        method, _, path = words.rpartition(" ")
        body = {"PATCH": {"AssetTag": "x"}, "POST": {} if name != "rt-24" else None}.get(method)
        server.ask(method or "GET", path, body)
        assert server.bmc.traffic.records[-1].faults, words


@pytest.mark.parametrize("name", sorted(NOT_BY_ONE_REQUEST))
def test_the_other_recipes_are_in_force(name: str, fleet: Fleet, server: Direct) -> None:
    fleet.set_fault(server.bmc, Fault(name=name.upper()))
    assert server.bmc.system.faults.active() == list(recipes()[name])


OTHERS = ("a100-8x-hpe", "h200-8x-dell", "l40s-8x-lenovo", "mi300x-8x-ami", "gb200-tray-nvidia")
"""One profile of each other maker: its own names of systems, managers and settings."""

ABOUT = {
    **dict.fromkeys(("rt-01a", "rt-01b", "rt-01c"), "GET /Systems/[^/]+/Bios/(?!Actions)[^/]+$"),
    **dict.fromkeys(("rt-02", "rt-03b", "rt-04", "rt-05", "rt-07", "rt-08b", "rt-16"), "GET HOST"),
    **dict.fromkeys(("rt-09a", "rt-09b", "rt-09c", "rt-09d"), "GET /UpdateService/FirmwareInventory$"),
    **dict.fromkeys(("rt-12a", "rt-12b", "rt-23"), "POST /SessionService/Sessions$"),
    **dict.fromkeys(("rt-21a", "rt-21b"), "PATCH /Managers/[^/]+/NetworkProtocol$"),
    **{"rt-03a": "PATCH HOST", "rt-06": "POST RESET", "rt-22": "GET /Managers/[^/]+/EthernetInterfaces/[^/]+$"},
    **{"rt-26": "GET /BootOptions/[^/]+$", "rt-28": "GET /Systems/[^/]+/Memory$"},
}
"""Recipes whose URIs differ between makers, and what they are about."""


@pytest.fixture(scope="module")
def others() -> Iterator[Fleet]:
    kinds = [(load_profile(name).tree, 1) for name in OTHERS]
    with fleet_in_thread(place("127.91.17.16/29", kinds, len(kinds))) as running:
        yield running


@pytest.mark.parametrize("profile", OTHERS)
def test_the_transport_recipes_bite_at_every_makers_uris(profile: str, others: Fleet) -> None:
    direct = Direct(others, profile)
    reset = direct.get(direct.host)["Actions"]["#ComputerSystem.Reset"]["target"]
    for name, words in ABOUT.items():
        method, _, where = words.partition(" ")
        known = {"HOST": direct.host, "RESET": reset, "/SessionService/Sessions$": SESSIONS}
        path = known.get(where) or next(uri for uri in direct.bmc.tree_routes.tree.texts if re.search(where, uri))
        direct.bmc.system.faults.clear()
        others.set_fault(direct.bmc, Fault(name=name))
        direct.ask(method, path, None if method == "GET" else {"AssetTag": "x"})
        assert direct.bmc.traffic.records[-1].faults, (profile, name, path)


@pytest.mark.parametrize("profile", OTHERS)
def test_no_transport_recipe_misses_this_profile(profile: str) -> None:
    routes = [TreeRoutes(load_profile(profile).tree)]
    names = sorted(name for name in recipes() if name.startswith("rt"))
    assert [why for name in names if (why := misaimed(Fault(name=name), routes))] == []


def test_a_recipe_takes_no_details() -> None:
    with pytest.raises(LabError, match="a recipe takes no details"):
        faults_of(Fault(name="rt-04", times=2))


HOSTS = [name for name in NAMES if not name.startswith("power-shelf")]
NO_GPU = {("cpu-node-hpe", "in-05")}
"""A machine without the part that the failure is about."""


def bodies_of(tree: Tree, name: str = "") -> dict[str, Any]:
    """What the tree answers to GETs, with the edits of a recipe."""
    bodies = {path: tree.body(path, Identity(1, "127.0.0.1")) for path in tree.texts}
    for fault in recipes()[name] if name else ():
        for path in bodies:
            if fault.fits("GET", path) or fault.fits("GET", f"{path}/"):
                bodies[path] = apply_edits(bodies[path], fault.do.edit)
    return bodies


@pytest.mark.parametrize("profile", HOSTS)
def test_each_recipe_about_inventory_and_discovery_changes_what_this_profile_answers(profile: str) -> None:
    tree = load_profile(profile).tree
    before = bodies_of(tree)
    names = {name for name in recipes() if name[:2] in ("in", "di")}
    idle = {name for name in names if bodies_of(tree, name) == before}
    assert {(profile, name) for name in idle} == {item for item in NO_GPU if item[0] == profile}


@pytest.mark.parametrize("profile", [name for name in HOSTS if name != "cpu-node-hpe"])
@pytest.mark.parametrize("name", ["in-05", "in-06"])
def test_the_last_gpu_of_this_profile_is_absent_however_its_maker_calls_it(profile: str, name: str) -> None:
    tree = load_profile(profile).tree
    (whole,) = asyncio.run(read_reports(CapturedTree(bodies_of(tree)), parts=frozenset({"gpus"})))
    (less,) = asyncio.run(read_reports(CapturedTree(bodies_of(tree, name)), parts=frozenset({"gpus"})))
    assert whole.gpus is not None
    assert less.gpus == whole.gpus[:-1]


def test_a_fault_whose_path_nothing_has_is_told() -> None:
    kinds = [TreeRoutes(load_profile("power-shelf-delta").tree)]
    why = misaimed(Fault(name="rule", path="/Systems/1$", do=Do(status=503)), kinds)
    assert why == "rule: path '/Systems/1$' matches no URI of power-shelf-delta"
    assert misaimed(Fault(name="in-10"), kinds) is not None
    assert misaimed(Fault(name="in-13"), kinds) is None
    for path in ("/Chassis/[^/]+/?$", "/Accounts/7$", "/Sessions/[^/]+$", "Manager.Reset", "^/redfish/v1/$"):
        assert misaimed(Fault(name="rule", path=path, do=Do(status=503)), kinds) is None, path


def test_what_another_fault_adds_to_an_answer_is_aimed_at() -> None:
    kinds = [TreeRoutes(load_profile("h100-8x-supermicro").tree)]
    adds, answers = recipes()["in-16"]
    assert misaimed(answers, kinds) is not None
    assert misaimed(answers, kinds, [adds]) is None


def test_a_group_of_a_fault_file_that_misses_is_told_with_its_place() -> None:
    tree = load_profile("power-shelf-delta").tree
    bmcs, routes = place("127.91.17.8/30", [(tree, 1)], 1), {id(tree): TreeRoutes(tree)}
    busy = Do(status=503)
    aimed, missed = (Fault(name="rule", path=path, do=busy) for path in ("/Chassis/", "/Bios$"))
    groups = [
        FaultGroup(bmcs=["all"], faults=[aimed, missed]),
        FaultGroup(bmcs=[7], faults=[Fault(name="slow")]),
    ]
    first, second = misaimed_groups(groups, bmcs, routes)
    assert first.startswith("0.faults.1: rule: path '/Bios$'")
    assert second == "1.bmcs: no BMC is meant by 7"
