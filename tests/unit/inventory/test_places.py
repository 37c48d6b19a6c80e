"""Where BMCs of different make keep the same part: trees in their shape, made of only what matters."""

from __future__ import annotations

from typing import Any

from tests.unit.inventory.trees import (
    CH,
    ROOT,
    SYS,
    Tree,
    collection,
    link,
    machine,
    problems_of,
    report_of,
    with_members,
)

CPU = {"Id": "CPU1", "ProcessorType": "CPU", "Model": "EPYC 9654", "TotalCores": 96}
DRIVE = {"Model": "PM9A3", "CapacityBytes": 3_840_755_982_336, "Protocol": "NVMe"}


def with_baseboard(tree: Tree, name: str, *processors: dict[str, Any]) -> Tree:
    """Add a GPU baseboard with its processors."""
    uri = f"{ROOT}/Systems/{name}"
    tree[f"{ROOT}/Systems"] = collection(SYS, uri)
    tree[uri] = {"Id": name}
    return with_members(tree, uri, "Processors", *processors)


def test_eight_oam_modules_of_an_mi300x_server_are_accelerators_of_its_baseboard() -> None:
    module = {"ProcessorType": "Accelerator", "Manufacturer": "AMD", "Model": "AMD Instinct MI300X OAM"}
    modules = [{**module, "Id": f"OAM_{n}", "SerialNumber": f"M{n}77"} for n in range(8)]
    fpga = {"Id": "FPGA_0", "ProcessorType": "FPGA", "Model": "UBB FPGA"}
    tree = with_baseboard(with_members(machine(), SYS, "Processors", CPU), "UBB", *modules, fpga)
    report = report_of(tree)
    assert [gpu.slot for gpu in report.gpus or ()] == [f"OAM_{n}" for n in range(8)]
    assert {gpu.model for gpu in report.gpus or ()} == {"AMD Instinct MI300X OAM"}
    assert len(report.cpus or ()) == 1


def test_gpus_that_host_and_baseboard_both_list_count_once() -> None:
    gpus = [{"Id": f"GPU_SXM_{n}", "ProcessorType": "GPU", "Model": "NVIDIA H200"} for n in range(1, 9)]
    tree = with_baseboard(with_members(machine(), SYS, "Processors", CPU, *gpus), "HGX_Baseboard_0", *gpus)
    assert len(report_of(tree).gpus or ()) == 8
    told_apart = [{**gpu, "Id": f"G{n}", "SerialNumber": f"H{n}77"} for n, gpu in enumerate(gpus)]
    numbered = [{**gpu, "SerialNumber": f"H{n}77"} for n, gpu in enumerate(gpus)]
    tree = with_baseboard(with_members(machine(), SYS, "Processors", CPU, *told_apart), "HGX_Baseboard_0", *numbered)
    assert len(report_of(tree).gpus or ()) == 8


def test_accelerators_that_are_no_gpus_do_not_count() -> None:
    cards = [
        {"ProcessorType": "Accelerator", "Manufacturer": "Xilinx", "Model": "Alveo U50"},
        {"ProcessorType": "Accelerator", "Manufacturer": "Intel", "Model": "QuickAssist 8970"},
        {"ProcessorType": "GPU", "Manufacturer": "Matrox", "Model": "Matrox G200eW3"},
    ]
    assert report_of(with_members(machine(), SYS, "Processors", CPU, *cards)).gpus == ()


def test_a_short_name_is_a_gpu_only_where_its_maker_is_told() -> None:
    devices = [
        {"Id": "1", "Name": "Slot L4 riser card", "Manufacturer": "Acme"},
        {"Id": "2", "Name": "RAID controller A2", "Manufacturer": "Broadcom"},
        {"Id": "3", "Name": "L4", "Manufacturer": "NVIDIA"},
        {"Id": "4", "Name": "NVIDIA A10"},
        {"Id": "5", "Model": "A16"},
    ]
    tree = with_members(with_members(machine(), SYS, "Processors", CPU), CH, "PCIeDevices", *devices)
    assert [gpu.slot for gpu in report_of(tree).gpus or ()] == ["3", "4", "5"]


