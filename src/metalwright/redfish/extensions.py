"""Nouns whose place differs from maker to maker: the accounts with their slots, lockdown, remote syslog.

What a maker does beside the standard is data here, each with its evidence. A BMC of another maker offers nothing, and
the noun says so (BmcAnswerError).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from metalwright.errors import BmcAnswerError, BmcRefusedError
from metalwright.redfish.dialogue import member_uri, perform, require_uri
from metalwright.redfish.failures import NOT_OFFERED
from metalwright.redfish.state import BmcState
from metalwright.redfish.walking import Found, Topology, follow, members_of
from metalwright.redfish.wire import Exchange, JsonObject, Request

Noun = Callable[[BmcState, Topology], Exchange[Found]]


@dataclass(frozen=True, slots=True)
class Extension:
    """A resource of one maker and what is written there.

    ``place`` is a path of property names that leads from the manager to the resource; ``*`` stands for the one member
    that shows ``property``, and a step that starts with ``/`` is appended to the manager's own URI.
    """

    maker: str
    place: tuple[str, ...]
    property: tuple[str, ...]
    evidence: str


LOCKDOWN: tuple[tuple[Extension, Any, Any], ...] = (
    (
        Extension(
            "Supermicro",
            ("Oem", "Supermicro", "SysLockdown"),
            ("SysLockdownEnabled",),
            "stmcginnis/gofish oem/smc SysLockdown; read back on a SYS-821GE",
        ),
        True,
        False,
    ),
    (
        Extension(
            "Dell",
            ("Links", "Oem", "Dell", "DellAttributes", "*"),
            ("Attributes", "Lockdown.1.SystemLockdown"),
            "dell/dellemc-openmanage-ansible-modules idrac_attributes; read on an R750",
        ),
        "Enabled",
        "Disabled",
    ),
    (
        Extension(
            "Dell",
            ("/Attributes",),
            ("Attributes", "Lockdown.1.SystemLockdown"),
            "older iDRAC9 firmware has them beside the manager only",
        ),
        "Enabled",
        "Disabled",
    ),
)
"""Extension, value of a locked BMC, value of an open one. HPE, Lenovo and OpenBMC document nothing of the kind."""

SYSLOG: tuple[tuple[Extension, Callable[[list[str]], JsonObject]], ...] = (
    (
        Extension(
            "Dell",
            ("Links", "Oem", "Dell", "DellAttributes", "*"),
            ("Attributes", "SysLog.1.SysLogEnable"),
            "iDRAC attribute registry, group SysLog; read on an R750",
        ),
        lambda servers: {
            "Attributes": {
                "SysLog.1.SysLogEnable": "Enabled" if servers else "Disabled",
                **{f"SysLog.1.Server{number}": name for number, name in _numbered(servers)},
            }
        },
    ),
    (
        Extension(
            "HPE",
            ("NetworkProtocol",),
            ("Oem", "Hpe", "RemoteSyslogEnabled"),
            "HPE iLO 5 and 6 resource HpeiLOManagerNetworkService; read on a DL380a Gen11",
        ),
        lambda servers: {
            "Oem": {"Hpe": {"RemoteSyslogEnabled": bool(servers), "RemoteSyslogServer": ";".join(servers)}}
        },
    ),
)
"""Extension, and the body that makes its BMC send its log to these servers."""


def _numbered(servers: list[str]) -> list[tuple[int, str]]:
    return list(enumerate((*servers, "", "", ""), 1))[:3]


def noun_lockdown(manager: Noun) -> Noun:
    """Return the noun ``lockdown``: ``uri``, ``is_locked``, and the bodies that lock and unlock."""

    def find_lockdown(state: BmcState, topology: Topology) -> Exchange[Found]:
        start = yield from manager(state, topology)
        for extension, locked, unlocked in LOCKDOWN:
            found = yield from _resource(state, start, extension)
            if found is not None:
                value = {
                    "uri": found.uri,
                    "is_locked": _value_at(found.value, extension.property) == locked,
                    "locked": _body_of(extension.property, locked),
                    "unlocked": _body_of(extension.property, unlocked),
                }
                return Found(found.uri, value)
        raise _not_offered(state, start, "a lockdown")

    return find_lockdown


def noun_syslog(manager: Noun) -> Noun:
    """Return the noun ``syslog``: ``uri``, ``maker`` (see :func:`syslog_body`) and the resource's ``body``."""

    def find_syslog(state: BmcState, topology: Topology) -> Exchange[Found]:
        start = yield from manager(state, topology)
        for extension, _ in SYSLOG:
            found = yield from _resource(state, start, extension)
            if found is not None:
                return Found(found.uri, {"uri": found.uri, "maker": extension.maker, "body": found.value})
        raise _not_offered(state, start, "remote syslog")

    return find_syslog


def syslog_body(maker: str, servers: list[str]) -> JsonObject:
    """Return what is written to a maker's resource so that the BMC sends its log to ``servers``."""
    return next(body_for(servers) for extension, body_for in SYSLOG if extension.maker == maker)


def noun_accounts(root: Noun) -> Noun:
    """Return the noun ``accounts``: ``uri``, ``Members``, ``problems``, ``allow`` (the methods of the collection)."""

    def find_accounts(state: BmcState, topology: Topology) -> Exchange[Found]:
        start = yield from root(state, topology)
        service = yield from follow(state, start, "AccountService")
        uri = require_uri(state, service.value, "Accounts")
        response = yield from perform(state, Request("GET", uri))
        problems: list[str] = []
        members = yield from members_of(state, Found(uri, response.json_object() or {}), problems)
        allow = response.header("allow")
        value = {
            "uri": uri,
            "Members": [{"@odata.id": member.uri, **member.value} for member in members],
            "problems": problems,
            "allow": [method.strip().upper() for method in allow.split(",")] if allow else None,
        }
        return Found(uri, value)

    return find_accounts


def _resource(state: BmcState, manager: Found, extension: Extension) -> Exchange[Found | None]:
    """Follow an extension's place; None where this BMC has nothing there."""
    point = manager
    try:
        for step in extension.place:
            if step == "*":
                members = yield from members_of(state, point, [])
                showing = [member for member in members if _value_at(member.value, extension.property) is not None]
                if not showing:
                    return None
                point = showing[0]
            elif step.startswith("/"):
                uri = manager.uri.rstrip("/") + step
                response = yield from perform(state, Request("GET", uri))
                point = Found(uri, response.json_object() or {})
            else:
                point = yield from follow(state, point, step)
    except BmcAnswerError:
        return None
    except BmcRefusedError as error:
        if error.status not in (404, 405, 501):
            raise
        return None
    return point if _value_at(point.value, extension.property) is not None else None


def _value_at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _body_of(path: tuple[str, ...], value: Any) -> JsonObject:
    body: Any = value
    for name in reversed(path):
        body = {name: body}
    return dict(body)


def _not_offered(state: BmcState, start: Found, what: str) -> BmcAnswerError:
    return BmcAnswerError(
        f"this BMC offers no {what.removeprefix('a ')}",
        where=state.where("GET", start.uri),
        expected=what,
        found=member_uri(start.value, "NetworkProtocol") or "none",
        hint=NOT_OFFERED,
    )
