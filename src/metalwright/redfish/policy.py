"""The one policy for talking to a BMC: what is repeated, what is followed, what becomes which error.

:func:`transact` is one request with everything that may be done about its answer without knowing Redfish sessions.
Rules: a read is repeated within its own budget; a write is repeated only when it is sure that it was not carried out;
no redirect leaves the host or goes back to http; nothing outlasts the client's deadline.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from time import time as wall_clock
from urllib.parse import urljoin, urlsplit

from metalwright.errors import BmcAnswerError, BmcUnreachableError
from metalwright.redfish.failures import failure_error
from metalwright.redfish.messages import messages_in, shorten
from metalwright.redfish.state import BmcState
from metalwright.redfish.wire import (
    Exchange,
    FailureKind,
    Request,
    Response,
    Send,
    Sleep,
    TransportFailure,
    split_link,
)

TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
REDIRECTS = frozenset({301, 302, 307, 308})


@dataclass(slots=True)
class _Tries:
    """What one request already spent."""

    sent: int = 0
    writes_repeated: int = 0
    target: str = ""
    is_redirected: bool = False
    is_gzip_tried: bool = False


def transact(state: BmcState, request: Request) -> Exchange[Response]:
    """Send ``request`` and return the BMC's last word, whatever its status.

    Raises BmcUnreachableError, BmcNoAnswerError (a write without answer), BmcCertificateError, BmcTlsError, or
    BmcAnswerError (a redirect that must not be followed, an answer without end).
    """
    tries = _Tries(target=_own_path(state, request))
    while True:
        outcome = yield _send_step(state, request, tries)
        tries.sent += 1
        if isinstance(outcome, Response):
            state.has_answered = True
            delay_s = _after_response(state, request, outcome, tries)
            if delay_s is None:
                is_for_later = outcome.status == 202
                return replace(outcome, request=state.where(request.method, request.path)) if is_for_later else outcome
        elif isinstance(outcome, TransportFailure):
            delay_s = _after_failure(state, request, outcome, tries)
        else:
            raise TypeError(f"a transport answered a Send with {outcome!r}")
        if delay_s > 0:
            yield Sleep(delay_s)


def _own_path(state: BmcState, request: Request) -> str:
    """Return the path of a link; raises BmcAnswerError for a link that leaves this BMC."""
    if request.path.startswith("/") and not request.path.startswith("//"):
        return request.path
    link = split_link(request.path) and urlsplit(urljoin(f"{state.base_url}/", request.path))
    if link is None or f"{link.scheme}://{link.netloc}" != state.base_url:
        raise BmcAnswerError(
            "the BMC links to another host",
            where=state.where(request.method, request.path),
            expected=f"a link on {state.base_url}",
            found=shorten(request.path),
            hint="nothing was sent there",
        )
    return link.path + (f"?{link.query}" if link.query else "")


def _send_step(state: BmcState, request: Request, tries: _Tries) -> Send:
    """Return the next Send for ``request``; raises BmcUnreachableError at the deadline."""
    remaining_s = state.remaining_s()
    if remaining_s is not None and remaining_s <= 0:
        raise BmcUnreachableError(
            "the time for this BMC is used up",
            where=state.where(request.method, request.path),
            expected=f"all reads within {state.limits.deadline_s} s",
            found="deadline reached",
            hint="give it more time, or look why this BMC is slow",
        )
    read_s, connect_s = state.read_timeout_for(request), state.limits.connect_timeout_s
    if remaining_s is not None:
        read_s, connect_s = min(read_s, remaining_s), min(connect_s, remaining_s)
    headers = _headers(state, request, tries)
    return Send(request.method, tries.target, headers, request.body, connect_s, read_s, request.upload)


def _headers(state: BmcState, request: Request, tries: _Tries) -> dict[str, str]:
    """Return the headers: identity encoding unless the BMC needs gzip, since compression weakens entity tags."""
    gzip = tries.is_gzip_tried or state.is_gzip_needed
    headers = {"Accept": "application/json", "Accept-Encoding": "gzip" if gzip else "identity", "OData-Version": "4.0"}
    if not (state.is_connection_reused and state.behaviour.is_connection_reused):
        headers["Connection"] = "close"
    if request.if_match is not None:
        headers["If-Match"] = request.if_match
    if request.is_authenticated and state.token is not None:
        headers["X-Auth-Token"] = state.token
    elif request.is_authenticated and state.basic is not None:
        headers["Authorization"] = state.basic
    return headers


def _after_failure(state: BmcState, request: Request, failure: TransportFailure, tries: _Tries) -> float:
    """Return the seconds to wait before the next try, or raise what the failure means."""
    if failure.kind is FailureKind.CLOSED and tries.sent > 1:
        state.is_connection_reused = False
    delay_s = 0.0 if failure.kind is FailureKind.CLOSED and tries.sent == 1 else _backoff(state, tries)
    if _is_repeatable(state, request, failure, tries) and tries.sent < state.limits.reads and _fits(state, delay_s):
        return delay_s
    raise failure_error(state, request, failure)


def _is_repeatable(state: BmcState, request: Request, failure: TransportFailure, tries: _Tries) -> bool:
    """Return whether the request may be sent again after this failure.

    A resource that is known to be slow is not asked again: the BMC may still be working on the first question.
    """
    match failure.kind:
        case FailureKind.CONNECT | FailureKind.CONNECT_TIMEOUT:
            return state.has_answered
        case FailureKind.TIMEOUT:
            return request.is_read and tries.sent == 1 and not state.is_slow(request)
        case FailureKind.CLOSED:
            return request.is_read or (request.is_harmless_twice and tries.sent == 1)
        case _:
            return False


def _after_response(state: BmcState, request: Request, response: Response, tries: _Tries) -> float | None:
    """Return the seconds to wait before the next try, or None when the response is final."""
    if response.status in REDIRECTS and response.header("location"):
        tries.target = _redirect_target(state, request, response, tries)
        tries.is_redirected = True
        return 0.0
    if response.status == 406 and request.is_read and not (tries.is_gzip_tried or state.is_gzip_needed):
        tries.is_gzip_tried = True
        return 0.0
    if tries.is_gzip_tried and response.is_success:
        state.is_gzip_needed = True
    messages = () if response.is_success else messages_in(response.json())
    names = {message.name for message in messages}
    for message in messages:
        if message.name == "PasswordChangeRequired" and message.args:
            state.password_change_uri = message.args[0]
    if request.is_read:
        is_repeatable = response.status in TRANSIENT or (
            response.status >= 400 and names & state.behaviour.not_ready_ids
        )
        is_repeatable = bool(is_repeatable) and tries.sent < state.limits.reads
    else:
        not_done = response.status == 429 or bool(names & state.behaviour.write_retry_ids)
        is_repeatable = not_done and tries.writes_repeated < state.limits.write_retries
        tries.writes_repeated += is_repeatable
    if not is_repeatable:
        return None
    delay_s = retry_after_s(response)
    delay_s = _backoff(state, tries) if delay_s is None else min(delay_s, state.limits.retry_after_max_s)
    return delay_s if _fits(state, delay_s) else None


def _redirect_target(state: BmcState, request: Request, response: Response, tries: _Tries) -> str:
    """Return where to send the request again, method and body kept; raises BmcAnswerError for anywhere unsafe."""
    link = response.header("location") or ""
    location = urljoin(urljoin(f"{state.base_url}/", tries.target), link) if split_link(link) is not None else link
    old, new = urlsplit(state.base_url), split_link(location)
    is_same = new is not None and (new.hostname, new.scheme, new.username) == (old.hostname, old.scheme, None)
    if new is not None and new.scheme == "http":
        is_same = is_same and new.netloc == old.netloc
    if new is None or tries.is_redirected or not is_same:
        raise BmcAnswerError(
            "the BMC redirects a second time" if is_same else "the BMC redirects to another host or protocol",
            where=state.where(request.method, request.path),
            status=response.status,
            expected=f"an answer, or one redirect on {old.scheme}://{old.hostname}",
            found=f"HTTP {response.status}; Location: {shorten(location)}",
            hint="nothing was sent there; check the address of the BMC",
        )
    path = new.path + (f"?{new.query}" if new.query else "")
    return path if new.netloc == old.netloc else f"{new.scheme}://{new.netloc}{path}"


def retry_after_s(response: Response) -> float | None:
    """Return the seconds that ``Retry-After`` asks for (a number or a date), or None."""
    value = (response.header("retry-after") or "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - wall_clock()) if value else None
    except (TypeError, ValueError, OverflowError):
        return None


def _backoff(state: BmcState, tries: _Tries) -> float:
    return float(state.limits.backoff_s * 2 ** (tries.sent - 1))


def _fits(state: BmcState, delay_s: float) -> bool:
    """Return whether there is still time to wait ``delay_s``."""
    remaining_s = state.remaining_s()
    return remaining_s is None or delay_s < remaining_s
