"""The manager (BMC) itself: clock, protocols, its own address."""

from __future__ import annotations

import ipaddress
from datetime import datetime
from typing import Any

from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import CHASSIS, MANAGER, ROOT, SYSTEM
from metalwright.simulator.service.resources import oem
from metalwright.simulator.service.routes import Answer, Call, Field, Patch, Route, link, listing
from metalwright.simulator.service.updates import version_of
from metalwright.simulator.state import StaticAddress

_OK = {"State": "Enabled", "Health": "OK"}
_PORTS = f"{MANAGER}/EthernetInterfaces"
_PROTOCOL = f"{MANAGER}/NetworkProtocol"
_CERTIFICATES = f"{_PROTOCOL}/HTTPS/Certificates"
_RESET = f"{MANAGER}/Actions/Manager.Reset"


def routes() -> list[Route]:
    """The manager, its network and its reset action."""
    protocol_fields = {
        "HostName": Field(str),
        "NTP.ProtocolEnabled": Field(bool),
        "NTP.NTPServers": Field(list, check=_check_servers),
        "IPMI.ProtocolEnabled": Field(bool),
        "SSH.ProtocolEnabled": Field(bool),
        "HTTP.ProtocolEnabled": Field(bool),
        **oem.HPE_FIELDS,
    }
    port_fields = {
        "IPv4StaticAddresses": Field(list, check=_check_static),
        "DHCPv4.DHCPEnabled": Field(bool),
        "HostName": Field(str),
    }
    return [
        listing(f"{ROOT}/Managers", "Manager", "Managers", ["1"]),
        Route(MANAGER, read=_manager, patch=Patch({"DateTime": Field(str, check=_check_time)}, _set_time)),
        Route(_RESET, create=_reset),
        Route(_PROTOCOL, read=_protocol, patch=Patch(protocol_fields, _set_protocol)),
        listing(_PORTS, "EthernetInterface", "BMC network", _numbers),
        Route(f"{_PORTS}/1", read=_port, patch=Patch(port_fields, _set_port)),
        Route(f"{_PORTS}/{{number}}", read=_other_port),
    ]


def _manager(call: Call) -> Json:
    body = _standard_manager(call)
    for name, members in oem.manager_links(call).items():
        body[name] = {**body.get(name, {}), **members}
    return body


def _standard_manager(call: Call) -> Json:
    spec, bmc = call.bmc.spec, call.bmc
    return {
        "@odata.id": MANAGER,
        "@odata.type": "#Manager.v1_19_1.Manager",
        "Id": "1",
        "Name": "BMC",
        "ManagerType": "BMC",
        "Manufacturer": spec.bmc.manufacturer,
        "Model": spec.bmc.model,
        "FirmwareVersion": version_of(bmc, "BMC", spec.firmware.get("BMC")),
        "UUID": bmc.state.service_uuid,
        "ServiceEntryPointUUID": bmc.state.service_uuid,
        "DateTime": _clock(call),
        "DateTimeLocalOffset": "+00:00",
        "PowerState": "On",
        "Status": _OK,
        "NetworkProtocol": link(_PROTOCOL),
        "EthernetInterfaces": link(_PORTS),
        "LogServices": link(f"{MANAGER}/LogServices"),
        "Links": {"ManagerForServers": [link(SYSTEM)], "ManagerForChassis": [link(CHASSIS)]},
        "Actions": {
            "#Manager.Reset": {
                "target": _RESET,
                "ResetType@Redfish.AllowableValues": ["GracefulRestart", "ForceRestart"],
            }
        },
    }


def _clock(call: Call) -> str:
    """The BMC's time. NTP corrects it, where the machine has NTP; with the fault only after some reads."""
    bmc = call.bmc
    manager = bmc.state.manager
    is_wrong = manager.ntp_enabled and bmc.spec.bmc.is_clock_from_ntp and manager.clock_offset_s
    if is_wrong and bmc.system.faults.take("clock-behind-ntp") is None:
        manager.clock_offset_s = 0.0
        bmc.system.save()
    return bmc.system.now()


def _check_time(text: str) -> str | None:
    try:
        is_aware = datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return "PropertyValueFormatError"
    return None if is_aware else "PropertyValueFormatError"


async def _set_time(call: Call, values: Json) -> None:
    if call.bmc.state.manager.ntp_enabled and call.bmc.spec.bmc.is_clock_from_ntp:
        raise refuse("PropertyNotWritable", "DateTime", about="DateTime")
    wanted = datetime.fromisoformat(values["DateTime"]).timestamp()
    call.bmc.state.manager.clock_offset_s = wanted - call.bmc.clock()
    call.bmc.system.save()


async def _reset(call: Call) -> Answer:
    kind = call.body.get("ResetType", "GracefulRestart")
    if kind not in ("GracefulRestart", "ForceRestart"):
        raise refuse("ActionParameterValueNotInList", str(kind), "ResetType", "Manager.Reset")
    call.bmc.gate.sessions.clear()
    return Answer(status=204)