def test_gpus_that_only_the_system_links_to_are_found() -> None:
    """Cisco's C-series: the system has a list of links, the chassis no collection of PCIe devices."""
    places = [f"{SYS}/PCIeDevices/{n}" for n in range(1, 4)]
    tree = with_members(machine(PCIeDevices=[link(uri) for uri in places]), SYS, "Processors", CPU)
    tree |= {uri: {"Id": uri[-1], "Model": "NVIDIA L40S", "Slot": {"Location": {}}} for uri in places[:2]}
    tree[places[2]] = {"Id": "3", "Model": "Cisco VIC 15238"}
    report = report_of(tree)
    assert [(gpu.slot, gpu.model) for gpu in report.gpus or ()] == [("1", "NVIDIA L40S"), ("2", "NVIDIA L40S")]
    assert not report.cannot_see("gpus")


def test_gpus_that_the_chassis_collection_leaves_out_are_found_once() -> None:
    tree = with_members(machine(), SYS, "Processors", CPU)
    with_members(tree, CH, "PCIeDevices", {"Id": "nic", "Model": "MCX755106AS"})
    gpu = {"Model": "NVIDIA H100 NVL", "Manufacturer": "NVIDIA"}
    tree |= {f"{SYS}/PCIeDevices/38": gpu, f"{CH}/PCIeDevices/38": gpu}
    tree[SYS]["PCIeDevices"] = [link(f"{SYS}/PCIeDevices/38"), link(f"{CH}/PCIeDevices/38")]
    assert [gpu.model for gpu in report_of(tree).gpus or ()] == ["NVIDIA H100 NVL"]


def test_a_collection_of_pcie_devices_below_the_system_is_read_as_one() -> None:
    tree = with_members(machine(), SYS, "Processors", CPU)
    with_members(tree, SYS, "PCIeDevices", {"Id": "7", "Model": "NVIDIA A40"})
    assert [gpu.slot for gpu in report_of(tree).gpus or ()] == ["7"]


def test_drives_of_a_backplane_that_no_controller_names_count_beside_the_controllers_own() -> None:
    tree = machine(Storage=link(f"{SYS}/Storage"))
    tree[f"{SYS}/Storage"] = collection(f"{SYS}/Storage/1")
    tree[f"{SYS}/Storage/1"] = {"Drives": [link(f"{SYS}/Storage/1/Drives/0")]}
    tree[f"{SYS}/Storage/1/Drives/0"] = {**DRIVE, "SerialNumber": "BOOT7"}
    bays = ({**DRIVE, "Id": f"Bay{n}", "SerialNumber": f"NV{n}77"} for n in range(8))
    with_members(tree, CH, "Drives", *bays, {**DRIVE, "Id": "twin", "SerialNumber": "BOOT7"})
    assert sorted(str(drive.serial) for drive in report_of(tree).drives or ()) == [
        "BOOT7",
        *(f"NV{n}77" for n in range(8)),
    ]


def test_drives_without_serial_numbers_are_never_counted_in_two_places() -> None:
    tree = machine(Storage=link(f"{SYS}/Storage"))
    tree[f"{SYS}/Storage"] = collection(f"{SYS}/Storage/1")
    tree[f"{SYS}/Storage/1"] = {"Drives": [link(f"{SYS}/Storage/1/Drives/0")]}
    tree[f"{SYS}/Storage/1/Drives/0"] = DRIVE
    with_members(tree, CH, "Drives", DRIVE)
    assert len(report_of(tree).drives or ()) == 1


def test_an_adapter_below_two_chassis_is_one_and_its_ports_count_once() -> None:
    adapter = {"Id": "NIC1", "Model": "ConnectX-7", "SerialNumber": "MT77"}
    tree = with_members(machine(), CH, "NetworkAdapters", adapter)
    other = f"{ROOT}/Chassis/Card1"
    tree[f"{ROOT}/Chassis"] = collection(CH, other)
    tree[other] = {"Id": "Card1", "ChassisType": "Card"}
    with_members(tree, other, "NetworkAdapters", adapter)
    for chassis in (CH, other):
        with_members(tree, f"{chassis}/NetworkAdapters/NIC1", "Ports", {"Id": "1", "CurrentSpeedGbps": 400})
    (nic,) = report_of(tree).nics or ()
    assert len(nic.ports) == 1


