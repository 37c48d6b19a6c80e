"""A GPU baseboard with a system, chassis and a BMC of its own (NVIDIA HGX)."""

from __future__ import annotations

from metalwright.simulator.profiles.book import OK, ROOT
from metalwright.simulator.profiles.machine import Cpus, Gpus
from metalwright.simulator.profiles.render.devices import gpu_facts, gpu_function, gpu_processor, pcie_device
from metalwright.simulator.profiles.render.frame import Frame, numbered

NAME = "HGX_Baseboard_0"


def write(frame: Frame) -> None:
    """GPUs as processors of the second system, as chassis, and as PCIe devices of these chassis."""
    gpus, cpus = frame.data.gpus, frame.data.cpus
    if gpus is None or cpus is None:
        return
    system = f"{ROOT}/Systems/{NAME}"
    processors = [_gpu(frame, system, gpus, number) for number in range(1, gpus.count + 1)]
    processors += [_cpu(frame, system, cpus, number) for number in range(1, cpus.count + 1)]
    book = frame.book
    book.collect(f"{system}/Processors", "Processor", processors)
    _memory(frame, system, gpus)
    chassis = _board_chassis(frame, system)
    book.add(
        system,
        "ComputerSystem",
        "GPU baseboard",
        {
            "SystemType": "Physical",
            "Manufacturer": gpus.manufacturer,
            "Model": f"{frame.data.chassis.model} baseboard",
            "SerialNumber": "HB{{code}}",
            "PowerState": "On",
            "Status": OK,
            "Processors": book.link(f"{system}/Processors"),
            "Memory": book.link(f"{system}/Memory"),
            "Links": {"Chassis": [book.link(chassis)], "ManagedBy": [book.link(f"{ROOT}/Managers/HGX_BMC_0")]},
        },
    )
    frame.more_systems.append(system)
    _manager(frame, system, chassis)


def _gpu(frame: Frame, system: str, gpus: Gpus, number: int) -> str:
    book, name = frame.book, numbered(frame.style.gpu, number)
    chassis = f"{ROOT}/Chassis/HGX_{name}"
    facts = {**gpu_facts(gpus, number), "FirmwareVersion": gpus.firmware}
    device = pcie_device(frame, name, facts, gpu_function(gpus), chassis=chassis)
    book.collect(f"{chassis}/PCIeDevices", "PCIeDevice", [device])
    book.add(
        chassis,
        "Chassis",
        f"GPU module {number}",
        {
            "ChassisType": "Module",
            **gpu_facts(gpus, number),
            "PCIeDevices": book.link(f"{chassis}/PCIeDevices"),
            "Links": {"ContainedBy": book.link(f"{ROOT}/Chassis/HGX_Chassis_0")},
        },
    )
    frame.more_chassis.append(chassis)
    links = {"PCIeDevice": book.link(device), "Chassis": [book.link(chassis)][0]}
    path = book.add(f"{system}/Processors/{name}", "Processor", name, {**gpu_processor(gpus, number), "Links": links})
    item = numbered(frame.style.firmware_gpu, number)
    frame.same_version.setdefault(item, []).extend([(path, "FirmwareVersion"), (device, "FirmwareVersion")])
    return path


def _cpu(frame: Frame, system: str, cpus: Cpus, number: int) -> str:
    """The host's processors once more, with the ids that the host gives them."""
    body = {
        "ProcessorType": "CPU",
        "Manufacturer": cpus.manufacturer,
        "Model": cpus.model,
        "TotalCores": cpus.cores,
        "TotalThreads": cpus.threads,
        "ProcessorArchitecture": cpus.architecture,
        "SerialNumber": f"CP{{{{code}}}}{number:02d}",
        "Status": OK,
    }
    return frame.book.add(f"{system}/Processors/{numbered(frame.style.cpu, number)}", "Processor", "Processor", body)


def _memory(frame: Frame, system: str, gpus: Gpus) -> None:
    """The GPUs' own memory: it is not the host's."""
    book, members = frame.book, []
    for number in range(1, gpus.count + 1):
        name = f"{numbered(frame.style.gpu, number)}_DRAM_0"
        body = {"MemoryType": "DRAM", "MemoryDeviceType": "HBM3", "CapacityMiB": gpus.memory_gib * 1024, "Status": OK}
        members.append(book.add(f"{system}/Memory/{name}", "Memory", name, body))
    book.collect(f"{system}/Memory", "Memory", members)


def _board_chassis(frame: Frame, system: str) -> str:
    book, path = frame.book, f"{ROOT}/Chassis/HGX_Chassis_0"
    links = {"ComputerSystems": [book.link(system)], "ContainedBy": book.link(frame.chassis)}
    body = {"ChassisType": "Module", "Manufacturer": "NVIDIA", "SerialNumber": "HB{{code}}", "Status": OK}
    book.add(path, "Chassis", "GPU baseboard", {**body, "Links": links})
    frame.more_chassis.append(path)
    return path


def _manager(frame: Frame, system: str, chassis: str) -> None:
    book, path = frame.book, f"{ROOT}/Managers/HGX_BMC_0"
    book.add(
        path,
        "Manager",
        "BMC of the GPU baseboard",
        {
            "ManagerType": "BMC",
            "Manufacturer": "NVIDIA",
            "Model": "HGX BMC",
            "FirmwareVersion": frame.data.firmware.get("HGX_FW_BMC_0", frame.data.bmc.firmware),
            "UUID": "{{uuid+2}}",
            "Status": OK,
            "Links": {"ManagerForServers": [book.link(system)], "ManagerForChassis": [book.link(chassis)]},
        },
    )
    frame.more_managers.append(path)
