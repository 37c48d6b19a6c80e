"""The virtual CD drive; an inserted image is fetched at once."""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit

from metalwright.simulator.service.answers import Json, Refusal, refuse
from metalwright.simulator.service.bmc import SYSTEM
from metalwright.simulator.service.fetching import fetch
from metalwright.simulator.service.routes import Answer, Call, Route, listing

_PATH = f"{SYSTEM}/VirtualMedia"
_SLOT = f"{_PATH}/Cd"
_INSERT = f"{_SLOT}/Actions/VirtualMedia.InsertMedia"
_EJECT = f"{_SLOT}/Actions/VirtualMedia.EjectMedia"
_PARAMETERS = {
    "Image": str,
    "Inserted": bool,
    "WriteProtected": bool,
    "TransferMethod": str,
    "TransferProtocolType": str,
    "UserName": str,
    "Password": str,
}


def routes() -> list[Route]:
    """One slot under the system."""
    return [
        listing(
            _PATH, "VirtualMedia", "Virtual media", lambda call: ["Cd"] if call.bmc.spec.bmc.has_virtual_cd else []
        ),
        Route(_SLOT, read=_slot),
        Route(_INSERT, create=_insert),
        Route(_EJECT, create=_eject),
    ]


def _slot(call: Call) -> Json:
    _require_slot(call)
    media = call.bmc.state.media
    is_inserted = bool(media.image)
    return {
        "@odata.id": _SLOT,
        "@odata.type": "#VirtualMedia.v1_6_3.VirtualMedia",
        "Id": "Cd",
        "Name": "Virtual CD",
        "MediaTypes": ["CD", "DVD"],
        "Image": media.image or None,
        "ImageName": urlsplit(media.image).path.rsplit("/", 1)[-1] if is_inserted else None,
        "Inserted": is_inserted,
        "WriteProtected": media.write_protected,
        "ConnectedVia": "URI" if is_inserted else "NotConnected",
        "TransferMethod": "Upload" if is_inserted else None,
        "VerifyCertificate": False,
        "UserName": None,
        "Password": None,
        "Status": {"State": "Enabled", "Health": "OK"},
        "Actions": {
            "#VirtualMedia.InsertMedia": {
                "target": _INSERT,
                "TransferProtocolType@Redfish.AllowableValues": ["HTTP", "HTTPS"],
                "TransferMethod@Redfish.AllowableValues": ["Stream", "Upload"],
            },
            "#VirtualMedia.EjectMedia": {"target": _EJECT},
        },
    }


def _require_slot(call: Call) -> None:
    if not call.bmc.spec.bmc.has_virtual_cd:
        raise refuse("ResourceMissingAtURI", call.path)


async def _insert(call: Call) -> Answer:
    _require_slot(call)
    image = _check_parameters(call.body)
    system = call.bmc.system
    if call.bmc.state.media.image:
        raise refuse("ResourceInUse")
    if system.faults.take("media-refused") is not None:
        system.log.add("MediaRefused", "by the fault media-refused")
        raise refuse("InternalError")
    folder = system.machine_dir / "media"
    folder.mkdir(exist_ok=True, mode=0o700)
    target = folder / f"cd-{secrets.token_hex(4)}.iso"
    try:
        await fetch(image, target)
    except Refusal as refusal:
        target.unlink(missing_ok=True)
        system.log.add("MediaRefused", refusal.messages[0].key)
        raise
    await system.insert_media(image, target, write_protected=call.body.get("WriteProtected", True) is True)
    return Answer(status=204)


def _check_parameters(body: Json) -> str:
    action = "VirtualMedia.InsertMedia"
    for name, value in body.items():
        kind = _PARAMETERS.get(name)
        if kind is None:
            raise refuse("ActionParameterUnknown", action, name)
        if not isinstance(value, kind):
            raise refuse("ActionParameterValueTypeError", str(value), name, action)
    image = body.get("Image")
    if image is None:
        raise refuse("ActionParameterMissing", action, "Image")
    if urlsplit(image).scheme not in ("http", "https"):
        raise refuse("ActionParameterValueNotInList", urlsplit(image).scheme, "TransferProtocolType", action)
    return str(image)


async def _eject(call: Call) -> Answer:
    if call.body:
        raise refuse("ActionParameterUnknown", "VirtualMedia.EjectMedia", next(iter(call.body)))
    await call.bmc.system.eject_media()
    return Answer(status=204)
