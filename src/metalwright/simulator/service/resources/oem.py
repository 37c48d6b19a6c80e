"""What makers put beside the standard: lockdown and remote syslog of the manager."""

from __future__ import annotations

from typing import Any

from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import MANAGER
from metalwright.simulator.service.resources import jobs
from metalwright.simulator.service.routes import Call, Field, Patch, Route, link

_SUPERMICRO = f"{MANAGER}/Oem/Supermicro/SysLockdown"
_DELL = f"{MANAGER}/Oem/Dell/DellAttributes/iDRAC.Embedded.1"
_STATES = ("Enabled", "Disabled")
_SERVERS = ("SysLog.1.Server1", "SysLog.1.Server2", "SysLog.1.Server3")


SUPERMICRO_FIELDS: dict[str, Field] = {"SysLockdownEnabled": Field(bool)}
DELL_FIELDS: dict[str, Field] = {
    "Attributes.Lockdown.1.SystemLockdown": Field(str, _STATES),
    "Attributes.SysLog.1.SysLogEnable": Field(str, _STATES),
    **{f"Attributes.{name}": Field(str) for name in _SERVERS},
}
HPE_FIELDS: dict[str, Field] = {"Oem.Hpe.RemoteSyslogEnabled": Field(bool), "Oem.Hpe.RemoteSyslogServer": Field(str)}


def routes() -> list[Route]:
    """The resources of every maker; a BMC of another one answers 404."""
    return [
        Route(
            _SUPERMICRO,
            read=_supermicro,
            patch=Patch(SUPERMICRO_FIELDS, set_supermicro),
            is_open_when_locked=True,
        ),
        Route(_DELL, read=_dell, patch=Patch(DELL_FIELDS, set_dell), is_open_when_locked=True),
    ]


def manager_links(call: Call) -> Json:
    """What the manager resource says about them: members to merge into it."""
    match call.bmc.spec.bmc.oem:
        case "supermicro":
            return {"Oem": {"Supermicro": {"SysLockdown": link(_SUPERMICRO)}}}
        case "dell":
            return {"Links": {"Oem": {"Dell": {"DellAttributes": [link(_DELL)], **jobs.manager_links(call)}}}}
    return {}


def protocol_members(call: Call) -> Json:
    """HPE's part of the network protocols."""
    if call.bmc.spec.bmc.oem != "hpe":
        return {}
    return {"Oem": {"Hpe": hpe_members(call)}}


def hpe_members(call: Call) -> Json:
    """HPE's members of the network protocols."""
    servers = call.bmc.state.manager.syslog_servers
    return {"RemoteSyslogEnabled": bool(servers), "RemoteSyslogServer": ";".join(servers)}


def set_hpe(call: Call, values: Json) -> None:
    """Apply HPE's part of a change of the network protocols."""
    server = values.pop("Oem.Hpe.RemoteSyslogServer", None)
    is_on = values.pop("Oem.Hpe.RemoteSyslogEnabled", None)
    if server is not None:
        call.bmc.state.manager.syslog_servers = [item for item in server.split(";") if item]
    if is_on is False:
        call.bmc.state.manager.syslog_servers = []


def _offered_by(call: Call, maker: str) -> None:
    if call.bmc.spec.bmc.oem != maker:
        raise refuse("ResourceMissingAtURI", call.path)


def _supermicro(call: Call) -> Json:
    _offered_by(call, "supermicro")
    return {
        "@odata.id": _SUPERMICRO,
        "@odata.type": "#SysLockdown.v1_0_0.SysLockdown",
        "Id": "SysLockdown",
        "Name": "System lockdown",
        **supermicro_members(call),
    }


def supermicro_members(call: Call) -> Json:
    """What Supermicro's resource shows."""
    return {"SysLockdownEnabled": call.bmc.state.manager.is_locked}


async def set_supermicro(call: Call, values: Json) -> None:
    """Lock or unlock."""
    call.bmc.state.manager.is_locked = values["SysLockdownEnabled"]
    call.bmc.system.save()


def _dell(call: Call) -> Json:
    _offered_by(call, "dell")
    return {
        "@odata.id": _DELL,
        "@odata.type": "#DellAttributes.v1_0_0.DellAttributes",
        "Id": "iDRAC.Embedded.1",
        "Name": "Attributes of the BMC",
        "Attributes": dell_attributes(call),
    }


def dell_attributes(call: Call) -> Json:
    """The attributes of Dell's resource."""
    manager = call.bmc.state.manager
    servers: dict[str, Any] = dict(zip(_SERVERS, [*manager.syslog_servers, "", "", ""], strict=False))
    return {
        "Lockdown.1.SystemLockdown": _STATES[not manager.is_locked],
        "SysLog.1.SysLogEnable": _STATES[not manager.syslog_servers],
        **servers,
    }


async def set_dell(call: Call, values: Json) -> None:
    """A locked BMC takes nothing but the end of its lockdown."""
    manager = call.bmc.state.manager
    wanted = {name.removeprefix("Attributes."): value for name, value in values.items()}
    lockdown = wanted.pop("Lockdown.1.SystemLockdown", None)
    if manager.is_locked and (wanted or lockdown != "Disabled"):
        raise refuse("IDRAC.2.8.LOCK")
    if lockdown is not None:
        manager.is_locked = lockdown == "Enabled"
    if wanted:
        manager.syslog_servers = [wanted[name] for name in _SERVERS if wanted.get(name)]
    call.bmc.system.save()
