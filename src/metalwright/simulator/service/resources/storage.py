"""Storage subsystem and its drives."""

from __future__ import annotations

from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import CHASSIS, SYSTEM
from metalwright.simulator.service.routes import Call, Route, link, listing

_STORAGE = f"{SYSTEM}/Storage"
_OK = {"State": "Enabled", "Health": "OK"}


def routes() -> list[Route]:
    """One storage subsystem that holds all drives."""
    return [
        listing(_STORAGE, "Storage", "Storage", ["1"]),
        Route(f"{_STORAGE}/1", read=_storage),
        Route(f"{_STORAGE}/1/Drives/{{number}}", read=_drive),
    ]


def _storage(call: Call) -> Json:
    drives = [link(f"{_STORAGE}/1/Drives/{number}") for number, _ in enumerate(call.bmc.spec.disks, 1)]
    return {
        "@odata.id": f"{_STORAGE}/1",
        "@odata.type": "#Storage.v1_17_1.Storage",
        "Id": "1",
        "Name": "Local storage",
        "Status": _OK,
        "Drives": drives,
        "Drives@odata.count": len(drives),
        "Links": {"Enclosures": [link(CHASSIS)]},
    }


def _drive(call: Call) -> Json:
    number = call.params["number"]
    disks = {str(position): disk for position, disk in enumerate(call.bmc.spec.disks, 1)}
    if number not in disks:
        raise refuse("ResourceMissingAtURI", call.path)
    disk = disks[number]
    return {
        "@odata.id": f"{_STORAGE}/1/Drives/{number}",
        "@odata.type": "#Drive.v1_20_0.Drive",
        "Id": number,
        "Name": f"Drive {number}",
        "Manufacturer": "metalwright",
        "Model": disk.model,
        "SerialNumber": disk.serial,
        "CapacityBytes": disk.size_bytes,
        "BlockSizeBytes": 512,
        "Protocol": disk.protocol,
        "MediaType": "SSD",
        "PhysicalLocation": {"PartLocation": {"ServiceLabel": f"Bay {number}", "LocationType": "Bay"}},
        "Status": _OK,
        "Links": {"Chassis": link(CHASSIS)},
    }
