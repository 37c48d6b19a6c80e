"""The host system: identity, boot, processors, memory, interfaces."""

from __future__ import annotations

from metalwright.simulator.profiles.book import ABSENT, OK
from metalwright.simulator.profiles.machine import Cpus, Dimms, SystemFacts
from metalwright.simulator.profiles.render.frame import Frame, Json, numbered

_BOOT = ("UEFI PXE IPv4", "UEFI HTTP IPv4", "Operating system disk 1", "Operating system disk 2", "Virtual CD")


def write(frame: Frame) -> None:
    """Everything directly under the system."""
    data = frame.data
    if data.system is None or data.cpus is None or data.dimms is None:
        return
    _system(frame, data.system, data.cpus, data.dimms)
    _processors(frame, data.cpus)
    _memory(frame, data.cpus, data.dimms)
    _interfaces(frame)
    _boot_options(frame)
    book, log = frame.book, f"{frame.system}/LogServices"
    book.collect(log, "LogService", [f"{log}/{frame.style.system_log}"])
    write_log(frame, f"{log}/{frame.style.system_log}", "SEL")


def write_log(frame: Frame, path: str, kind: str) -> None:
    """A log service that can be cleared, with entries that live."""
    book = frame.book
    entries = book.collect(f"{path}/Entries", "LogEntry", [])
    book.add(
        path,
        "LogService",
        "Event log",
        {
            "Status": OK,
            "ServiceEnabled": True,
            "LogEntryType": kind,
            "OverWritePolicy": "WrapsWhenFull",
            "MaxNumberOfRecords": 1000,
            "Entries": book.link(entries),
            "Actions": {"#LogService.ClearLog": {"target": f"{path}/Actions/LogService.ClearLog"}},
        },
    )


def _system(frame: Frame, facts: SystemFacts, cpus: Cpus, dimms: Dimms) -> None:
    book, style, path = frame.book, frame.style, frame.system
    links = {name: book.link(f"{path}/{name}") for name in _subordinates(frame)}
    if style.media.owner == "Systems":
        links["VirtualMedia"] = book.link(f"{path}/VirtualMedia")
    body: Json = {
        "SystemType": "Physical",
        "Manufacturer": facts.manufacturer,
        "Model": facts.model,
        "SKU": facts.sku,
        "PartNumber": facts.part_number,
        "SerialNumber": "{{serial}}",
        "UUID": "{{uuid}}",
        "AssetTag": "",
        "HostName": "",
        "BiosVersion": facts.bios_version,
        "PowerState": "Off",
        "PowerRestorePolicy": "LastState",
        "LastResetTime": "2026-01-01T00:00:00Z",
        "BootProgress": {"LastState": "None"},
        "Status": {**OK, "HealthRollup": "OK"},
        style.led: "Off" if style.led == "IndicatorLED" else False,
        "MemorySummary": {"TotalSystemMemoryGiB": dimms.count * dimms.size_gib, "Status": OK},
        "ProcessorSummary": {
            "Count": cpus.count,
            "CoreCount": cpus.count * cpus.cores,
            "LogicalProcessorCount": cpus.count * cpus.threads,
            "Model": cpus.model,
            "Status": OK,
        },
        "Boot": _boot(frame),
        "Bios": book.link(f"{path}/{style.bios}"),
        **links,
        "PCIeDevices": [],
        "Links": {"Chassis": [book.link(frame.chassis)], "ManagedBy": [book.link(frame.manager)]},
        "Actions": {
            "#ComputerSystem.Reset": {
                "target": f"{path}/Actions/ComputerSystem.Reset",
                "ResetType@Redfish.AllowableValues": list(style.reset_types),
            }
        },
    }
    if style.consoles.system:
        body["SerialConsole"] = {"MaxConcurrentSessions": 1, **style.consoles.system}
    book.add(path, "ComputerSystem", "System", body)
    frame.same_version.setdefault(numbered(style.firmware_bios, 1), []).append((path, "BiosVersion"))


def _subordinates(frame: Frame) -> list[str]:
    names = ["Processors", "Memory", "Storage", "EthernetInterfaces", "NetworkInterfaces", "LogServices", "SecureBoot"]
    return names if frame.data.nics else [name for name in names if name != "NetworkInterfaces"]


