"""GPUs, network adapters, drives, and the PCIe devices that they are."""

from __future__ import annotations

from metalwright.simulator.profiles.book import OK
from metalwright.simulator.profiles.machine import Drives, Gpus, Nics
from metalwright.simulator.profiles.render.frame import Frame, Json, numbered


def write(frame: Frame) -> None:
    """Everything in slots and bays."""
    if frame.data.gpus is not None and frame.style.gpus in ("processors", "pcie"):
        _gpus(frame, frame.data.gpus)
    if frame.data.nics:
        _adapters(frame)
    if frame.data.drives:
        _storage(frame)
    elif frame.data.system is not None:
        frame.book.collect(f"{frame.system}/Storage", "Storage", [])
    devices = f"{frame.chassis}/PCIeDevices"
    frame.book.collect(devices, "PCIeDevice", frame.pcie_devices)
    if frame.data.system is not None:
        frame.book.put(frame.system, PCIeDevices=frame.book.links(frame.pcie_devices))


def pcie_device(frame: Frame, name: str, body: Json, function: Json, *, chassis: str = "") -> str:
    """A PCIe device with one function; its path."""
    box = chassis or frame.chassis
    path, book = f"{box}/PCIeDevices/{name}", frame.book
    functions = f"{path}/PCIeFunctions"
    links = {"PCIeDevice": book.link(path)}
    book.add(
        f"{functions}/1",
        "PCIeFunction",
        f"{name} function",
        {"FunctionId": 1, "FunctionType": "Physical", "Status": OK, **function, "Links": links},
    )
    book.collect(functions, "PCIeFunction", [f"{functions}/1"])
    book.add(
        path,
        "PCIeDevice",
        name,
        {
            "DeviceType": "SingleFunction",
            "Status": OK,
            **body,
            "PCIeFunctions": book.link(functions),
            "Links": {"Chassis": [book.link(box)]},
        },
    )
    if not chassis:
        frame.pcie_devices.append(path)
    return path


def gpu_serial(number: int) -> str:
    """The serial of a GPU package, with the machine's code in it."""
    return f"16{{{{code}}}}{number:03d}"


def gpu_facts(gpus: Gpus, number: int) -> Json:
    """What a GPU says of itself, wherever it is."""
    return {
        "Manufacturer": gpus.manufacturer,
        "Model": gpus.model,
        "PartNumber": gpus.part_number,
        "SerialNumber": gpu_serial(number),
        "Status": OK,
    }


def gpu_function(gpus: Gpus) -> Json:
    """The PCIe function of a GPU."""
    return {
        "DeviceClass": "DisplayController" if gpus.vendor_id == "0x10de" else "ProcessingAccelerators",
        "VendorId": gpus.vendor_id,
        "DeviceId": gpus.device_id,
    }


def gpu_processor(gpus: Gpus, number: int) -> Json:
    """A GPU as a processor."""
    return {
        "ProcessorType": "GPU",
        "FirmwareVersion": gpus.firmware,
        **gpu_facts(gpus, number),
        "MemorySummary": {"TotalMemorySizeMiB": gpus.memory_gib * 1024},
        "ProcessorMemory": [
            {"IntegratedMemory": True, "MemoryType": "HBM3", "CapacityMiB": gpus.memory_gib * 1024},
        ],
    }


def _gpus(frame: Frame, gpus: Gpus) -> None:
    style, book = frame.style, frame.book
    for number in range(1, gpus.count + 1):
        slot = gpus.first_slot + number - 1
        name = numbered(style.gpu, slot)
        facts = {**gpu_facts(gpus, number), "FirmwareVersion": gpus.firmware}
        device = pcie_device(frame, name, facts, gpu_function(gpus))
        item = numbered(style.firmware_gpu, slot)
        frame.same_version.setdefault(item, []).append((device, "FirmwareVersion"))
        if style.gpus == "processors":
            path = book.add(f"{frame.system}/Processors/{name}", "Processor", name, gpu_processor(gpus, number))
            book.put(path, Links={"PCIeDevice": book.link(device), "Chassis": book.link(frame.chassis)})
            members = book.bodies[f"{frame.system}/Processors"]["Members"]
            members.append(book.link(path))
            book.put(f"{frame.system}/Processors", **{"Members@odata.count": len(members)})
            frame.same_version[item].append((path, "FirmwareVersion"))


def _adapters(frame: Frame) -> None:
    book, members, interfaces = frame.book, [], []
    for number, kind in frame.adapters():
        name = numbered(frame.style.adapter, number)
        path = f"{frame.chassis}/NetworkAdapters/{name}"
        device = pcie_device(
            frame,
            f"NIC{number}",
            {
                "Manufacturer": kind.manufacturer,
                "Model": kind.model,
                "PartNumber": kind.part_number,
                "SerialNumber": nic_serial(number),
                "FirmwareVersion": kind.firmware,
            },
            {"DeviceClass": "NetworkController", "VendorId": "0x15b3", "DeviceId": "0x1021"},
        )
        members.append(_adapter(frame, path, number, kind, device))
        if frame.data.system is not None:
            interfaces.append(_interface(frame, name, path))
    book.collect(f"{frame.chassis}/NetworkAdapters", "NetworkAdapter", members)
    if frame.data.system is not None:
        book.collect(f"{frame.system}/NetworkInterfaces", "NetworkInterface", interfaces)


