"""Log services: the first one that can be cleared holds what happened to this BMC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metalwright.simulator.events import REGISTRY, Event
from metalwright.simulator.service.answers import Json
from metalwright.simulator.service.routes import Answer, Call

if TYPE_CHECKING:
    from metalwright.simulator.fleet.binding import Bindings

_PAGE = 200
_CLEAR = "#LogService.ClearLog"


def bind(bindings: Bindings, path: str, body: Json) -> None:
    """Entries of the first log are events; the log services' clocks run."""
    del path
    if bindings.log or not bindings.acts(body, _CLEAR, _clear):
        return
    entries = str((body.get("Entries") or {}).get("@odata.id", "")).rstrip("/")
    if bindings.tree.find(entries) is not None:
        bindings.log = entries
        bindings.lives(entries, _shower(entries))


async def _clear(call: Call) -> Answer:
    call.bmc.system.log.clear()
    return Answer(status=204)


def _shower(path: str) -> Any:
    def show(call: Call, body: Json) -> None:
        events = call.bmc.system.log.entries[-_PAGE:]
        body["Members"] = [_entry(path, event) for event in events]
        body["Members@odata.count"] = len(events)

    return show


def _entry(path: str, event: Event) -> Json:
    return {
        "@odata.id": f"{path}/{event.id}",
        "@odata.type": "#LogEntry.v1_17_0.LogEntry",
        "Id": str(event.id),
        "Name": f"Log entry {event.id}",
        "EntryType": "SEL",
        "Severity": event.severity,
        "Created": event.at,
        "Message": event.message,
        "MessageId": f"{REGISTRY}.{event.kind}",
        "MessageArgs": list(event.args),
    }


def find_entry(path: str, call: Call) -> Json | None:
    """The entry of the living log that has this path, or None."""
    log, _, number = path.rpartition("/")
    for event in call.bmc.system.log.entries:
        if str(event.id) == number:
            return _entry(log, event)
    return None