def _boot(frame: Frame) -> Json:
    style = frame.style
    return {
        "BootSourceOverrideTarget": "None",
        "BootSourceOverrideEnabled": "Disabled",
        "BootSourceOverrideMode": "UEFI",
        "BootSourceOverrideTarget@Redfish.AllowableValues": list(style.boot_targets),
        "BootOrder": [f"Boot{number:04X}" for number in range(len(_BOOT))],
        "BootOptions": frame.book.link(f"{frame.system}/BootOptions"),
    }


def _boot_options(frame: Frame) -> None:
    book, path = frame.book, f"{frame.system}/BootOptions"
    for number, name in enumerate(_BOOT):
        reference = f"Boot{number:04X}"
        body = {"BootOptionReference": reference, "DisplayName": name, "BootOptionEnabled": True}
        book.add(f"{path}/{reference}", "BootOption", "Boot option", body)
    book.collect(path, "BootOption", [f"{path}/Boot{number:04X}" for number in range(len(_BOOT))])
    book.add(
        f"{frame.system}/SecureBoot",
        "SecureBoot",
        "UEFI Secure Boot",
        {"SecureBootEnable": False, "SecureBootCurrentBoot": "Disabled", "SecureBootMode": "UserMode"},
    )


def _processors(frame: Frame, cpus: Cpus) -> None:
    book, path = frame.book, f"{frame.system}/Processors"
    members = []
    for number in range(1, cpus.count + 1):
        body = {
            "ProcessorType": "CPU",
            "Socket": numbered(frame.style.cpu_socket, number),
            "Manufacturer": cpus.manufacturer,
            "Model": cpus.model,
            "ProcessorArchitecture": cpus.architecture,
            "InstructionSet": "ARM-A64" if cpus.architecture == "ARM" else "x86-64",
            "MaxSpeedMHz": cpus.max_mhz,
            "TotalCores": cpus.cores,
            "TotalEnabledCores": cpus.cores,
            "TotalThreads": cpus.threads,
            "SerialNumber": f"CP{{{{code}}}}{number:02d}",
            "Status": OK,
            "Links": {"Chassis": book.link(frame.chassis)},
        }
        members.append(book.add(f"{path}/{numbered(frame.style.cpu, number)}", "Processor", "Processor", body))
    book.collect(path, "Processor", members)


def _memory(frame: Frame, cpus: Cpus, dimms: Dimms) -> None:
    book, path, members = frame.book, f"{frame.system}/Memory", []
    for place in frame.dimm_places(cpus, dimms):
        locator = frame.style.dimm_locator.format(**place)
        where = {
            "DeviceLocator": locator,
            "MemoryLocation": {"Socket": place["socket"] - 1, "Slot": place["inner"] - 1},
        }
        body = {**where, **_module(dimms, place["n"])} if place["n"] <= dimms.count else {**where, **_empty()}
        members.append(book.add(f"{path}/{frame.style.dimm.format(**place)}", "Memory", locator, body))
    book.collect(path, "Memory", members)


def _module(dimms: Dimms, number: int) -> Json:
    return {
        "MemoryType": "DRAM",
        "MemoryDeviceType": dimms.type,
        "BaseModuleType": "RDIMM",
        "ErrorCorrection": "MultiBitECC",
        "CapacityMiB": dimms.size_gib * 1024,
        "OperatingSpeedMhz": dimms.speed_mts,
        "AllowedSpeedsMHz": [dimms.speed_mts],
        "RankCount": 2,
        "DataWidthBits": 64,
        "BusWidthBits": 80,
        "Manufacturer": dimms.manufacturer,
        "PartNumber": dimms.part_number,
        "SerialNumber": f"DM{{{{code}}}}{number:02d}",
        "Status": OK,
    }


def _empty() -> Json:
    return {"CapacityMiB": 0, "Status": ABSENT}


def _interfaces(frame: Frame) -> None:
    book, path, members = frame.book, f"{frame.system}/EthernetInterfaces", []
    macs = frame.port_macs()
    number = 0
    for adapter, kind in frame.adapters():
        for port in range(1, kind.ports + 1) if kind.onboard else ():
            number += 1
            body = {
                "MACAddress": macs[adapter, port],
                "PermanentMACAddress": macs[adapter, port],
                "SpeedMbps": kind.speed_gbps * 1000,
                "LinkStatus": "LinkUp" if port == 1 else "LinkDown",
                "InterfaceEnabled": True,
                "Status": OK,
            }
            member = f"{path}/{numbered(frame.style.interface, number)}"
            members.append(book.add(member, "EthernetInterface", f"Ethernet interface {number}", body))
    book.collect(path, "EthernetInterface", members)