def _protocol(call: Call) -> Json:
    manager = call.bmc.state.manager
    return {
        "@odata.id": _PROTOCOL,
        "@odata.type": "#ManagerNetworkProtocol.v1_10_0.ManagerNetworkProtocol",
        "Id": "NetworkProtocol",
        "Name": "Network protocols of the BMC",
        "HostName": manager.hostname,
        "Status": _OK,
        "HTTPS": {"ProtocolEnabled": True, "Port": call.bmc.port, "Certificates": link(_CERTIFICATES)},
        "HTTP": {"ProtocolEnabled": manager.http_enabled, "Port": 80},
        "SSH": {"ProtocolEnabled": manager.ssh_enabled, "Port": 22},
        "IPMI": {"ProtocolEnabled": manager.ipmi_enabled, "Port": 623},
        "NTP": {"ProtocolEnabled": manager.ntp_enabled, "Port": 123, "NTPServers": manager.ntp_servers},
        **oem.protocol_members(call),
    }


def _check_servers(servers: list[Any]) -> str | None:
    return None if all(isinstance(server, str) for server in servers) else "PropertyValueTypeError"


async def _set_protocol(call: Call, values: Json) -> None:
    manager = call.bmc.state.manager
    names = {
        "HostName": "hostname",
        "NTP.ProtocolEnabled": "ntp_enabled",
        "NTP.NTPServers": "ntp_servers",
        "IPMI.ProtocolEnabled": "ipmi_enabled",
        "SSH.ProtocolEnabled": "ssh_enabled",
        "HTTP.ProtocolEnabled": "http_enabled",
    }
    oem.set_hpe(call, values)
    for name, value in values.items():
        setattr(manager, names[name], value)
    call.bmc.system.save()


def _numbers(call: Call) -> list[str]:
    return [str(number) for number, _ in enumerate(call.bmc.spec.bmc.macs, 1)]


def _port(call: Call) -> Json:
    bmc = call.bmc
    manager = bmc.state.manager
    return {
        "@odata.id": f"{_PORTS}/1",
        "@odata.type": "#EthernetInterface.v1_11_0.EthernetInterface",
        "Id": "1",
        "Name": "Dedicated management port",
        "MACAddress": bmc.spec.bmc.macs[0],
        "PermanentMACAddress": bmc.spec.bmc.macs[0],
        "InterfaceEnabled": True,
        "LinkStatus": "LinkUp",
        "HostName": manager.hostname,
        "DHCPv4": {"DHCPEnabled": manager.dhcp},
        "IPv4Addresses": bmc.addresses(),
        "IPv4StaticAddresses": [
            {"Address": entry.address, "SubnetMask": entry.netmask, "Gateway": entry.gateway}
            for entry in manager.static
        ],
        "Status": _OK,
    }


def _other_port(call: Call) -> Json:
    number = call.params["number"]
    if number not in _numbers(call):
        raise refuse("ResourceMissingAtURI", call.path)
    mac = call.bmc.spec.bmc.macs[int(number) - 1]
    return {
        "@odata.id": f"{_PORTS}/{number}",
        "@odata.type": "#EthernetInterface.v1_11_0.EthernetInterface",
        "Id": number,
        "Name": "Shared management port",
        "MACAddress": mac,
        "InterfaceEnabled": False,
        "Status": {"State": "Disabled"},
    }


def _check_static(entries: list[Any]) -> str | None:
    if len(entries) > 1:
        return "PropertyValueOutOfRange"
    for entry in entries:
        if not isinstance(entry, dict):
            return "PropertyValueTypeError"
        try:
            ipaddress.IPv4Address(entry.get("Address", ""))
            ipaddress.IPv4Network(f"0.0.0.0/{entry.get('SubnetMask', '255.255.255.0')}")
            ipaddress.IPv4Address(entry.get("Gateway", "0.0.0.0"))  # noqa: S104 - "no gateway" in Redfish
        except ValueError:
            return "PropertyValueFormatError"
    return None


async def _set_port(call: Call, values: Json) -> None:
    bmc = call.bmc
    old, before = bmc.address, bmc.state.manager.model_copy(deep=True)
    manager = bmc.state.manager
    manager.hostname = values.get("HostName", manager.hostname)
    if "IPv4StaticAddresses" in values:
        manager.static = [_static(entry) for entry in values["IPv4StaticAddresses"]]
        manager.dhcp = not manager.static
    manager.dhcp = values.get("DHCPv4.DHCPEnabled", manager.dhcp)
    try:
        await _move(call, old)
    except OSError as error:
        bmc.state.manager = before
        raise refuse(
            "PropertyValueFormatError", f"{error.strerror}", "IPv4StaticAddresses", about="IPv4StaticAddresses"
        ) from error
    bmc.system.save()


async def _move(call: Call, old: str) -> None:
    bmc = call.bmc
    if bmc.address == old or bmc.mover is None:
        return
    if bmc.system.faults.take("address-ignored") is not None:
        bmc.state.manager.static, bmc.state.manager.dhcp = [], True
        return
    await bmc.mover.move(bmc.address)
    bmc.system.log.add("AddressChanged", old, bmc.address)


def _static(entry: Json) -> StaticAddress:
    return StaticAddress(
        address=entry["Address"],
        netmask=entry.get("SubnetMask", "255.255.255.0"),
        gateway=entry.get("Gateway", "0.0.0.0"),  # noqa: S104 - "no gateway" in Redfish
    )
