"""The virtual CD drive; an inserted image is fetched at once."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from metalwright.simulator.service.answers import Json, Refusal, refuse
from metalwright.simulator.service.bmc import SYSTEM
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
_FETCH_TIMEOUT_S = 300
_CHUNK_BYTES = 1024**2
_MAX_BYTES = 8 * 1024**3


def routes() -> list[Route]:
    """One slot under the system."""
    return [
        listing(_PATH, "VirtualMedia", "Virtual media", ["Cd"]),
        Route(_SLOT, read=_slot),
        Route(_INSERT, create=_insert),
        Route(_EJECT, create=_eject),
    ]


def _slot(call: Call) -> Json:
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


async def _insert(call: Call) -> Answer:
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
        await _fetch(image, target)
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


async def _fetch(url: str, target: Path) -> None:
    """Copy the image to ``target``; refusals never show the URL, since its path may be a secret."""
    server = urlsplit(url).netloc.rsplit("@", 1)[-1]
    timeout = aiohttp.ClientTimeout(total=_FETCH_TIMEOUT_S, sock_connect=5, sock_read=30)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as client, client.get(url, ssl=False) as answer:
            if answer.status != 200:
                raise refuse("ResourceAtUriInUnknownFormat", f"{server} (HTTP {answer.status})", status=400)
            await _copy(answer.content, target, server)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise refuse("CouldNotEstablishConnection", f"{server} ({type(error).__name__})") from error


async def _copy(content: aiohttp.StreamReader, target: Path, server: str) -> None:
    size_bytes = 0
    with await asyncio.to_thread(target.open, "wb") as file:
        async for chunk in content.iter_chunked(_CHUNK_BYTES):
            size_bytes += len(chunk)
            if size_bytes > _MAX_BYTES:
                raise refuse("ResourceAtUriInUnknownFormat", f"{server} (more than {_MAX_BYTES} bytes)", status=400)
            file.write(chunk)
    if size_bytes == 0:
        raise refuse("ResourceAtUriInUnknownFormat", f"{server} (empty)", status=400)


async def _eject(call: Call) -> Answer:
    if call.body:
        raise refuse("ActionParameterUnknown", "VirtualMedia.EjectMedia", next(iter(call.body)))
    await call.bmc.system.eject_media()
    return Answer(status=204)