def test_a_network_interface_with_ports_stands_for_an_adapter_that_is_nowhere() -> None:
    tree = with_members(machine(), SYS, "NetworkInterfaces", {"Id": "NIC.Slot.1", "Name": "ConnectX-6"})
    port = {"Id": "1", "AssociatedNetworkAddresses": ["B8:3F:D2:00:00:01"], "CurrentLinkSpeedMbps": 100000}
    with_members(tree, f"{SYS}/NetworkInterfaces/NIC.Slot.1", "NetworkPorts", port)
    (nic,) = report_of(tree).nics or ()
    assert [(item.mac, item.speed_gbps) for item in nic.ports] == [("b8:3f:d2:00:00:01", 100)]


def test_cores_that_are_switched_off_are_told_beside_those_of_the_chip() -> None:
    tree = with_members(machine(), SYS, "Processors", {**CPU, "TotalEnabledCores": 48}, {**CPU, "Id": "CPU2"})
    assert [(cpu.cores, cpu.enabled_cores) for cpu in report_of(tree).cpus or ()] == [(96, 48), (96, None)]


def test_a_part_that_calls_itself_critical_is_named_with_its_place() -> None:
    sick = {**CPU, "Status": {"State": "Enabled", "Health": "Critical"}}
    report = report_of(with_members(machine(), SYS, "Processors", sick))
    assert report.critical_parts == ("CPU1",)
    assert "Health is Critical" in problems_of(report)


ERROR = {"error": {"code": "Base.1.8.InternalError"}}


def test_gpus_adapters_and_ports_that_answer_an_error_are_there_and_unknown() -> None:
    """A device that cannot be read is no missing device."""
    tree = with_members(machine(), SYS, "Processors", CPU)
    gpus = [{"Id": f"GPU{n}", "Model": "NVIDIA L40S", "SerialNumber": f"L{n}77"} for n in (1, 2)]
    with_members(tree, CH, "PCIeDevices", *gpus, {"Id": "GPU3"}, {"Id": "NIC1"})
    with_members(tree, CH, "NetworkAdapters", {"Id": "N1", "Model": "CX7"}, {"Id": "N2"})
    port = {"MaxSpeedGbps": 400, "LinkNetworkTechnology": "InfiniBand"}
    with_members(tree, f"{CH}/NetworkAdapters/N1", "Ports", {"Id": "1", **port}, {"Id": "2"})
    broken = ("PCIeDevices/GPU3", "PCIeDevices/NIC1", "NetworkAdapters/N2", "NetworkAdapters/N1/Ports/2")
    tree |= {f"{CH}/{name}": ERROR for name in broken}
    report = report_of(tree)
    assert [(gpu.slot, gpu.model) for gpu in report.gpus or ()] == [
        ("GPU1", "NVIDIA L40S"),
        ("GPU2", "NVIDIA L40S"),
        ("GPU3", None),
    ]
    assert [(nic.slot, [item.link for item in nic.ports]) for nic in report.nics or ()] == [
        ("N1", ["infiniband", None]),
        ("N2", []),
    ]


def test_no_gpu_among_devices_that_cannot_all_be_read_is_unknown_not_none() -> None:
    tree = with_members(with_members(machine(), SYS, "Processors", CPU), CH, "PCIeDevices", {"Id": "1"}, {"Id": "2"})
    assert report_of(tree).gpus == ()
    assert report_of({**tree, f"{CH}/PCIeDevices/2": ERROR}).gpus is None


def test_a_baseboard_that_cannot_be_read_leaves_gpus_unknown() -> None:
    tree = with_baseboard(with_members(machine(), SYS, "Processors", CPU), "HGX_Baseboard_0")
    with_members(tree, CH, "PCIeDevices", {"Id": "1"})
    assert report_of(tree).gpus == ()
    assert report_of({**tree, f"{ROOT}/Systems/HGX_Baseboard_0": ERROR}).gpus is None
