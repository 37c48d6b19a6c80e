"""Authenticated requests over the policy: reads, conditional writes, collections. Still without I/O."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from metalwright.errors import BmcAnswerError, BmcNoAnswerError, BmcRefusedError, BmcUnreachableError
from metalwright.redfish.adaptations import MAX_FORMS, in_form, merged, platform_of, wanted_forms
from metalwright.redfish.etags import tags_of
from metalwright.redfish.failures import NOT_OFFERED, not_json_error, refusal_error
from metalwright.redfish.policy import transact
from metalwright.redfish.sessions import ensure_session, is_root, read_root
from metalwright.redfish.state import BmcState
from metalwright.redfish.wire import Exchange, JsonObject, Outcome, Request, Response, Send

T = TypeVar("T")


def bounded(state: BmcState, exchange: Exchange[T]) -> Exchange[T]:
    """Go through a dialogue within the request budget of one question: a BMC can lead on for ever.

    Raises BmcAnswerError at the first request beyond it.
    """
    sent = 0
    outcome: Outcome = None
    try:
        while True:
            try:
                step = exchange.send(outcome)
            except StopIteration as stop:
                result: T = stop.value
                return result
            sent += isinstance(step, Send)
            if isinstance(step, Send) and sent > state.limits.requests:
                raise BmcAnswerError(
                    "the BMC leads on without end",
                    where=state.where(step.method, step.target),
                    expected=f"an answer within {state.limits.requests} requests",
                    found="one more link to follow",
                    hint="update the firmware of this BMC, or leave this resource out",
                )
            outcome = yield step
    finally:
        exchange.close()


def perform(state: BmcState, request: Request) -> Exchange[Response]:
    """Send ``request`` with a session and return a 2xx response; log in again once when the session is gone.

    Raises a RedfishError for everything else.
    """
    response = yield from _authenticated(state, request)
    if not response.is_success:
        raise refusal_error(state, request, response)
    return response


def read(state: BmcState, path: str, *, timeout_s: float | None = None) -> Exchange[JsonObject]:
    """Return the resource at ``path``. Raises BmcAnswerError when the answer is no JSON object.

    Some BMCs make a resource only when its parent is read, so one that is not there is looked for once more behind a
    parent that this client has not read yet.
    """
    if is_root(path):
        return (yield from read_root(state))
    if state.snapshot is not None and path in state.snapshot:
        return state.snapshot[path]
    request = Request("GET", path, timeout_s=timeout_s)
    response = yield from _authenticated(state, request)
    parent = _parent_of(path)
    if response.status == 404 and parent is not None and parent not in state.paths_read:
        state.paths_read.add(parent)
        yield from _authenticated(state, Request("GET", parent, timeout_s=timeout_s))
        response = yield from _authenticated(state, request)
    if not response.is_success:
        raise refusal_error(state, request, response)
    state.paths_read.add(path.rstrip("/"))
    body = response.json_object()
    if body is None:
        raise not_json_error(state, request, response)
    if state.snapshot is not None:
        state.snapshot[path] = body
    return body


def _parent_of(path: str) -> str | None:
    """Return the path one level up, or None where that is the service root or not a plain path."""
    parent = path.rstrip("/").rpartition("/")[0]
    return parent if parent.startswith("/redfish/v1/") and "?" not in path else None


def write(state: BmcState, request: Request) -> Exchange[Response]:
    """Carry out a write as :func:`write_in_form` does, and return the BMC's answer."""
    _, response = yield from write_in_form(state, request)
    return response


def write_in_form(state: BmcState, request: Request) -> Exchange[tuple[Request, Response]]:
    """Carry out a write; return the form of it that the BMC took, and its answer.

    PATCH and PUT are conditional on the entity tag that the resource has at this moment. A refused write is sent in
    the other forms that BMCs are known to want (:mod:`metalwright.redfish.adaptations`), at once in the one that
    another BMC of the platform took.
    Raises BmcNoAnswerError when a POST was sent and not answered. A PATCH without an answer is settled by reading: it
    sets values, so it is repeated once when the resource does not show them.
    """
    platform = platform_of(state.root or {}, state.key)
    forms = known = state.forms.recall(platform)
    for _ in range(MAX_FORMS):
        tags: list[str | None] = []
        sent = in_form(request, forms)
        response = yield from _write_once(state, sent, tags)
        forms = merged(forms, wanted_forms(sent, response))
        if in_form(request, forms) != sent:
            continue
        if response.is_success or sent == request or forms != known:
            break
        forms = known = ()  # what the platform took once is not what this BMC takes
    if not response.is_success:
        raise refusal_error(state, sent, response, tags)
    if forms != known:
        state.forms.keep(platform, forms)
    return sent, response


def _write_once(state: BmcState, request: Request, tags: list[str | None]) -> Exchange[Response]:
    """Send one form of a write and return the BMC's answer, a refusal included; ``tags`` gets the conditions sent."""
    if request.method not in ("PATCH", "PUT") or request.if_match is not None:
        return (yield from _authenticated(state, request))
    try:
        return (yield from _conditional(state, request, tags))
    except BmcNoAnswerError as unanswered:
        if request.method != "PATCH" or request.secrets:
            raise
        try:
            current = yield from read(state, request.path)
        except BmcUnreachableError:
            raise unanswered from None
        if shows(current, request.body or {}):
            return Response(204)
        return (yield from _conditional(state, request, tags))


def _conditional(state: BmcState, request: Request, used: list[str | None]) -> Exchange[Response]:
    """PATCH with ``If-Match``, trying the forms of the tag that BMCs are known to want; three times at most.

    A target that cannot be read is written without a condition: then there is no tag to send.
    """
    last: Response | None = None
    for _ in range(state.limits.precondition_tries):
        got = yield from _authenticated(state, Request("GET", request.path))
        tags = tags_of(got) if got.is_success else ()
        fresh = next((tag for tag in tags if tag not in used), None)
        if last is not None and fresh is None:
            break
        used.append(fresh)
        last = yield from _authenticated(state, dataclasses.replace(request, if_match=fresh))
        if last.status not in (412, 428):
            break
    return last or Response(428)


def _authenticated(state: BmcState, request: Request) -> Exchange[Response]:
    """Send ``request`` with a session, logging in again when the session is gone; return any answer but a 401 for it.

    Raises BmcRefusedError for what stays closed to a fresh session.
    """
    if not request.is_authenticated:
        return (yield from transact(state, request))
    yield from ensure_session(state)
    for _ in range(state.limits.renewals):
        token = state.token
        response = yield from transact(state, request)
        if response.status != 401 or token is None:
            return response
        if request.path in state.closed_paths:
            raise _forbidden_error(state, request, response)
        yield from ensure_session(state, refused_token=token)
    response = yield from transact(state, request)
    if response.status == 401 and state.token is not None:
        state.closed_paths.add(request.path)
        raise _forbidden_error(state, request, response)
    return response


def _forbidden_error(state: BmcState, request: Request, response: Response) -> BmcRefusedError:
    """Return the error of a resource that stays closed to a session made a moment ago: the login itself is right."""
    refused = refusal_error(state, request, response)
    return BmcRefusedError(
        "the BMC does not show this to the user that we log in as",
        where=refused.where,
        status=refused.status,
        message_ids=refused.message_ids,
        found=refused.found,
        hint="give the account the role Administrator",
    )


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
            hint=NOT_OFFERED,
        )
    return uri
