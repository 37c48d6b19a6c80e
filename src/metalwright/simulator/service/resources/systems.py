"""The computer system: identity, power, boot."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from metalwright.simulator.boot import CD, DISK_PREFIX
from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import CHASSIS, MANAGER, ROOT, SYSTEM
from metalwright.simulator.service.routes import Answer, Call, Field, Patch, Route, collection, link, listing
from metalwright.simulator.service.updates import version_of
from metalwright.simulator.state import BootOverride
from metalwright.simulator.system import RESET_TYPES, SystemStateError

_TARGETS = ("None", "Cd", "Hdd", "UefiHttp", "Pxe")
_RESET = f"{SYSTEM}/Actions/ComputerSystem.Reset"


def routes() -> list[Route]:
    """The system, its boot options and its reset action."""
    fields = {
        "LocationIndicatorActive": Field(bool),
        "AssetTag": Field(str, check=lambda text: "StringValueTooLong" if len(text) > 64 else None),
        "Boot.BootSourceOverrideTarget": Field(str, _TARGETS),
        "Boot.HttpBootUri": Field(str),
        "Boot.BootSourceOverrideEnabled": Field(str, ("Disabled", "Once", "Continuous")),
        "Boot.BootSourceOverrideMode": Field(str, ("UEFI",)),
        "Boot.BootOrder": Field(list),
    }
    return [
        listing(f"{ROOT}/Systems", "ComputerSystem", "Systems", ["1"]),
        Route(SYSTEM, read=_system, patch=Patch(fields, _change)),
        Route(_RESET, create=_reset),
        Route(f"{SYSTEM}/BootOptions", read=_options),
        Route(f"{SYSTEM}/BootOptions/{{id}}", read=_option),
    ]


def _system(call: Call) -> Json:
    spec, state = call.bmc.spec, call.bmc.state
    return {
        "@odata.id": SYSTEM,
        "@odata.type": "#ComputerSystem.v1_22_0.ComputerSystem",
        "Id": "1",
        "Name": "System",
        "SystemType": "Physical",
        "Manufacturer": spec.manufacturer,
        "Model": spec.model,
        "SKU": spec.sku,
        "PartNumber": spec.part_number,
        "SerialNumber": spec.serial,
        "UUID": spec.uuid,
        "AssetTag": state.asset_tag,
        "LocationIndicatorActive": state.is_located,
        "HostName": "",
        "BiosVersion": version_of(call.bmc, "BIOS", spec.firmware.get("BIOS")),
        "PowerState": call.bmc.system.power_state,
        "PowerRestorePolicy": "AlwaysOff",
        "LastResetTime": state.last_reset_at,
        "Status": {"State": "Enabled", "Health": "OK"},
        "BootProgress": {"LastState": call.bmc.system.boot_progress},
        "Boot": _boot(state.override, state.boot_order, spec.bmc.boot_targets),
        "SerialConsole": {"IPMI": {"ServiceEnabled": False}, "MaxConcurrentSessions": 1},
        "MemorySummary": {"TotalSystemMemoryGiB": spec.memory_mib / 1024},
        "ProcessorSummary": {"Count": 1, "CoreCount": spec.cpus, "Model": "LAB CPU"},
        "Bios": link(f"{SYSTEM}/Bios"),
        "Processors": link(f"{SYSTEM}/Processors"),
        "Memory": link(f"{SYSTEM}/Memory"),
        "Storage": link(f"{SYSTEM}/Storage"),
        "EthernetInterfaces": link(f"{SYSTEM}/EthernetInterfaces"),
        "LogServices": link(f"{SYSTEM}/LogServices"),
        "VirtualMedia": link(f"{SYSTEM}/VirtualMedia"),
        "PCIeDevices": [link(f"{CHASSIS}/PCIeDevices/{i}") for i, _ in enumerate(spec.nics, 1)],
        "Links": {"Chassis": [link(CHASSIS)], "ManagedBy": [link(MANAGER)]},
        "Actions": {
            "#ComputerSystem.Reset": {"target": _RESET, "ResetType@Redfish.AllowableValues": list(RESET_TYPES)}
        },
    }


def _boot(override: BootOverride, order: list[str], targets: tuple[str, ...]) -> Json:
    shown = {"HttpBootUri": override.http_uri} if "UefiHttp" in targets else {}
    return {
        **shown,
        "BootSourceOverrideTarget": override.target,
        "BootSourceOverrideEnabled": override.enabled,
        "BootSourceOverrideMode": override.mode,
        "BootSourceOverrideTarget@Redfish.AllowableValues": list(targets),
        "BootOrder": [_reference(device, order) for device in order],
        "BootOptions": link(f"{SYSTEM}/BootOptions"),
    }


def _reference(device: str, order: list[str]) -> str:
    return f"Boot{sorted(order).index(device):04X}"


async def _change(call: Call, values: Json) -> None:
    state = call.bmc.state
    if "Boot.BootOrder" in values:
        state.boot_order = _parse_order(values["Boot.BootOrder"], state.boot_order)
    target = values.get("Boot.BootSourceOverrideTarget")
    enabled = values.get("Boot.BootSourceOverrideEnabled")
    if target is not None and target not in call.bmc.spec.bmc.boot_targets:
        raise refuse(
            "PropertyValueNotInList", target, "BootSourceOverrideTarget", about="Boot/BootSourceOverrideTarget"
        )
    override = state.override.model_copy()
    override.http_uri = _http_uri(call, values)
    if target is not None:
        override.target = target
        override.enabled = "Disabled" if target == "None" else override.enabled
    if enabled is not None:
        override.enabled = enabled
    elif target not in (None, "None") and override.enabled == "Disabled":
        override.enabled = "Once"
    if override.enabled == "Disabled":
        override.target = "None"
    elif override.target == "None":
        override.enabled = "Disabled"
    state.override = override
    state.is_located = values.get("LocationIndicatorActive", state.is_located)
    state.asset_tag = values.get("AssetTag", state.asset_tag)
    call.bmc.system.save()


def _http_uri(call: Call, values: Json) -> str:
    """The URL of HTTP boot as it will be; a BMC without that target has no such property."""
    uri = values.get("Boot.HttpBootUri")
    if uri is None:
        return call.bmc.state.override.http_uri
    if "UefiHttp" not in call.bmc.spec.bmc.boot_targets:
        raise refuse("PropertyUnknown", "HttpBootUri", about="Boot/HttpBootUri")
    if uri and urlsplit(uri).scheme not in ("http", "https"):
        raise refuse("PropertyValueFormatError", uri, "HttpBootUri", about="Boot/HttpBootUri")
    return str(uri)


def _parse_order(wanted: list[Any], order: list[str]) -> list[str]:
    devices = {_reference(device, order): device for device in order}
    if sorted(map(str, wanted)) != sorted(devices):
        raise refuse("PropertyValueNotInList", str(wanted), "BootOrder", about="Boot/BootOrder")
    return [devices[reference] for reference in wanted]


async def _reset(call: Call) -> Answer:
    kind = call.body.get("ResetType", "On")
    if not isinstance(kind, str):
        raise refuse("ActionParameterValueTypeError", str(kind), "ResetType", "ComputerSystem.Reset")
    for name in call.body:
        if name != "ResetType":
            raise refuse("ActionParameterUnknown", "ComputerSystem.Reset", name)
    if kind not in RESET_TYPES:
        raise refuse("ActionParameterValueNotInList", kind, "ResetType", "ComputerSystem.Reset")
    try:
        await call.bmc.system.reset(kind)
    except SystemStateError:
        raise refuse("ResourceInStandby") from None
    return Answer(status=204)


def _options(call: Call) -> Json:
    order = call.bmc.state.boot_order
    members = sorted(_reference(device, order) for device in order)
    return collection(f"{SYSTEM}/BootOptions", "BootOption", "Boot options", members)


def _option(call: Call) -> Json:
    order = call.bmc.state.boot_order
    for device in order:
        if _reference(device, order) == call.params["id"]:
            return {
                "@odata.id": f"{SYSTEM}/BootOptions/{call.params['id']}",
                "@odata.type": "#BootOption.v1_0_6.BootOption",
                "Id": call.params["id"],
                "Name": "Boot option",
                "BootOptionReference": call.params["id"],
                "BootOptionEnabled": True,
                "Alias": "Cd" if device == CD else "Hdd",
                "DisplayName": "Virtual CD" if device == CD else f"Disk {device.removeprefix(DISK_PREFIX)}",
            }
    raise refuse("ResourceMissingAtURI", call.path)
