"""Ethernet interfaces of the system; network adapters and their ports in the chassis."""

from __future__ import annotations

from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import CHASSIS, SYSTEM
from metalwright.simulator.service.routes import Call, Route, collection, link, listing
from metalwright.simulator.spec import NicSpec

_INTERFACES = f"{SYSTEM}/EthernetInterfaces"
_ADAPTERS = f"{CHASSIS}/NetworkAdapters"
_OK = {"State": "Enabled", "Health": "OK"}
_MODELS = {"virtio-net-pci": "LAB virtio 10G", "e1000e": "LAB e1000e 1G"}
_SPEEDS_MBPS = {"virtio-net-pci": 10000, "e1000e": 1000}


def routes() -> list[Route]:
    """One adapter with one port for every port of the spec."""
    return [
        listing(_INTERFACES, "EthernetInterface", "Interfaces", _numbers),
        Route(f"{_INTERFACES}/{{number}}", read=_interface),
        listing(_ADAPTERS, "NetworkAdapter", "Network adapters", _numbers),
        Route(f"{_ADAPTERS}/{{number}}", read=_adapter),
        Route(f"{_ADAPTERS}/{{number}}/Ports", read=_ports),
        Route(f"{_ADAPTERS}/{{number}}/Ports/1", read=_port),
    ]


def _numbers(call: Call) -> list[str]:
    return [str(number) for number, _ in enumerate(call.bmc.spec.nics, 1)]


def find_nic(call: Call) -> NicSpec:
    """The port whose number is in the path."""
    if call.params["number"] not in _numbers(call):
        raise refuse("ResourceMissingAtURI", call.path)
    return call.bmc.spec.nics[int(call.params["number"]) - 1]


def _interface(call: Call) -> Json:
    nic, number = find_nic(call), call.params["number"]
    return {
        "@odata.id": f"{_INTERFACES}/{number}",
        "@odata.type": "#EthernetInterface.v1_11_0.EthernetInterface",
        "Id": number,
        "Name": f"Ethernet interface {number}",
        "MACAddress": nic.mac,
        "PermanentMACAddress": nic.mac,
        "SpeedMbps": _SPEEDS_MBPS[nic.model],
        "LinkStatus": _link(call, "LinkUp", "LinkDown"),
        "InterfaceEnabled": True,
        "Status": _OK,
    }


def _link(call: Call, up: str, down: str) -> str:
    return up if call.bmc.system.power_state == "On" else down


def _adapter(call: Call) -> Json:
    nic, number = find_nic(call), call.params["number"]
    path = f"{_ADAPTERS}/{number}"
    return {
        "@odata.id": path,
        "@odata.type": "#NetworkAdapter.v1_11_0.NetworkAdapter",
        "Id": number,
        "Name": f"Network adapter {number}",
        "Manufacturer": "metalwright",
        "Model": _MODELS[nic.model],
        "SerialNumber": f"{call.bmc.spec.serial}-NIC{number}",
        "Status": _OK,
        "Ports": link(f"{path}/Ports"),
        "Controllers": [
            {
                "FirmwarePackageVersion": call.bmc.spec.firmware.get(f"NIC{number}", "1.0.0"),
                "ControllerCapabilities": {"NetworkPortCount": 1},
                "Links": {"PCIeDevices": [link(f"{CHASSIS}/PCIeDevices/{number}")], "Ports": [link(f"{path}/Ports/1")]},
            }
        ],
    }


def _ports(call: Call) -> Json:
    find_nic(call)
    return collection(f"{_ADAPTERS}/{call.params['number']}/Ports", "Port", "Ports", ["1"])


def _port(call: Call) -> Json:
    nic, number = find_nic(call), call.params["number"]
    return {
        "@odata.id": f"{_ADAPTERS}/{number}/Ports/1",
        "@odata.type": "#Port.v1_13_0.Port",
        "Id": "1",
        "Name": "Port 1",
        "PortId": "1",
        "PortType": "BidirectionalPort",
        "PortProtocol": "Ethernet",
        "CurrentSpeedGbps": _SPEEDS_MBPS[nic.model] / 1000,
        "LinkStatus": _link(call, "LinkUp", "LinkDown"),
        "LinkNetworkTechnology": "Ethernet",
        "Ethernet": {"AssociatedMACAddresses": [nic.mac]},
        "Status": _OK,
    }