def nic_serial(number: int) -> str:
    """The serial of a network adapter."""
    return f"MT{{{{code}}}}{number:02d}"


def _interface(frame: Frame, name: str, adapter: str) -> str:
    links = {"NetworkAdapter": frame.book.link(adapter)}
    path = f"{frame.system}/NetworkInterfaces/{name}"
    return frame.book.add(path, "NetworkInterface", f"Network interface {name}", {"Status": OK, "Links": links})


def _adapter(frame: Frame, path: str, number: int, kind: Nics, device: str) -> str:
    book, macs = frame.book, frame.port_macs()
    ports = [
        _port(frame, f"{path}/Ports/{numbered(frame.style.port, port)}", port, kind, macs[number, port])
        for port in range(1, kind.ports + 1)
    ]
    functions = [
        _function(frame, f"{path}/NetworkDeviceFunctions/{port}", kind, macs[number, port], ports[port - 1])
        for port in range(1, kind.ports + 1)
    ]
    book.collect(f"{path}/Ports", "Port", ports)
    book.collect(f"{path}/NetworkDeviceFunctions", "NetworkDeviceFunction", functions)
    controller = {
        "FirmwarePackageVersion": kind.firmware,
        "ControllerCapabilities": {"NetworkPortCount": kind.ports},
        "Links": {"PCIeDevices": [book.link(device)], "Ports": book.links(ports)},
    }
    return book.add(
        path,
        "NetworkAdapter",
        f"Network adapter {number}",
        {
            "Manufacturer": kind.manufacturer,
            "Model": kind.model,
            "PartNumber": kind.part_number,
            "SerialNumber": nic_serial(number),
            "Status": OK,
            "Ports": book.link(f"{path}/Ports"),
            "NetworkDeviceFunctions": book.link(f"{path}/NetworkDeviceFunctions"),
            "Controllers": [controller],
        },
    )


def _port(frame: Frame, path: str, port: int, kind: Nics, mac: str) -> str:
    body: Json = {
        "PortId": str(port),
        "PortProtocol": kind.link,
        "LinkNetworkTechnology": kind.link,
        "MaxSpeedGbps": kind.speed_gbps,
        "CurrentSpeedGbps": kind.speed_gbps,
        "LinkStatus": "LinkUp",
        "Status": OK,
    }
    if kind.link == "Ethernet":
        body["Ethernet"] = {"AssociatedMACAddresses": [mac]}
    else:
        body["InfiniBand"] = {"AssociatedPortGUIDs": [_guid(mac)]}
    return frame.book.add(path, "Port", f"Port {port}", body)


def _function(frame: Frame, path: str, kind: Nics, mac: str, port: str) -> str:
    own: Json = {"Ethernet": {"MACAddress": mac, "PermanentMACAddress": mac}}
    if kind.link == "InfiniBand":
        own = {"InfiniBand": {"PermanentPortGUID": _guid(mac)}}
    body = {
        "NetDevFuncType": kind.link,
        "DeviceEnabled": True,
        "Status": OK,
        **own,
        "Links": {"PhysicalNetworkPortAssignment": frame.book.link(port)},
    }
    return frame.book.add(path, "NetworkDeviceFunction", "Network device function", body)


def _guid(mac: str) -> str:
    """The token of a port's GUID, from that of its MAC."""
    return mac.replace("MAC", "guid")


def drive_serial(number: int) -> str:
    """The serial of a drive."""
    return f"S6{{{{code}}}}{number:02d}"


def _storage(frame: Frame) -> None:
    book, style = frame.book, frame.style
    path = f"{frame.system}/Storage/{style.storage}"
    drives = [_drive(frame, path, number, kind) for number, kind in frame.drives()]
    book.collect(f"{frame.system}/Storage", "Storage", [path])
    book.add(
        path,
        "Storage",
        "Local storage",
        {
            "Status": OK,
            "Drives": book.links(drives),
            "Drives@odata.count": len(drives),
            "Volumes": book.link(f"{path}/Volumes"),
            "Links": {"Enclosures": [book.link(frame.chassis)]},
        },
    )
    book.collect(f"{path}/Volumes", "Volume", [])
    book.collect(f"{frame.chassis}/Drives", "Drive", drives)


def _drive(frame: Frame, storage: str, number: int, kind: Drives) -> str:
    style = frame.style
    bay = numbered(style.drive_bay, number)
    return frame.book.add(
        f"{storage}/Drives/{numbered(style.drive, number)}",
        "Drive",
        bay,
        {
            "Manufacturer": kind.manufacturer,
            "Model": kind.model,
            "SerialNumber": drive_serial(number),
            "Revision": kind.firmware,
            "CapacityBytes": kind.size_bytes,
            "BlockSizeBytes": 512,
            "Protocol": kind.protocol,
            "MediaType": kind.media,
            "PredictedMediaLifeLeftPercent": 100,
            "FailurePredicted": False,
            "PhysicalLocation": {"PartLocation": {"ServiceLabel": bay, "LocationType": "Bay"}},
            "Status": OK,
            "Links": {"Chassis": frame.book.link(frame.chassis)},
        },
    )
