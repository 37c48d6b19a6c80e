"""Virtual media: slots under a system or a manager; an inserted image is fetched at once."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from metalwright.simulator.fleet.living.own import own
from metalwright.simulator.service.answers import Json, Refusal, refuse
from metalwright.simulator.service.fetching import fetch
from metalwright.simulator.service.routes import Answer, Call, Field, Patch

if TYPE_CHECKING:
    from metalwright.simulator.fleet.binding import Bindings

_INSERT, _EJECT = "#VirtualMedia.InsertMedia", "#VirtualMedia.EjectMedia"
_PARAMETERS = ("Image", "Inserted", "WriteProtected", "TransferMethod", "TransferProtocolType", "UserName", "Password")
_EMPTY = {"Image": None, "ImageName": None, "Inserted": False, "ConnectedVia": "NotConnected"}


def bind(bindings: Bindings, path: str, body: Json) -> None:
    """Actions where the slot offers them, else PATCH of Image."""
    has_insert = bindings.acts(body, _INSERT, _inserter(path))
    bindings.acts(body, _EJECT, _ejecter(path))
    if not has_insert:
        fields = {"Image": Field((str, type(None))), "Inserted": Field(bool), "WriteProtected": Field(bool)}
        bindings.patches[path] = Patch(fields, _patcher(path))


def _inserter(path: str) -> Any:
    async def insert(call: Call) -> Answer:
        for name in call.body:
            if name not in _PARAMETERS:
                raise refuse("ActionParameterUnknown", "VirtualMedia.InsertMedia", name)
        image = call.body.get("Image")
        if not isinstance(image, str):
            raise refuse("ActionParameterMissing", "VirtualMedia.InsertMedia", "Image")
        await _put(call, path, image, call.body.get("WriteProtected", True) is True)
        return Answer(status=204)

    return insert


async def _put(call: Call, path: str, image: str, is_protected: bool) -> None:
    bmc = own(call)
    system = bmc.system
    if bmc.body(path).get("Inserted"):
        raise refuse("ResourceInUse")
    if urlsplit(image).scheme not in ("http", "https"):
        raise refuse("ActionParameterValueNotInList", urlsplit(image).scheme, "Image", "VirtualMedia.InsertMedia")
    if system.faults.take("media-refused") is not None:
        system.log.add("MediaRefused", "by the fault media-refused")
        raise refuse("InternalError")
    folder = system.machine_dir / "media"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    target = folder / f"{secrets.token_hex(4)}.iso"
    try:
        await fetch(image, target)
    except Refusal as refusal:
        target.unlink(missing_ok=True)
        system.log.add("MediaRefused", refusal.messages[0].key)
        raise
    await system.insert_media(image, target, write_protected=is_protected)
    name = urlsplit(image).path.rpartition("/")[2]
    bmc.change(path, {"Image": image, "ImageName": name, "Inserted": True, "ConnectedVia": "URI"})


def _ejecter(path: str) -> Any:
    async def eject(call: Call) -> Answer:
        await _empty(call, path)
        return Answer(status=204)

    return eject


async def _empty(call: Call, path: str) -> None:
    bmc = own(call)
    is_last = bmc.body(path).get("Image") == bmc.state.media.image
    bmc.change(path, _EMPTY)
    if is_last:
        await bmc.system.eject_media()


def _patcher(path: str) -> Any:
    async def change(call: Call, values: Json) -> None:
        if values.get("Image"):
            await _put(call, path, values["Image"], values.get("WriteProtected", True))
        elif "Image" in values or values.get("Inserted") is False:
            await _empty(call, path)

    return change
