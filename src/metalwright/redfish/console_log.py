"""The tail of the serial console, where a BMC keeps one as a log service. Reads only.

OpenBMC calls it HostLogger; others name it after the console or serial over LAN. Most BMCs keep none: what the host
printed is then lost unless somebody had the console open.
"""

from __future__ import annotations

import re
from typing import Any

from metalwright.errors import BmcAnswerError, BmcRefusedError, RedfishError
from metalwright.redfish.collections import Member, list_members
from metalwright.redfish.dialogue import member_uri, read
from metalwright.redfish.links import find
from metalwright.redfish.state import BmcState
from metalwright.redfish.walking import Found, Topology, follow, members_of
from metalwright.redfish.wire import Exchange, JsonObject

CONSOLE = re.compile(r"console|host ?logger|serial|\bsol\b", re.IGNORECASE)
LINES = 400
"""Newest lines that are kept."""
LINE_CHARACTERS = 1000
SINGLE_READS = 50
"""At most so many entries are read one by one, where the BMC lists links."""
NO_LOG = "console: this BMC keeps no log of the serial console that Redfish shows"


def read_console_tail(
    state: BmcState, topology: Topology, system: Found, problems: list[str], deadline: float
) -> Exchange[dict[str, Any] | None]:
    """Return ``uri`` and ``lines`` of the console's log, oldest first, or None; ``problems`` says why not.

    ``system`` has been read. Raises no RedfishError. Nothing is asked after ``deadline``, a reading of the clock.
    """
    try:
        service = yield from _service(state, topology, system)
        if service is None:
            problems.append(NO_LOG)
            return None
        entries = member_uri(service, "Entries")
        if entries is None:
            problems.append(f"console: {service.get('@odata.id')} has no entries")
            return None
        lines = yield from _lines(state, entries, problems, deadline)
    except RedfishError as error:
        problems.append(f"console: {error.where}: {error.what}")
        return None
    if not lines:
        problems.append(f"console: {entries} is empty")
    return {"uri": entries, "lines": lines}


def _service(state: BmcState, topology: Topology, system: Found) -> Exchange[JsonObject | None]:
    """The log service of the system, else of the manager, that holds the console."""
    for owner in (system, None):
        try:
            point = owner or (yield from find(state, topology, "@manager"))
            services = yield from follow(state, point, "LogServices")
            members = yield from members_of(state, services, [])
        except (BmcAnswerError, BmcRefusedError):
            continue  # no log services there
        for member in members:
            name = f"{member.value.get('Id')} {member.value.get('Name')}"
            if CONSOLE.search(name):
                return dict(member.value)
    return None


def _lines(state: BmcState, uri: str, problems: list[str], deadline: float) -> Exchange[list[str]]:
    page = yield from read(state, uri)
    listed, count = page.get("Members"), page.get("Members@odata.count")
    has_more = isinstance(count, int) and isinstance(listed, list) and count > max(len(listed), LINES)
    if has_more and isinstance(count, int):
        tail = yield from list_members(state, f"{uri}?$skip={count - LINES}")
        first = (yield from list_members(state, uri, {"Members": listed})).uris[:1]
        if tail.uris[:1] == first:
            problems.append(f"console: the BMC shows only the first {len(tail.members)} of {count} lines")
        members = tail.members
    else:
        members = (yield from list_members(state, uri, page)).members
    return (yield from _texts(state, sorted(members, key=_order)[-LINES:], problems, deadline))


def _texts(state: BmcState, members: list[Member], problems: list[str], deadline: float) -> Exchange[list[str]]:
    if any(member.body is None for member in members):
        members = members[-SINGLE_READS:]
    lines: list[str] = []
    for member in members:
        body = member.body
        if body is None:
            if state.clock() > deadline:
                problems.append(f"console: {len(members) - len(lines)} newer lines not read, the time was used up")
                break
            body = yield from read(state, member.uri)
        lines += _clean(str(body.get("Message") or "")).splitlines() or [""]
    return [line[:LINE_CHARACTERS].rstrip() for line in lines][-LINES:]


def _clean(text: str) -> str:
    return "".join(character if character.isprintable() or character in "\t\n" else " " for character in text)


def _order(member: Member) -> tuple[str, int]:
    """Time first where the entries tell one, then the number at the end of the address."""
    body = member.body or {}
    digits = re.findall(r"\d+", member.uri)
    return str(body.get("EventTimestamp") or body.get("Created") or ""), int(digits[-1]) if digits else 0
