"""The IN recipes of the field, each on a tree that holds only what it is about."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.inventory.trees import (
    CH,
    MGR,
    ROOT,
    SYS,
    collection,
    link,
    machine,
    problems_of,
    report_of,
    reports_of,
    with_members,
)

CPU = {"ProcessorType": "CPU", "Model": "Xeon Gold 6354", "TotalCores": 18, "Status": {"State": "Enabled"}}
DIMM = {"CapacityMiB": 32768, "SerialNumber": "A1B2", "Status": {"State": "Enabled", "Health": "OK"}}
GPU = {"ProcessorType": "GPU", "Model": "NVIDIA H100 NVL", "Status": {"State": "Enabled", "Health": "OK"}}
ENABLED = {"State": "Enabled"}


def gpu(number: int, **more: Any) -> dict[str, Any]:
    return {**GPU, "Id": f"GPU_SXM_{number}", "PartNumber": "2330-885-A1", "SerialNumber": f"S{number}77", **more}


def test_in_02_numeric_texts_count_and_empty_ones_are_unknown() -> None:
    odd = {**CPU, "Socket": 1, "MaxSpeedMHz": "", "TotalCores": "48", "TotalThreads": True}
    report = report_of(with_members(machine(), SYS, "Processors", odd))
    assert report.cpus is not None
    (cpu,) = report.cpus
    assert (cpu.slot, cpu.cores, cpu.max_mhz, cpu.threads) == ("1", 48, None, None)
    assert "TotalThreads is True" in problems_of(report)


def test_in_04_empty_dimm_slots_do_not_count() -> None:
    """Only populated slots count: absent ones, and those of no capacity and no serial number, are empty slots."""
    nothing: dict[str, Any] = {"CapacityMiB": 0, "SerialNumber": None, "Status": {"State": "Enabled", "Health": None}}
    members: list[dict[str, Any]] = [
        DIMM,
        {**DIMM, "SerialNumber": "A1B3"},
        {"Status": {"State": "Absent"}},
        nothing,
        {"CapacityMiB": None},
    ]
    report = report_of(with_members(machine(), SYS, "Memory", *members))
    assert report.memory.dimms is not None
    assert len(report.memory.dimms) == 2
    assert report.memory.total_gib == 64


def test_sixteen_gigabytes_written_in_wrong_units_are_a_sixteen_gib_module() -> None:
    report = report_of(with_members(machine(), SYS, "Memory", {**DIMM, "CapacityMiB": 15625}))
    assert report.memory.total_gib == 16


def test_in_05_gpus_seen_twice_count_once_absent_ones_do_not_and_sick_ones_do() -> None:
    processors = [gpu(n) for n in range(1, 9)]
    processors[2]["Status"] = {"State": "Enabled", "Health": "Critical"}
    processors[7]["Status"] = {"State": "Absent"}
    tree = with_members(machine(), SYS, "Processors", CPU, *processors)
    with_members(tree, CH, "PCIeDevices", *({**gpu(n), "Name": f"GPU {n}"} for n in range(1, 9)))
    report = report_of(tree)
    assert report.gpus is not None
    assert [item.slot for item in report.gpus] == [f"GPU_SXM_{n}" for n in range(1, 8)]
    assert "GPU_SXM_3: is present, but its Health is Critical" in problems_of(report)


def test_gpus_below_the_chassis_are_found_and_boards_switches_and_risers_are_not() -> None:
    devices = [
        {"Id": "GPU1", "Name": "GPU1", "Model": "H100 80GB HBM3", "SerialNumber": "74154"},
        {"Id": "2", "Name": "NVIDIA HGX A100 8 GPU 40", "Manufacturer": "NVIDIA"},
        {"Id": "3", "Name": "NVIDIA NV Switch", "Manufacturer": "NVIDIA"},
        {"Id": "4", "Name": "ThinkSystem SR670 V2 Switched 4x x16 PCIe Gen4 DW/SW GPU"},
        {"Id": "5", "Name": "Integrated Matrox G200eW3 Graphics Controller"},
        {"Id": "6", "Name": "PCIeDevices", "Manufacturer": "Supermicro", "Model": "MCX75310AAS-NEAT"},
    ]
    tree = with_members(with_members(machine(), SYS, "Processors", CPU), CH, "PCIeDevices", *devices)
    report = report_of(tree)
    assert [(item.slot, item.model) for item in report.gpus or ()] == [("GPU1", "NVIDIA H100 SXM 80GB")]


def test_a_nameless_gpu_is_known_by_its_pci_ids() -> None:
    tree = with_members(machine(), CH, "PCIeDevices", {"Id": "23-0", "Name": "NVIDIA Corporation"})
    with_members(tree, SYS, "Processors", CPU)
    with_members(tree, f"{CH}/PCIeDevices/23-0", "PCIeFunctions", {"VendorId": "0x10de", "DeviceId": "0x26b9"})
    assert [item.model for item in report_of(tree).gpus or ()] == ["NVIDIA L40S"]


def test_two_dies_of_one_package_count_once() -> None:
    die = {"ProcessorType": "GPU", "PartNumber": "102-D65201-0B", "SerialNumber": "0000"}
    dies = [{**die, "Id": f"GPU{n}", "Name": f"GPU {n - n % 2}"} for n in range(8)]
    gpus = report_of(with_members(machine(), SYS, "Processors", *dies)).gpus
    assert [(item.slot, item.model) for item in gpus or ()] == [
        (f"GPU{n}", "AMD Instinct MI250X") for n in (0, 2, 4, 6)
    ]


def test_in_08_odd_macs_keep_the_interface_and_are_no_identity() -> None:
    """The interface stays; an address that is no six-octet MAC, or a filler, is named and never used."""
    macs = [":".join(["fe"] * 20), "00:00:00:00:00:00", "", "AA:BB:CC:00:00:01"]
    members = [{"Id": str(n), "MACAddress": mac, "InterfaceEnabled": None} for n, mac in enumerate(macs, 1)]
    report = report_of(with_members(machine(), SYS, "EthernetInterfaces", *members))
    ports = [port for nic in report.nics or () for port in nic.ports]
    assert len(ports) == 4
    assert [port.mac for port in ports if port.mac] == ["aa:bb:cc:00:00:01"]
    assert problems_of(report).count("has no usable MAC address") == 3


@pytest.mark.parametrize("interfaces", [[], [{"Id": "1", "MACAddress": "b8:3f:d2:00:00:01"}]])
def test_in_09_macs_of_adapters_and_interfaces_merge(interfaces: list[dict[str, Any]]) -> None:
    """Adapters, device functions and interfaces are merged by MAC in normal form: each port once."""
    tree = with_members(machine(), SYS, "EthernetInterfaces", *interfaces)
    with_members(tree, CH, "NetworkAdapters", {"Id": "N1", "Model": "CX7"})
    port = {"MaxSpeedGbps": 400, "LinkNetworkTechnology": "InfiniBand"}
    port["Ethernet"] = {"AssociatedMACAddresses": ["B8:3F:D2:00:00:01"]}
    with_members(tree, f"{CH}/NetworkAdapters/N1", "Ports", port)
    (nic,) = report_of(tree).nics or ()
    assert [(p.mac, p.speed_gbps, p.link) for p in nic.ports] == [("b8:3f:d2:00:00:01", 400, "infiniband")]


def test_di_05_the_usb_link_to_the_bmc_and_vlans_are_no_ports() -> None:
    members: list[dict[str, Any]] = [
        {"Id": "1", "MACAddress": "b8:3f:d2:00:00:01"},
        {"Id": "ToManager", "MACAddress": "be:3a:f2:69:4f:9f"},
        {"Id": "usb0", "MACAddress": "1a:2b:00:00:00:01"},
        {"Id": "enx1a2b00000003", "MACAddress": "1a:2b:00:00:00:03"},
        {"Id": "enxb83fd2000004", "MACAddress": "b8:3f:d2:00:00:04"},
        {"Id": "VLAN1", "MACAddress": "b8:3f:d2:00:00:01", "EthernetInterfaceType": "Virtual"},
        {"Id": "9", "MACAddress": "1a:2b:00:00:00:02", "Links": {"HostInterface": link(f"{MGR}/HostInterfaces/1")}},
    ]
    report = report_of(with_members(machine(), SYS, "EthernetInterfaces", *members))
    assert [port.mac for nic in report.nics or () for port in nic.ports] == [
        "b8:3f:d2:00:00:01",
        "b8:3f:d2:00:00:04",
    ]


def test_in_13_firmware_is_enumerated_never_guessed() -> None:
    """The firmware inventory is enumerated, and related by its links; no id is guessed, so no guess is a 404."""
    tree = machine()
    tree[ROOT]["UpdateService"] = link(f"{ROOT}/UpdateService")
    tree[f"{ROOT}/UpdateService"] = {"Id": "UpdateService"}
    item = {"Id": "Bluefield_FW_BMC_0", "Version": "BF-24.07", "RelatedItem": [link(MGR)]}
    with_members(tree, f"{ROOT}/UpdateService", "FirmwareInventory", item)
    del tree[MGR]["FirmwareVersion"]
    report = report_of(tree)
    assert report.bmc.firmware_version == "BF-24.07"
    assert [entry.id for entry in report.firmware or ()] == ["Bluefield_FW_BMC_0"]
    assert "there is no such resource" not in problems_of(report)


def test_in_14_storage_without_drives_and_null_capacity_are_not_zero() -> None:
    """Storage without drives is passed over; a null capacity is an unknown size, not zero and not a crash."""
    tree = with_members(machine(), SYS, "Storage", {"Id": "1", "StorageControllers": []})
    devices = [{"Name": "d0", "CapacityBytes": None, "Status": ENABLED}, {"Name": "d1", "CapacityBytes": 960197124096}]
    with_members(tree, SYS, "SimpleStorage", {"Id": "1", "Devices": devices})
    assert [(d.slot, d.size_bytes) for d in report_of(tree).drives or ()] == [("d0", None), ("d1", 960197124096)]


def test_virtual_media_and_backplanes_are_no_drives() -> None:
    devices = [
        {"Name": "USB_Device2", "Manufacturer": "American Megatreds Inc.", "Model": "Virtual Cdrom Device"},
        {"Name": "PCIe SSD Backplane 1", "Model": "PCIe SSD Backplane 1", "Status": ENABLED},
        {"Name": "NVMe_Device0", "Model": "KCM6", "CapacityBytes": 3840755982336},
    ]
    report = report_of(with_members(machine(), SYS, "SimpleStorage", {"Id": "1", "Devices": devices}))
    assert [(d.slot, d.protocol) for d in report.drives or ()] == [("NVMe_Device0", "NVMe")]


def test_drives_listed_twice_count_once() -> None:
    drive = {"Model": "M", "SerialNumber": "S77", "CapacityBytes": 10**12, "Protocol": "PCIe"}
    tree = machine(Storage=link(f"{SYS}/Storage"))
    tree[f"{SYS}/Storage"] = collection(f"{SYS}/Storage/1")
    tree[f"{SYS}/Storage/1"] = {"Drives": [link(f"{SYS}/Drives/1"), link(f"{SYS}/Drives/1"), link(f"{CH}/Drives/1")]}
    tree |= {f"{SYS}/Drives/1": drive, f"{CH}/Drives/1": drive}
    assert [(d.serial, d.protocol) for d in report_of(tree).drives or ()] == [("S77", "NVMe")]


def test_no_storage_resource_at_all_is_said() -> None:
    report = report_of(machine())
    assert report.drives == ()
    assert report.cannot_see("drives")


def test_in_16_dead_links_are_isolated() -> None:
    tree = with_members(machine(), SYS, "Processors", *({**CPU, "Id": str(n)} for n in range(1, 5)))
    del tree[f"{SYS}/Processors/3"]
    tree[f"{SYS}/Processors/4"] = {"error": {"code": "Base.1.8.InternalError"}}
    report = report_of(tree)
    assert [(cpu.slot, cpu.cores) for cpu in report.cpus or ()] == [("1", 18), ("2", 18), ("4", None)]
    assert "2 of 4 members could be read" in problems_of(report)


def test_in_19_a_bare_system_is_a_report_with_problems() -> None:
    tree = machine(MemorySummary=None, ProcessorSummary={})
    del tree[SYS]["Bios"], tree[SYS]["PowerState"]
    report = report_of(tree)
    assert (report.system.manufacturer, report.cpus, report.memory.total_gib) == (None, None, None)
    assert "manufacturer is unknown (power state unknown)" in problems_of(report)


def test_in_01_a_chassis_without_type_keeps_the_host() -> None:
    tree = machine()
    tree[f"{ROOT}/Chassis"] = collection(CH, f"{ROOT}/Chassis/CBC_0")
    tree[f"{ROOT}/Chassis/CBC_0"] = {"Id": "CBC_0", "Name": "c"}
    assert report_of(tree).chassis.type == "RackMount"


def test_a_host_that_is_off_makes_missing_parts_unknown_not_zero() -> None:
    tree = with_members(machine(PowerState="Off"), SYS, "Processors")
    report = report_of(tree)
    assert (report.cpus, report.gpus, report.drives, report.nics) == (None, None, None, None)
    assert "power state Off" in problems_of(report)


def test_two_hosts_on_one_bmc_are_two_reports_with_their_own_problems() -> None:
    tree = machine(SerialNumber="A77")
    other = f"{ROOT}/Systems/2"
    tree[f"{ROOT}/Systems"] = collection(SYS, other)
    tree[other] = {"Id": "2", "Bios": link(f"{other}/Bios"), "SerialNumber": "B77", "PowerState": True}
    first, second = reports_of(tree)
    assert (first.system.serial, second.system.serial, second.system.power_state) == ("A77", "B77", "On")
    assert not any(problem.uri.startswith(other) for problem in first.problems)


@pytest.mark.parametrize(
    "system",
    [
        {"Id": "Bluefield", "Model": "BlueField-3 SmartNIC Main Card", "Bios": link(f"{SYS}/Bios")},
        {"Id": "System_0", "ProcessorSummary": {"Count": 0}, "MemorySummary": {"TotalSystemMemoryGiB": 0}},
        {"Id": "Capabilities", "Links@Redfish.RequiredOnCreate": True},
    ],
)
def test_dpus_switches_and_templates_are_no_hosts(system: dict[str, Any]) -> None:
    tree = machine()
    tree[SYS] = system
    assert reports_of(tree) == []


def test_dummies_in_power_supply_bays_do_not_count() -> None:
    tree = machine()
    tree[CH]["Power"] = link(f"{CH}/Power")
    supplies = [
        {"Name": "Bay 1", "Model": "PWS-3K06G-2R", "PowerCapacityWatts": 3000, "SerialNumber": "I0C7"},
        {"Name": "Bay 2", "Model": "PWS-DF009-2F", "PowerCapacityWatts": None, "SerialNumber": "NTB8"},
        {"Name": "Bay 3", "Status": {"State": "Absent"}},
    ]
    tree[f"{CH}/Power"] = {"PowerSupplies": supplies}
    assert [(psu.slot, psu.watts) for psu in report_of(tree).psus or ()] == [("Bay 1", 3000)]
