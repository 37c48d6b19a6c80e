"""Processors and memory of the system."""

from __future__ import annotations

from metalwright.simulator.service.answers import Json
from metalwright.simulator.service.bmc import SYSTEM
from metalwright.simulator.service.routes import Call, Route, listing

_OK = {"State": "Enabled", "Health": "OK"}


def routes() -> list[Route]:
    """One socket, one module."""
    return [
        listing(f"{SYSTEM}/Processors", "Processor", "Processors", ["CPU1"]),
        Route(f"{SYSTEM}/Processors/CPU1", read=_processor),
        listing(f"{SYSTEM}/Memory", "Memory", "Memory modules", ["DIMM1"]),
        Route(f"{SYSTEM}/Memory/DIMM1", read=_dimm),
    ]


def _processor(call: Call) -> Json:
    return {
        "@odata.id": f"{SYSTEM}/Processors/CPU1",
        "@odata.type": "#Processor.v1_20_0.Processor",
        "Id": "CPU1",
        "Name": "Processor 1",
        "Socket": "CPU1",
        "ProcessorType": "CPU",
        "ProcessorArchitecture": "x86",
        "InstructionSet": "x86-64",
        "Manufacturer": "metalwright",
        "Model": "LAB CPU",
        "MaxSpeedMHz": 2000,
        "TotalCores": call.bmc.spec.cpus,
        "TotalThreads": call.bmc.spec.cpus,
        "Status": _OK,
    }


def _dimm(call: Call) -> Json:
    return {
        "@odata.id": f"{SYSTEM}/Memory/DIMM1",
        "@odata.type": "#Memory.v1_20_0.Memory",
        "Id": "DIMM1",
        "Name": "Memory module 1",
        "DeviceLocator": "DIMM1",
        "MemoryType": "DRAM",
        "MemoryDeviceType": "DDR4",
        "BaseModuleType": "RDIMM",
        "CapacityMiB": call.bmc.spec.memory_mib,
        "OperatingSpeedMhz": 3200,
        "Manufacturer": "metalwright",
        "PartNumber": "LAB-DIMM",
        "SerialNumber": f"{call.bmc.spec.serial}-DIMM1",
        "Status": _OK,
    }
