"""Authenticated requests over the policy: reads, conditional writes, collections. Still without I/O."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from metalwright.errors import BmcAnswerError, BmcNoAnswerError, BmcUnreachableError
from metalwright.redfish.adaptations import MAX_ADAPTATIONS, adapt
from metalwright.redfish.etags import tags_of
from metalwright.redfish.messages import messages_in
from metalwright.redfish.policy import error_for, not_json_error, transact
from metalwright.redfish.sessions import ensure_session
from metalwright.redfish.state import BmcState
from metalwright.redfish.wire import Exchange, JsonObject, Request, Response


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a collection: its URI, and its body when the collection held it whole."""

    uri: str
    body: JsonObject | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Collection:
    """The members of a collection. ``problems`` says why it is not complete; empty means complete."""

    uri: str
    members: tuple[Member, ...]
    problems: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every member that the BMC announced is here."""
        return not self.problems

    @property
    def uris(self) -> tuple[str, ...]:
        """The URIs of the members, in the order of the BMC."""
        return tuple(member.uri for member in self.members)


def perform(state: BmcState, request: Request) -> Exchange[Response]:
    """Send ``request`` with a session and return a 2xx response; log in again once when the session is gone.

    Raises a RedfishError for everything else.
    """
    response = yield from _authenticated(state, request)
    if not response.is_success:
        raise error_for(state, request, response)
    return response


def read(state: BmcState, path: str, *, timeout_s: float | None = None) -> Exchange[JsonObject]:
    """Return the resource at ``path``. Raises BmcAnswerError when the answer is no JSON object."""
    request = Request("GET", path, timeout_s=timeout_s)
    response = yield from perform(state, request)
    body = response.json_object()
    if body is None:
        raise not_json_error(state, request, response)
    return body


def write(state: BmcState, request: Request) -> Exchange[Response]:
    """Carry out a write. PATCH and PUT are conditional on the entity tag that the resource has at this moment.

    A refused write is sent in the other forms that BMCs are known to want (:mod:`metalwright.redfish.adaptations`).
    Raises BmcNoAnswerError when a POST was sent and not answered. A PATCH without an answer is settled by reading: it
    sets values, so it is repeated once when the resource does not show them.
    """
    for _ in range(MAX_ADAPTATIONS):
        response = yield from _write_once(state, request)
        other = adapt(request, response)
        if other is None:
            break
        request = other
    if not response.is_success:
        raise error_for(state, request, response)
    return response


def _write_once(state: BmcState, request: Request) -> Exchange[Response]:
    """Send one form of a write and return the BMC's answer, a refusal included."""
    if request.method not in ("PATCH", "PUT") or request.if_match is not None:
        return (yield from _authenticated(state, request))
    try:
        return (yield from _conditional(state, request))
    except BmcNoAnswerError as unanswered:
        if request.method != "PATCH" or request.secrets:
            raise
        try:
            current = yield from read(state, request.path)
        except BmcUnreachableError:
            raise unanswered from None
        if shows(current, request.body or {}):
            return Response(204)
        return (yield from _conditional(state, request))


def _conditional(state: BmcState, request: Request) -> Exchange[Response]:
    """PATCH with ``If-Match``, trying the forms of the tag that BMCs are known to want; three times at most.

    A target that cannot be read is written without a condition: then there is no tag to send.
    """
    used: list[str] = []
    last: Response | None = None
    for _ in range(state.limits.precondition_tries):
        got = yield from _authenticated(state, Request("GET", request.path))
        tags = tags_of(got) if got.is_success else ()
        fresh = next((tag for tag in tags if tag not in used), None)
        if last is not None and fresh is None:
            break
        last = yield from _authenticated(state, dataclasses.replace(request, if_match=fresh))
        if last.status not in (412, 428):
            break
        if fresh is not None:
            used.append(fresh)
    return last or Response(428)


