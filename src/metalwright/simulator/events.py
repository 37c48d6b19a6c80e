"""The BMC's own log: every write request, power event, boot and medium, one JSON line each."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

REGISTRY = "LabEvents.1.0"
REGISTRY_TITLE = "Messages of the event log"

# name → (severity, text); %1 %2 … are the arguments, in order
KINDS: dict[str, tuple[str, str]] = {
    "Request": ("OK", "%1 %2 by %3 answered %4"),
    "LoginSucceeded": ("OK", "account %1 logged in"),
    "LoginRefused": ("Warning", "a login as %1 was refused: %2"),
    "AccountLocked": ("Critical", "account %1 is locked for %2 s"),
    "ResetRequested": ("OK", "reset of type %1"),
    "PowerOn": ("OK", "power is on (%1 so far)"),
    "PowerOff": ("OK", "power is off: %1"),
    "GracefulIgnored": ("Warning", "the guest did not shut down within %1 s"),
    "BootStarted": ("OK", "the firmware started %1 (medium %2), boot %3 of that medium"),
    "NoBootDevice": ("Warning", "nothing to boot in %1"),
    "GuestReset": ("OK", "the guest reset itself"),
    "MachineDied": ("Critical", "the machine stopped unexpectedly: %1"),
    "MediaInserted": ("OK", "medium inserted: %1 bytes, sha256 %2"),
    "MediaEjected": ("OK", "medium ejected"),
    "MediaRefused": ("Warning", "medium refused: %1"),
    "BiosApplied": ("OK", "BIOS attributes applied: %1"),
    "FirmwareStaged": ("OK", "firmware %1 %2 waits for the next power-on"),
    "FirmwareInstalled": ("OK", "firmware %1 is now %2"),
    "AddressChanged": ("OK", "BMC moved from %1 to %2"),
    "CertificateChanged": ("Warning", "the BMC has a new TLS certificate"),
    "FaultSet": ("Warning", "fault set: %1"),
    "FaultsCleared": ("OK", "all faults cleared"),
    "LogCleared": ("OK", "the log was cleared"),
}


@dataclass(frozen=True)
class Event:
    """One log entry; ``args`` are all text, in the order of the kind's message."""

    id: int
    at: str
    kind: str
    args: tuple[str, ...]

    @property
    def severity(self) -> str:
        """OK, Warning or Critical."""
        return KINDS[self.kind][0]

    @property
    def message(self) -> str:
        """The text with its arguments filled in."""
        text = KINDS[self.kind][1]
        for position in range(len(self.args), 0, -1):
            text = text.replace(f"%{position}", self.args[position - 1])
        return text


class EventLog:
    """An append-only log kept in a file (None: nowhere), at most ``keep`` entries in memory."""

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.time, keep: int = 5000) -> None:
        self._path = path
        self._clock = clock
        self._keep = keep
        self.entries: list[Event] = _read(path)[-keep:] if path is not None else []
        self._next = self.entries[-1].id + 1 if self.entries else 1

    def add(self, kind: str, *args: object) -> Event:
        """Record one event; ``kind`` is a key of :data:`KINDS`."""
        if kind not in KINDS:
            raise KeyError(kind)
        event = Event(self._next, iso_time(self._clock()), kind, tuple(str(arg) for arg in args))
        self._next += 1
        self.entries = [*self.entries[-self._keep + 1 :], event]
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(event)) + "\n")
        return event

    def clear(self) -> None:
        """Forget all entries but say that this happened; numbers go on."""
        self.entries = []
        if self._path is not None:
            self._path.write_text("", encoding="utf-8")
        self.add("LogCleared")

    def of_kind(self, *kinds: str) -> list[Event]:
        """The entries of these kinds, oldest first."""
        return [event for event in self.entries if event.kind in kinds]


def iso_time(seconds: float, *, is_precise: bool = False) -> str:
    """Seconds since 1970 as ``2026-01-31T12:00:00Z``; precise times have milliseconds."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds" if is_precise else "seconds").replace("+00:00", "Z")


def _read(path: Path) -> list[Event]:
    if not path.exists():
        return []
    events = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            data = json.loads(line)
        except ValueError:
            continue  # the last line of a machine that was killed while it wrote
        events.append(Event(data["id"], data["at"], data["kind"], tuple(data["args"])))
    return events


def message_registry(owner: str) -> dict[str, Any]:
    """The registry of these messages as a Redfish body; ``owner`` is its owning entity."""
    return {
        "@odata.type": "#MessageRegistry.v1_6_3.MessageRegistry",
        "Id": f"{REGISTRY}.0",
        "Name": REGISTRY_TITLE,
        "Language": "en",
        "OwningEntity": owner,
        "RegistryPrefix": REGISTRY.split(".", 1)[0],
        "RegistryVersion": "1.0.0",
        "Messages": {kind: _message(severity, text) for kind, (severity, text) in KINDS.items()},
    }


def _message(severity: str, text: str) -> dict[str, Any]:
    count = max((number for number in range(1, 10) if f"%{number}" in text), default=0)
    return {
        "Description": text,
        "Message": text,
        "MessageSeverity": severity,
        "NumberOfArgs": count,
        "ParamTypes": ["string"] * count,
        "Resolution": "None.",
    }
