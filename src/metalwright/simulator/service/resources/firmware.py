"""UpdateService: what firmware is installed, and how it is updated."""

from __future__ import annotations

from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import ROOT
from metalwright.simulator.service.routes import Answer, Call, Route, link, listing
from metalwright.simulator.service.updates import push, simple_update, version_of

_PATH = f"{ROOT}/UpdateService"
_INVENTORY = f"{_PATH}/FirmwareInventory"
_SIMPLE = f"{_PATH}/Actions/UpdateService.SimpleUpdate"
_MULTIPART = f"{_PATH}/update-multipart"
_PUSH = f"{_PATH}/update"


def routes() -> list[Route]:
    """The inventory; updates by URL, by multipart push and by bare push."""
    return [
        Route(_PATH, read=_service),
        Route(_SIMPLE, create=_simple_update),
        Route(_MULTIPART, create=_push, takes_bytes=True),
        Route(_PUSH, create=_push, takes_bytes=True),
        listing(_INVENTORY, "SoftwareInventory", "Firmware", _known),
        Route(f"{_INVENTORY}/{{id}}", read=_item),
    ]


def _known(call: Call) -> list[str]:
    return sorted(call.bmc.spec.firmware)


def _service(_call: Call) -> Json:
    return {
        "@odata.id": _PATH,
        "@odata.type": "#UpdateService.v1_14_1.UpdateService",
        "Id": "UpdateService",
        "Name": "Update service",
        "ServiceEnabled": True,
        "Status": {"State": "Enabled", "Health": "OK"},
        "HttpPushUri": _PUSH,
        "MultipartHttpPushUri": _MULTIPART,
        "FirmwareInventory": link(_INVENTORY),
        "Actions": {
            "#UpdateService.SimpleUpdate": {
                "target": _SIMPLE,
                "TransferProtocol@Redfish.AllowableValues": ["HTTP", "HTTPS"],
            }
        },
    }


async def _simple_update(call: Call) -> Answer:
    return await simple_update(call, _known(call))


async def _push(call: Call) -> Answer:
    return await push(call, _known(call))


def _item(call: Call) -> Json:
    name = call.params["id"]
    version = version_of(call.bmc, name, call.bmc.spec.firmware.get(name))
    if version is None:
        raise refuse("ResourceMissingAtURI", call.path)
    return {
        "@odata.id": f"{_INVENTORY}/{name}",
        "@odata.type": "#SoftwareInventory.v1_11_0.SoftwareInventory",
        "Id": name,
        "Name": f"{name} firmware",
        "Version": version,
        "Updateable": True,
        "Status": {"State": "Enabled", "Health": "OK"},
    }
