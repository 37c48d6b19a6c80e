"""Going from one resource to the next: along a link, or to every member of a collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from metalwright.errors import BmcAnswerError, BmcRefusedError, BmcUnreachableError
from metalwright.redfish.collections import Collection, Member, list_members
from metalwright.redfish.dialogue import read
from metalwright.redfish.failures import NOT_OFFERED
from metalwright.redfish.state import BmcState
from metalwright.redfish.wire import Exchange


@dataclass(frozen=True, slots=True)
class Declared:
    """Which host is meant, where a BMC lists several systems."""

    serial: str | None = None
    uuid: str | None = None


@dataclass(slots=True)
class Topology:
    """URIs found once; they do not move while a client lives."""

    declared: Declared = field(default_factory=Declared)
    system_uri: str | None = None
    manager_uri: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What an expression leads to: ``value`` is a resource (or a value inside one) and ``uri`` names it.

    For an expression with ``*`` the value is ``{"Members": [...], "problems": [...]}``.
    """

    uri: str
    value: Any


def follow(state: BmcState, point: Found, name: str) -> Exchange[Found]:
    """Return what the property ``name`` of ``point`` leads to; raises BmcAnswerError when it is not offered."""
    value = point.value.get(name) if isinstance(point.value, Mapping) else None
    if value is None:
        raise BmcAnswerError(
            f"the BMC does not offer {name}",
            where=state.where("GET", point.uri),
            expected=f"a property {name}",
            found="no such property",
            hint=NOT_OFFERED,
        )
    uri = value.get("@odata.id") if isinstance(value, Mapping) else None
    if isinstance(uri, str) and uri and len(value) == 1:
        body = yield from read(state, uri)
        return Found(uri, body)
    return Found(point.uri, value)


def members_of(state: BmcState, point: Found, problems: list[str]) -> Exchange[list[Found]]:
    """Read every member; one that cannot be read is a problem and does not hide the others."""
    if isinstance(point.value, list):
        uris = [item.get("@odata.id") for item in point.value if isinstance(item, Mapping)]
        listed = Collection(point.uri, tuple(Member(uri) for uri in uris if isinstance(uri, str) and uri))
    else:
        is_page = isinstance(point.value, dict) and "Members" in point.value
        listed = yield from list_members(state, point.uri, point.value if is_page else None)
    problems += [f"{point.uri}: {problem}" for problem in listed.problems]
    found: list[Found] = []
    for member in listed.members:
        body = member.body
        if body is None:
            try:
                body = yield from read(state, member.uri)
            except (BmcAnswerError, BmcRefusedError, BmcUnreachableError) as error:
                problems.append(f"{member.uri}: {error.brief}")
                continue
        found.append(Found(member.uri, body))
    return found
