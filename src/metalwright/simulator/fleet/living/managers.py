"""Managers: clock, reset, protocols, and the BMC's own address."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from metalwright.simulator.fleet.living.own import has, keep, own
from metalwright.simulator.fleet.living.systems import allowed_values
from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.resources import oem
from metalwright.simulator.service.routes import Answer, Call, Field, Patch
from metalwright.simulator.state import StaticAddress

if TYPE_CHECKING:
    from metalwright.simulator.fleet.binding import Bindings

_RESET = "#Manager.Reset"


def bind(bindings: Bindings, path: str, body: Json) -> None:
    """A clock that runs, and a reset that ends all sessions."""
    bindings.acts(body, _RESET, _reset(allowed_values(body, _RESET, "ResetType")))
    if "DateTime" in body:
        bindings.lives(path, _show_time)
        bindings.patches[path] = Patch({"DateTime": Field(str, check=_check_time)}, _set_time)


def _show_time(call: Call, body: Json) -> None:
    body["DateTime"] = call.bmc.system.now()


def _check_time(text: str) -> str | None:
    try:
        return None if datetime.fromisoformat(text).tzinfo is not None else "PropertyValueFormatError"
    except ValueError:
        return "PropertyValueFormatError"


async def _set_time(call: Call, values: Json) -> None:
    wanted = datetime.fromisoformat(values["DateTime"]).timestamp()
    call.bmc.state.manager.clock_offset_s = wanted - call.bmc.clock()


def _reset(allowed: list[str]) -> Any:
    async def reset(call: Call) -> Answer:
        kind = call.body.get("ResetType", "GracefulRestart")
        if allowed and kind not in allowed:
            raise refuse("ActionParameterValueNotInList", str(kind), "ResetType", "Manager.Reset")
        call.bmc.gate.sessions.clear()
        return Answer(status=204)

    return reset


def bind_protocol(bindings: Bindings, path: str, body: Json) -> None:
    """Every protocol that is listed can be switched; NTP takes servers."""
    fields = {f"{name}.ProtocolEnabled": Field(bool) for name in body if has(body, f"{name}.ProtocolEnabled")}
    if has(body, "NTP.NTPServers"):
        fields["NTP.NTPServers"] = Field(list)
    if "HostName" in body:
        fields["HostName"] = Field(str)
    if not has(body, "Oem.Hpe.RemoteSyslogServer"):
        bindings.patches[path] = keep(path, fields)
        return

    def show(call: Call, body: Json) -> None:
        body["Oem"]["Hpe"].update(oem.hpe_members(call))

    async def change(call: Call, values: Json) -> None:
        oem.set_hpe(call, values)
        own(call).change(path, values)

    bindings.lives(path, show)
    bindings.patches[path] = Patch({**fields, **oem.HPE_FIELDS}, change)


def bind_interface(bindings: Bindings, path: str, body: Json) -> None:
    """The first interface of a manager that is a real port shows the address in force and can be moved."""
    if "/Managers/" not in path or "usb" in path.lower() or any("/Managers/" in done for done in bindings.moved):
        return
    bindings.moved.append(path)
    bindings.lives(path, _show_address)
    fields: dict[str, Field] = {"IPv4StaticAddresses": Field(list), "DHCPv4.DHCPEnabled": Field(bool)}
    if "HostName" in body:
        fields["HostName"] = Field(str)
    bindings.patches[path] = Patch(fields, _mover(path))


def _show_address(call: Call, body: Json) -> None:
    manager = call.bmc.state.manager
    body["IPv4Addresses"] = call.bmc.addresses()
    body["IPv4StaticAddresses"] = [
        {"Address": entry.address, "SubnetMask": entry.netmask, "Gateway": entry.gateway} for entry in manager.static
    ]
    if isinstance(body.get("DHCPv4"), dict):
        body["DHCPv4"]["DHCPEnabled"] = manager.dhcp


def _mover(path: str) -> Any:
    async def move(call: Call, values: Json) -> None:
        bmc = own(call)
        manager, old = bmc.state.manager, bmc.address
        if "IPv4StaticAddresses" in values:
            manager.static = [_static(entry) for entry in values.pop("IPv4StaticAddresses")]
            manager.dhcp = not manager.static
        manager.dhcp = values.pop("DHCPv4.DHCPEnabled", manager.dhcp)
        bmc.change(path, values)
        if bmc.address != old and bmc.mover is not None:
            await bmc.mover.move(bmc.address)
            bmc.system.log.add("AddressChanged", old, bmc.address)

    return move


def _static(entry: Json) -> StaticAddress:
    return StaticAddress(
        address=entry["Address"],
        netmask=entry.get("SubnetMask", "255.255.255.0"),
        gateway=entry.get("Gateway") or "0.0.0.0",  # noqa: S104 - "no gateway" in Redfish
    )
