"""What one BMC manages: hosts told from baseboards, DPUs, switches and shelves; parts given to the right host."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.inventory.trees import CH, ROOT, SYS, Tree, collection, link, machine, reports_of, with_members

from metalwright.redfish.inventory import CapturedTree, read_identities

CPU = {"ProcessorType": "CPU", "Model": "EPYC 9654", "TotalCores": 96, "Status": {"State": "Enabled"}}
RESET = {"#ComputerSystem.Reset": {"target": f"{SYS}/Actions/ComputerSystem.Reset"}}
CONTROLLED: dict[str, Any] = {"Boot": {"BootSourceOverrideTarget": "None"}, "Actions": RESET, "PowerState": "On"}


def with_system(tree: Tree, name: str, **body: Any) -> Tree:
    """Add a system beside the first."""
    uri = f"{ROOT}/Systems/{name}"
    known = [item["@odata.id"] for item in tree[f"{ROOT}/Systems"]["Members"]]
    tree[f"{ROOT}/Systems"] = collection(*known, uri)
    tree[uri] = {"Id": name, **body}
    return tree


def with_chassis(tree: Tree, name: str, **body: Any) -> Tree:
    """Add a chassis beside the first."""
    uri = f"{ROOT}/Chassis/{name}"
    known = [item["@odata.id"] for item in tree[f"{ROOT}/Chassis"]["Members"]]
    tree[f"{ROOT}/Chassis"] = collection(*known, uri)
    tree[uri] = {"Id": name, **body}
    return tree


def hosts_of(tree: Tree) -> list[str]:
    return [report.system.id for report in reports_of(tree)]


def test_the_host_beside_a_dpu_needs_no_bios_link_to_be_the_host() -> None:
    tree = machine()
    tree[SYS] = {"Id": "1", **CONTROLLED}
    with_system(tree, "DPU_1", Model="BlueField-3", Bios=link(f"{ROOT}/Systems/DPU_1/Bios"))
    assert hosts_of(tree) == ["1"]


@pytest.mark.parametrize("name", ["HGX_Baseboard_0", "UBB", "UBB_0", "HGX_0"])
def test_a_gpu_baseboard_is_no_host_even_if_it_can_be_reset(name: str) -> None:
    assert hosts_of(with_system(machine(), name, **CONTROLLED)) == ["1"]


def test_a_baseboard_manager_alone_has_no_host() -> None:
    tree = machine()
    tree[f"{ROOT}/Systems"] = collection()
    assert hosts_of(with_system(tree, "HGX_Baseboard_0", PowerState="On")) == []


def test_a_blade_that_is_off_and_says_little_stays_a_host() -> None:
    tree = with_system(machine(), "2", **{**CONTROLLED, "PowerState": "Off"}, ProcessorSummary={"Count": 0})
    tree[f"{ROOT}/Systems/2"]["MemorySummary"] = {"TotalSystemMemoryGiB": 0}
    assert hosts_of(tree) == ["1", "2"]


@pytest.mark.parametrize(
    "system",
    [
        {"Model": "SN5600 Ethernet Switch", "BiosVersion": "1.0"},
        {"Model": "N5110", "Name": "NVSwitch tray", **CONTROLLED},
        {"Name": "Power Shelf 33kW", "Bios": link(f"{SYS}/Bios")},
    ],
)
def test_switches_and_shelves_are_known_by_their_name(system: dict[str, Any]) -> None:
    tree = machine()
    tree[SYS] = {"Id": "System_0", **system}
    assert hosts_of(tree) == []


def test_a_power_shelf_of_openbmc_with_a_system_that_counts_nothing_is_no_host() -> None:
    tree = machine(ProcessorSummary={"Count": 0}, MemorySummary={"TotalSystemMemoryGiB": 0})
    assert hosts_of(tree) == ["1"]
    tree[ROOT]["PowerEquipment"] = link(f"{ROOT}/PowerEquipment")
    assert hosts_of(tree) == []


@pytest.mark.parametrize(
    ("name", "body"), [("powershelf", {}), ("1", {"Model": "PowerShelf 33 kW"}), ("NVSwitch_0", {})]
)
def test_a_system_that_counts_nothing_in_a_shelf_or_a_switch_is_no_host(name: str, body: dict[str, Any]) -> None:
    tree = machine(**{**CONTROLLED, "ProcessorSummary": {"Count": 0}, "MemorySummary": {"TotalSystemMemoryGiB": 0}})
    with_chassis(tree, name, **body)
    tree[SYS]["Links"] = {"Chassis": [link(f"{ROOT}/Chassis/{name}")]}
    assert hosts_of(tree) == []
    assert asyncio.run(read_identities(CapturedTree(tree))) == []
    tree[SYS]["ProcessorSummary"] = {"Count": 2}
    assert hosts_of(tree) == ["1"]


@pytest.mark.parametrize(
    ("chassis", "says", "hosts"),
    [
        (["MGX_NVSwitch_0", "MGX_NVSwitch_1"], {}, []),
        (["MGX_NVSwitch_0"], {"Bios": link(f"{SYS}/Bios")}, ["1"]),
        (["MGX_NVSwitch_0"], {"ProcessorSummary": {"Count": 2}}, ["1"]),
        (["HGX_NVSwitch_0", "HGX_GPU_SXM_1"], {}, ["1"]),
        (["Blade7"], {}, ["1"]),
    ],
)
def test_a_switch_tray_that_is_off_is_known_by_its_chassis(
    chassis: list[str], says: dict[str, Any], hosts: list[str]
) -> None:
    tree = machine()
    tree[SYS] = {"Id": "1", **CONTROLLED, "PowerState": "Off", "ProcessorSummary": {"Count": 0}, **says}
    tree[SYS] |= {"MemorySummary": {"TotalSystemMemoryGiB": 0}, "Links": {"Chassis": [link(f"{ROOT}/Chassis/BMC")]}}
    for name in ("BMC", *chassis):
        with_chassis(tree, name)
    assert hosts_of(tree) == hosts
    assert [report.system.id for report in asyncio.run(read_identities(CapturedTree(tree)))] == hosts


def test_a_power_shelf_without_systems_is_no_host() -> None:
    tree = machine()
    tree[f"{ROOT}/Systems"] = collection()
    assert hosts_of(tree) == []
    del tree[ROOT]["Systems"]
    assert hosts_of(tree) == []


def multi_node() -> Tree:
    """Four sleds in one box behind one BMC; each sled's drive cage is contained in it and names no system."""
    tree = machine()
    tree[f"{ROOT}/Systems"] = tree[f"{ROOT}/Chassis"] = collection()
    nodes = [f"{ROOT}/Systems/Node{n}" for n in range(1, 5)]
    with_chassis(tree, "Box", ChassisType="Enclosure", Links={"ComputerSystems": [link(uri) for uri in nodes]})
    tree[f"{ROOT}/Chassis/Box"]["Power"] = link(f"{ROOT}/Chassis/Box/Power")
    supplies = [{"Name": f"PSU {n}", "PowerCapacityWatts": 2200, "SerialNumber": f"P{n}7"} for n in (1, 2)]
    tree[f"{ROOT}/Chassis/Box/Power"] = {"PowerSupplies": supplies}
    for n in range(1, 5):
        sled, cage = f"{ROOT}/Chassis/Sled{n}", f"{ROOT}/Chassis/Cage{n}"
        with_system(tree, f"Node{n}", Bios=link("/x"), SerialNumber=f"N{n}77", **CONTROLLED)
        tree[nodes[n - 1]]["Links"] = {"Chassis": [link(sled)]}
        with_members(tree, nodes[n - 1], "Processors", CPU)
        with_chassis(tree, f"Sled{n}", ChassisType="Sled", SerialNumber=f"SLED{n}", Links={"Contains": [link(cage)]})
        with_chassis(tree, f"Cage{n}", ChassisType="StorageEnclosure")
        drive = {"Model": "PM9A3", "SerialNumber": f"D{n}77", "CapacityBytes": 10**12}
        with_members(tree, cage, "Drives", drive)
        with_members(tree, sled, "NetworkAdapters", {"Id": "OCP", "Model": f"CX6 of {n}"})
    return tree


