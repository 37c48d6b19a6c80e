"""Log services: the BMC's event log and the tail of the serial console."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from metalwright.simulator.events import REGISTRY, Event, iso_time
from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import MANAGER, SYSTEM
from metalwright.simulator.service.routes import Answer, Call, Route, collection, listing

_EVENTS = f"{MANAGER}/LogServices/Log"
_CONSOLE = f"{SYSTEM}/LogServices/Console"
_PAGE = 1000
_CONSOLE_LINES = 200


def routes() -> list[Route]:
    """One log under the manager, one under the system."""
    manager_logs, system_logs = f"{MANAGER}/LogServices", f"{SYSTEM}/LogServices"
    return [
        listing(manager_logs, "LogService", "Logs of the BMC", ["Log"]),
        listing(system_logs, "LogService", "Logs of the system", ["Console"]),
        Route(_EVENTS, read=_event_service),
        Route(f"{_EVENTS}/Actions/LogService.ClearLog", create=_clear),
        Route(f"{_EVENTS}/Entries", read=_events, is_volatile=True),
        Route(f"{_EVENTS}/Entries/{{id}}", read=_event),
        Route(_CONSOLE, read=_console_service),
        Route(f"{_CONSOLE}/Entries", read=_console, is_volatile=True),
        Route(f"{_CONSOLE}/Entries/{{id}}", read=_console_line),
    ]


def _service(path: str, name: str) -> Json:
    return {
        "@odata.id": path,
        "@odata.type": "#LogService.v1_5_1.LogService",
        "Id": path.rsplit("/", 1)[-1],
        "Name": name,
        "ServiceEnabled": True,
        "OverWritePolicy": "WrapsWhenFull",
        "LogEntryType": "Event",
        "Status": {"State": "Enabled", "Health": "OK"},
        "Entries": {"@odata.id": f"{path}/Entries"},
    }


def _event_service(call: Call) -> Json:
    body = _service(_EVENTS, "Event log")
    body["DateTime"] = call.bmc.system.now()
    body["DateTimeLocalOffset"] = "+00:00"
    body["Actions"] = {"#LogService.ClearLog": {"target": f"{_EVENTS}/Actions/LogService.ClearLog"}}
    return body


async def _clear(call: Call) -> Answer:
    call.bmc.system.log.clear()
    return Answer(status=204)


def _events(call: Call) -> Json:
    entries = call.bmc.system.log.entries
    skip = _skip(call)
    page = entries[skip : skip + _PAGE]
    body: Json = {
        "@odata.id": f"{_EVENTS}/Entries",
        "@odata.type": "#LogEntryCollection.LogEntryCollection",
        "Name": "Event log entries",
        "Members@odata.count": len(entries),
        "Members": [_entry(event) for event in page],
    }
    if skip + _PAGE < len(entries):
        body["Members@odata.nextLink"] = f"{_EVENTS}/Entries?$skip={skip + _PAGE}"
    return body


def _skip(call: Call) -> int:
    text = call.query.get("$skip", "0")
    if not text.isdecimal():
        raise refuse("PropertyValueFormatError", text, "$skip")
    return int(text)


def _entry(event: Event) -> Json:
    return {
        "@odata.id": f"{_EVENTS}/Entries/{event.id}",
        "@odata.type": "#LogEntry.v1_17_0.LogEntry",
        "Id": str(event.id),
        "Name": f"Log entry {event.id}",
        "EntryType": "Event",
        "Severity": event.severity,
        "Created": event.at,
        "Message": event.message,
        "MessageId": f"{REGISTRY}.{event.kind}",
        "MessageArgs": list(event.args),
    }


def _event(call: Call) -> Json:
    for event in call.bmc.system.log.entries:
        if str(event.id) == call.params["id"]:
            return _entry(event)
    raise refuse("ResourceMissingAtURI", call.path)


def _console_service(_call: Call) -> Json:
    return _service(_CONSOLE, "Serial console")


def read_console_tail(path: Path, lines: int = _CONSOLE_LINES) -> list[str]:
    """The last lines of a console log; control characters are shown as spaces."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 256 * lines))
        text = file.read().decode("utf-8", "replace")
    clean = ("".join(c if c.isprintable() else " " for c in line).rstrip() for line in text.splitlines())
    return list(deque(clean, maxlen=lines))


def _console(call: Call) -> Json:
    lines = read_console_tail(call.bmc.system.machine.console_path)
    body = collection(f"{_CONSOLE}/Entries", "LogEntry", "Serial console", [])
    body["Members"] = [_line(call, number, text) for number, text in enumerate(lines, 1)]
    body["Members@odata.count"] = len(lines)
    return body


def _line(call: Call, number: int, text: str) -> Json:
    changed = call.bmc.system.machine.console_path.stat().st_mtime
    return {
        "@odata.id": f"{_CONSOLE}/Entries/{number}",
        "@odata.type": "#LogEntry.v1_17_0.LogEntry",
        "Id": str(number),
        "Name": f"Console line {number}",
        "EntryType": "Event",
        "Severity": "OK",
        "Created": iso_time(changed),
        "Message": text,
    }


def _console_line(call: Call) -> Json:
    lines = read_console_tail(call.bmc.system.machine.console_path)
    number = call.params["id"]
    if not number.isdecimal() or not 1 <= int(number) <= len(lines):
        raise refuse("ResourceMissingAtURI", call.path)
    return _line(call, int(number), lines[int(number) - 1])
