"""UpdateService: what firmware is installed."""

from __future__ import annotations

from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import ROOT
from metalwright.simulator.service.routes import Call, Route, link, listing

_PATH = f"{ROOT}/UpdateService"
_INVENTORY = f"{_PATH}/FirmwareInventory"


def routes() -> list[Route]:
    """The inventory; updates are not offered."""
    return [
        Route(_PATH, read=_service),
        listing(
            _INVENTORY,
            "SoftwareInventory",
            "Firmware",
            lambda call: sorted(call.bmc.spec.firmware),
        ),
        Route(f"{_INVENTORY}/{{id}}", read=_item),
    ]


def _service(_call: Call) -> Json:
    return {
        "@odata.id": _PATH,
        "@odata.type": "#UpdateService.v1_14_1.UpdateService",
        "Id": "UpdateService",
        "Name": "Update service",
        "ServiceEnabled": False,
        "Status": {"State": "Enabled", "Health": "OK"},
        "FirmwareInventory": link(_INVENTORY),
    }


def _item(call: Call) -> Json:
    name = call.params["id"]
    version = call.bmc.spec.firmware.get(name)
    if version is None:
        raise refuse("ResourceMissingAtURI", call.path)
    return {
        "@odata.id": f"{_INVENTORY}/{name}",
        "@odata.type": "#SoftwareInventory.v1_11_0.SoftwareInventory",
        "Id": name,
        "Name": f"{name} firmware",
        "Version": version,
        "Updateable": False,
        "Status": {"State": "Enabled", "Health": "OK"},
    }
