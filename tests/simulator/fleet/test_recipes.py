"""Every known failure that a BMC can show is a fault by its id, and bites at a BMC of a profile."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.simulator.fleet.direct import Direct

from metalwright.errors import LabError
from metalwright.simulator.faults import Fault
from metalwright.simulator.fleet.plan import place
from metalwright.simulator.fleet.service import Fleet, fleet_in_thread
from metalwright.simulator.profiles import load_profile
from metalwright.simulator.recipes import faults_of, recipes

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


def test_a_recipe_takes_no_details() -> None:
    with pytest.raises(LabError, match="a recipe takes no details"):
        faults_of(Fault(name="rt-04", times=2))
