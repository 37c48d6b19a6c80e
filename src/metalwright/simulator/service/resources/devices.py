"""PCIe devices of the chassis."""

from __future__ import annotations

from metalwright.simulator.service.answers import Json
from metalwright.simulator.service.bmc import CHASSIS, SYSTEM
from metalwright.simulator.service.resources.network_ports import find_nic
from metalwright.simulator.service.routes import Call, Route, collection, link

_PATH = f"{CHASSIS}/PCIeDevices"


def routes() -> list[Route]:
    """One device for each network port."""
    return [
        Route(_PATH, read=_devices),
        Route(f"{_PATH}/{{number}}", read=_device),
    ]


def _devices(call: Call) -> Json:
    numbers = [str(number) for number, _ in enumerate(call.bmc.spec.nics, 1)]
    return collection(_PATH, "PCIeDevice", "PCIe devices", numbers)


def _device(call: Call) -> Json:
    nic, number = find_nic(call), call.params["number"]
    return {
        "@odata.id": f"{_PATH}/{number}",
        "@odata.type": "#PCIeDevice.v1_15_0.PCIeDevice",
        "Id": number,
        "Name": f"PCIe device {number}",
        "Manufacturer": "metalwright",
        "Model": nic.model,
        "SerialNumber": f"{call.bmc.spec.serial}-NIC{number}",
        "DeviceType": "SingleFunction",
        "FirmwareVersion": call.bmc.spec.firmware.get(f"NIC{number}", "1.0.0"),
        "Status": {"State": "Enabled", "Health": "OK"},
        "Links": {"Chassis": [link(CHASSIS)]},
        "PCIeInterface": {"PCIeType": "Gen4", "LanesInUse": 8},
        "Slot": {"Location": {"PartLocation": {"ServiceLabel": f"Slot {number}", "LocationType": "Slot"}}},
        "Description": f"Network adapter of {SYSTEM}",
    }
