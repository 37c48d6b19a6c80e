"""Registries: the BIOS attribute registry and the messages of the event log."""

from __future__ import annotations

from metalwright.simulator import attributes
from metalwright.simulator.events import REGISTRY, REGISTRY_TITLE, message_registry
from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import ROOT
from metalwright.simulator.service.routes import Call, Route, listing

_PATH = f"{ROOT}/Registries"
_BIOS = f"{attributes.REGISTRY_ID}.1.0.0"
_EVENTS = f"{REGISTRY}.0"
_NAMES = {_BIOS: "BIOS attribute registry", _EVENTS: REGISTRY_TITLE}


def routes() -> list[Route]:
    """Each registry has a file resource that says where it is."""
    return [
        listing(_PATH, "MessageRegistryFile", "Registries", _NAMES),
        Route(f"{_PATH}/{{id}}", read=_file),
        Route(f"{_PATH}/{_BIOS}/{_BIOS}.json", read=_bios),
        Route(f"{_PATH}/{_EVENTS}/{_EVENTS}.json", read=_events),
    ]


def _file(call: Call) -> Json:
    name = call.params["id"]
    if name not in _NAMES:
        raise refuse("ResourceMissingAtURI", call.path)
    return {
        "@odata.id": f"{_PATH}/{name}",
        "@odata.type": "#MessageRegistryFile.v1_1_4.MessageRegistryFile",
        "Id": name,
        "Name": _NAMES[name],
        "Registry": name,
        "Languages": ["en"],
        "Location": [{"Language": "en", "Uri": f"{_PATH}/{name}/{name}.json"}],
    }


def _bios(call: Call) -> Json:
    return attributes.registry(call.bmc.spec.model, call.bmc.spec.firmware.get("BIOS", ""))


def _events(_call: Call) -> Json:
    return message_registry("metalwright")