def _authenticated(state: BmcState, request: Request) -> Exchange[Response]:
    """Send ``request`` with a session, logging in again once when the session is gone; return any answer."""
    if not request.is_authenticated:
        return (yield from transact(state, request))
    yield from ensure_session(state)
    token = state.token
    response = yield from transact(state, request)
    if response.status == 401 and token is not None:
        yield from ensure_session(state, refused_token=token)
        response = yield from transact(state, request)
    return response


def shows(current: Any, wanted: Any) -> bool:
    """Return whether ``current`` has every value of ``wanted`` (objects compared by the members of ``wanted``)."""
    if isinstance(wanted, Mapping):
        return isinstance(current, Mapping) and all(
            shows(current.get(key), value) for key, value in wanted.items() if not str(key).startswith("@")
        )
    if isinstance(wanted, list):
        return (
            isinstance(current, list)
            and len(current) >= len(wanted)
            and all(shows(have, want) for have, want in zip(current, wanted, strict=False))
        )
    return bool(current == wanted) and isinstance(current, bool) == isinstance(wanted, bool)


def list_members(state: BmcState, path: str) -> Exchange[Collection]:
    """Return the members of the collection at ``path``, over all pages, without reading members that are links.

    What is missing, repeated or odd is told in ``problems``; a page that points back to an earlier one ends the walk.
    """
    members: dict[str, Member] = {}
    problems: list[str] = []
    seen: set[str] = set()
    page_uri: str | None = path
    expected: int | None = None
    listed = 0
    while page_uri is not None:
        seen.add(page_uri)
        page = yield from read(state, page_uri)
        expected = _count(page) if expected is None else expected
        listed += _take_members(page, members, problems)
        page_uri = _next_page(page)
        if page_uri is not None and (page_uri in seen or len(seen) >= state.limits.pages):
            problems.append(f"the page link {page_uri} leads back or never ends")
            page_uri = None
    if expected is not None and expected not in (len(members), listed):
        problems.append(f"the BMC announced {expected} members and listed {listed}")
    return Collection(path, tuple(members.values()), tuple(problems))


def _count(page: JsonObject) -> int | None:
    value = page.get("Members@odata.count")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _take_members(page: JsonObject, members: dict[str, Member], problems: list[str]) -> int:
    """Add the members of one page and return how many it lists; a single object stands for a list of one."""
    listed = page.get("Members")
    entries = listed if isinstance(listed, list) else [listed] if isinstance(listed, dict) else []
    if listed is None:
        problems.append("the collection has no Members")
    if "error" in page:
        texts = [message.id or message.text for message in messages_in(page)]
        problems.append(f"the collection carries an error: {', '.join(texts) or 'without text'}")
    for entry in entries:
        uri = entry.get("@odata.id") if isinstance(entry, dict) else None
        if not isinstance(uri, str) or not uri:
            problems.append("a member has no @odata.id")
            continue
        body = entry if len([key for key in entry if not key.startswith("@")]) > 0 else None
        members.setdefault(uri.rstrip("/").lower(), Member(uri, body))
    return len(entries)


def _next_page(page: JsonObject) -> str | None:
    for key in ("Members@odata.nextLink", "@odata.nextLink"):
        link = page.get(key)
        if isinstance(link, dict):
            link = link.get("@odata.id")
        if isinstance(link, str) and link:
            return link
    return None


def member_uri(resource: Mapping[str, Any], *names: str) -> str | None:
    """Return the URI that ``resource[name]...`` links to, or None when there is no such link."""
    value: Any = resource
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    uri = value.get("@odata.id") if isinstance(value, Mapping) else None
    return uri if isinstance(uri, str) and uri else None


def require_uri(state: BmcState, resource: Mapping[str, Any], *names: str) -> str:
    """Return the URI of a link that must be there; raises BmcAnswerError naming the resource and the link."""
    uri = member_uri(resource, *names)
    if uri is None:
        raise BmcAnswerError(
            f"the BMC does not offer {'/'.join(names)}",
            where=state.where("GET", str(resource.get("@odata.id") or "?")),
            expected=f"a link {'/'.join(names)}",
            found="no such link",
        )
    return uri
