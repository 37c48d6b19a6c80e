"""The enclosure, and what vendors put beside it: backplane, HPE's device list."""

from __future__ import annotations

from metalwright.simulator.profiles.book import OK, ROOT
from metalwright.simulator.profiles.render.devices import gpu_serial
from metalwright.simulator.profiles.render.frame import Frame, Json


def write(frame: Frame) -> None:
    """The chassis and its assembly; the collection is complete after :mod:`power`."""
    book, facts, path = frame.book, frame.data.chassis, frame.chassis
    body: Json = {
        "ChassisType": facts.type,
        "Manufacturer": facts.manufacturer,
        "Model": facts.model,
        "PartNumber": facts.part_number,
        "SerialNumber": "C{{serial}}" if frame.data.system is not None else "{{serial}}",
        "AssetTag": "",
        "PowerState": "On",
        "HeightMm": facts.height_mm,
        frame.style.led: "Off" if frame.style.led == "IndicatorLED" else False,
        "Status": {**OK, "HealthRollup": "OK"},
        "PCIeDevices": book.link(f"{path}/PCIeDevices"),
        "Assembly": book.link(f"{path}/Assembly"),
        "Links": {"ComputerSystems": book.links(frame.systems), "ManagedBy": [book.link(frame.manager)]},
    }
    if frame.data.nics:
        body["NetworkAdapters"] = book.link(f"{path}/NetworkAdapters")
    if frame.data.drives:
        body["Drives"] = book.link(f"{path}/Drives")
    book.add(path, "Chassis", "Chassis", body)
    _assembly(frame)
    if frame.style.gpus == "hpe-devices":
        _hpe_devices(frame)
    if frame.data.drives:
        _backplane(frame)


def _assembly(frame: Frame) -> None:
    path = f"{frame.chassis}/Assembly"
    parts = [
        {
            "@odata.id": f"{path}{frame.style.slash}#/Assemblies/{number}",
            "MemberId": str(number),
            "Name": name,
            "Producer": frame.data.chassis.manufacturer,
            "Model": name,
            "PartNumber": f"{frame.data.chassis.part_number}-{number}",
            "SerialNumber": f"AS{{{{code}}}}{number}",
            "Status": OK,
        }
        for number, name in enumerate(("Mainboard", "Riser", "Front panel"))
    ]
    frame.book.add(path, "Assembly", "Assembly", {"Assemblies": parts, "Assemblies@odata.count": len(parts)})


def _backplane(frame: Frame) -> None:
    book, name = frame.book, f"{frame.style.chassis}.Backplane"
    path = f"{ROOT}/Chassis/{name}"
    links = {"ContainedBy": book.link(frame.chassis), "ManagedBy": [book.link(frame.manager)]}
    body = {"ChassisType": "StorageEnclosure", "Manufacturer": frame.data.chassis.manufacturer, "Status": OK}
    book.add(path, "Chassis", "Drive backplane", {**body, "Model": "Backplane", "Links": links})
    frame.more_chassis.append(path)


def _hpe_devices(frame: Frame) -> None:
    """iLO 5 lists GPUs here alone, with the baseboard and a switch that call themselves GPU as well."""
    gpus, book = frame.data.gpus, frame.book
    path = f"{frame.chassis}/Devices"
    members = []
    names = [(gpus.model, gpus.part_number, gpu_serial(n)) for n in range(1, gpus.count + 1)] if gpus else []
    names += [("HGX Baseboard", "P28777-001", "{{code}}900"), ("NVSwitch", "P28778-001", "{{code}}901")]
    for number, (name, part, serial) in enumerate(names, gpus.first_slot if gpus else 1):
        place = f"{path}/{number}"
        book.bodies[place] = {
            "@odata.id": f"{place}{frame.style.slash}",
            "@odata.type": "#HpeServerDevice.v2_1_0.HpeServerDevice",
            "Id": str(number),
            "Name": name,
            "DeviceType": "GPU",
            "Manufacturer": gpus.manufacturer if gpus else "",
            "PartNumber": part,
            "ProductPartNumber": part,
            "SerialNumber": serial,
            "Location": f"Slot {number}",
            "FirmwareVersion": {"Current": {"VersionString": gpus.firmware if gpus else ""}},
            "Status": OK,
        }
        members.append(place)
    book.bodies[path] = {
        "@odata.id": f"{path}{frame.style.slash}",
        "@odata.type": "#HpeServerDeviceCollection.HpeServerDeviceCollection",
        "Name": "Devices",
        "Members": book.links(members),
        "Members@odata.count": len(members),
    }
    book.put(frame.chassis, Oem={"Hpe": {"Links": {"Devices": book.link(path)}}})