def test_each_node_of_a_multi_node_chassis_has_its_own_parts_and_the_shared_supplies() -> None:
    reports = reports_of(multi_node())
    assert [report.system.serial for report in reports] == ["N177", "N277", "N377", "N477"]
    for n, report in enumerate(reports, 1):
        assert [drive.serial for drive in report.drives or ()] == [f"D{n}77"]
        assert [nic.model for nic in report.nics or ()] == [f"CX6 of {n}"]
        assert [psu.serial for psu in report.psus or ()] == ["P17", "P27"]
        assert (report.chassis.serial, report.chassis.type) == (f"SLED{n}", "Sled")


def test_what_hangs_in_the_shared_box_is_nobodys_unless_a_system_leads_to_it() -> None:
    tree = multi_node()
    box = f"{ROOT}/Chassis/Box"
    for n in range(1, 5):
        del tree[f"{ROOT}/Chassis/Sled{n}"]["NetworkAdapters"]
    with_members(tree, box, "NetworkAdapters", *({"Id": f"Mezz{n}", "Model": f"mezzanine of {n}"} for n in (1, 2)))
    interface = {"Id": "1", "Links": {"NetworkAdapter": link(f"{box}/NetworkAdapters/Mezz2")}}
    with_members(tree, f"{ROOT}/Systems/Node2", "NetworkInterfaces", interface)
    first, second, *_ = reports_of(tree)
    assert first.nics is None
    assert [nic.model for nic in second.nics or ()] == ["mezzanine of 2"]


def test_baseboards_beside_several_hosts_leave_gpus_unknown_not_zero() -> None:
    tree = with_system(multi_node(), "HGX_Baseboard_0")
    with_members(tree, f"{ROOT}/Systems/HGX_Baseboard_0", "Processors", {"ProcessorType": "GPU", "Model": "H100"})
    assert [report.gpus for report in reports_of(tree)] == [None] * 4
    assert any(
        "systems beside it cannot be read or are nobody's" in problem.what for problem in reports_of(tree)[0].problems
    )


def test_a_blade_behind_its_own_bmc_is_the_machine_and_its_enclosure_holds_the_supplies() -> None:
    tree = machine(SerialNumber="BLADE77")
    tree[CH] = {"Id": "1", "ChassisType": "Blade", "SerialNumber": "BLADE77"}
    tree[SYS]["Links"] = {"Chassis": [link(CH)]}
    with_chassis(tree, "Enc", ChassisType="Enclosure", SerialNumber="ENC77", PowerSubsystem=link("/redfish/v1/p"))
    tree["/redfish/v1/p"] = {}
    supplies = ({"Id": f"{n}", "PowerCapacityWatts": 3000, "SerialNumber": f"E{n}7"} for n in range(6))
    with_members(tree, "/redfish/v1/p", "PowerSupplies", *supplies)
    (report,) = reports_of(tree)
    assert (report.chassis.serial, report.chassis.type, len(report.psus or ())) == ("BLADE77", "Blade", 6)
