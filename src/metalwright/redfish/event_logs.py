"""The event logs of a machine: where they are, what is in them, oldest first. Consoles and dumps are no event logs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from metalwright.errors import BmcAnswerError, BmcRefusedError, BmcUnreachableError
from metalwright.redfish.collections import list_members
from metalwright.redfish.dialogue import member_uri, read
from metalwright.redfish.state import BmcState
from metalwright.redfish.walking import Found, Topology, follow, members_of
from metalwright.redfish.wire import Exchange, JsonObject

Noun = Callable[[BmcState, Topology], Exchange[Found]]
NO_EVENTS = re.compile(r"console|dump|journal|telemetry|debug|crash|hostlogger|postcode|audit", re.IGNORECASE)
"""Names of log services that hold something else; reading some of them takes minutes."""

NOT_THERE = (None, 404, 405, 501)
"""Statuses of what a BMC does not have; ``None``: it offers no link."""


@dataclass(frozen=True, slots=True)
class EventLog:
    """One log service. ``clear_uri`` is None where the BMC does not let it be cleared."""

    name: str
    uri: str
    entries_uri: str
    clear_uri: str | None


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry; texts are the BMC's own. ``at`` is the time that the BMC gives, empty where it gives none."""

    at: str
    severity: str
    message: str
    log: str
    id: str
    message_id: str = ""


def noun_event_logs(starts: Mapping[str, Noun]) -> Noun:
    """Return the noun ``event-logs``: ``logs`` of system, manager and chassis (``starts``), and ``problems``.

    Each log has ``name uri entries_uri clear_uri`` and ``entries``, their number as far as the BMC tells it.
    """

    def noun(state: BmcState, topology: Topology) -> Exchange[Found]:
        problems: list[str] = []
        logs: dict[str, dict[str, Any]] = {}
        for start in starts.values():
            for log in (yield from _logs_of(state, topology, start, problems)):
                page = yield from read(state, log.entries_uri)
                count = page.get("Members@odata.count")
                logs.setdefault(log.entries_uri, {**asdict(log), "entries": count if isinstance(count, int) else None})
        return Found("/redfish/v1/", {"logs": _with_own_names(list(logs.values())), "problems": problems})

    return noun


def _with_own_names(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give logs that share a name the name of their owner as well: ``Systems/1 Log1``."""
    names = [log["name"] for log in logs]
    for log in logs:
        if names.count(log["name"]) > 1:
            owner = log["uri"].rstrip("/").split("/")[-4:-2]
            log["name"] = f"{'/'.join(owner)} {log['name']}"
    return logs


def _logs_of(state: BmcState, topology: Topology, start: Noun, problems: list[str]) -> Exchange[list[EventLog]]:
    """Return the event logs behind one resource: nothing where it has none, and a problem where it cannot be read."""
    try:
        point = yield from start(state, topology)
        services = yield from follow(state, point, "LogServices")
        members = yield from members_of(state, services, problems)
    except (BmcAnswerError, BmcRefusedError, BmcUnreachableError) as error:
        problem = f"{error.where}: {error.brief}"
        is_absent = not isinstance(error, BmcUnreachableError) and error.status in NOT_THERE
        if not is_absent and problem not in problems:
            problems.append(problem)
        return []
    return [log for member in members if (log := _event_log(member.value)) is not None]


def read_event_log(
    state: BmcState, name: str, entries_uri: str, newest: int, problems: list[str]
) -> Exchange[list[LogEntry]]:
    """Return the newest entries of the log ``name``, oldest first, over all its pages."""
    listed = yield from list_members(state, entries_uri)
    problems += [f"{name}: {problem}" for problem in listed.problems]
    members = listed.members if len(listed.members) <= newest else _newest(listed.members, newest)
    entries = []
    for member in members:
        body = member.body
        if body is None:
            try:
                body = yield from read(state, member.uri)
            except (BmcAnswerError, BmcRefusedError, BmcUnreachableError) as error:
                problems.append(f"{member.uri}: {error.what}")
                continue
        entries.append(entry_of(body, name))
    return sorted(entries, key=order_of)[-newest:]


def _newest(members: Any, newest: int) -> Any:
    """Return the members that may be the newest: all where they tell their time, else those with the highest ids."""
    if all(member.body is not None for member in members):
        return members
    return sorted(members, key=lambda member: _number(member.uri))[-newest:]


def entry_of(body: Mapping[str, Any], log: str) -> LogEntry:
    """Return a LogEntry resource as a value."""
    return LogEntry(
        at=str(body.get("EventTimestamp") or body.get("Created") or ""),
        severity=str(body.get("MessageSeverity") or body.get("Severity") or ""),
        message=" ".join(str(body.get("Message") or body.get("Name") or "").split()),
        log=log,
        id=str(body.get("Id") or ""),
        message_id=str(body.get("MessageId") or ""),
    )


def order_of(entry: LogEntry) -> tuple[str, int]:
    """Return what sorts entries: their time, then their number. Times of one BMC have one form and one zone."""
    return entry.at, _number(entry.id)


def _number(text: str) -> int:
    digits = re.findall(r"\d+", text)
    return int(digits[-1]) if digits else 0


def _event_log(service: JsonObject) -> EventLog | None:
    entries = member_uri(service, "Entries")
    name = str(service.get("Id") or service.get("Name") or "")
    if entries is None or NO_EVENTS.search(name) or NO_EVENTS.search(str(service.get("Name") or "").replace(" ", "")):
        return None
    actions = service.get("Actions")
    action = actions.get("#LogService.ClearLog") if isinstance(actions, Mapping) else None
    clear = action.get("target") if isinstance(action, Mapping) else None
    uri = str(service.get("@odata.id") or entries.rsplit("/", 1)[0])
    return EventLog(name, uri, entries, clear if isinstance(clear, str) and clear else None)
