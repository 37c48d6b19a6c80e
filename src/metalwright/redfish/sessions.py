"""Logging in and out: one session for each BMC and client, reused, and deleted at the end.

A refused login is final and remembered in the latch, so that nobody sends the same wrong password again. Basic
authentication is used only at a BMC that has no session service at all, and a log line says so.
"""

from __future__ import annotations

import base64
import logging

from metalwright.errors import BmcAnswerError, BmcAuthError, BmcRefusedError, BmcUnreachableError, RedfishError
from metalwright.redfish.credentials import Credentials
from metalwright.redfish.failures import ODD_ANSWER, not_json_error, refusal_error
from metalwright.redfish.messages import describe, messages_in
from metalwright.redfish.policy import retry_after_s, transact
from metalwright.redfish.quirks import behaviour_for
from metalwright.redfish.state import BmcState
from metalwright.redfish.wire import Enter, Exchange, JsonObject, Leave, Request, Response, Sleep, path_of

LOG = logging.getLogger(__name__)
ROOT_PATHS = ("/redfish/v1/", "/redfish/v1")
DEFAULT_SESSIONS = "/redfish/v1/SessionService/Sessions"
TURN_POLL_S = 0.1


def fetch_root(state: BmcState) -> Exchange[JsonObject]:
    """Return the service root, read without credentials; with or without trailing slash, whichever exists.

    A BMC that (wrongly) wants authentication for its root gives an empty object: the log-in goes to the usual place.
    """
    if state.root is None:
        root, refusal = yield from _root_at_either_path(state, is_authenticated=False)
        if root is None and (refusal is None or refusal.status not in (401, 403)):
            raise _no_root(state, refusal)
        state.root, state.behaviour = root or {}, behaviour_for(root or {})
    return state.root


def read_root(state: BmcState) -> Exchange[JsonObject]:
    """Return the service root, read with a session where the BMC does not show it otherwise."""
    root = yield from fetch_root(state)
    if not root:
        yield from ensure_session(state)
        found, refusal = yield from _root_at_either_path(state, is_authenticated=True)
        if found is None:
            raise refusal or _no_root(state, refusal)
        root = state.root = found
        state.behaviour = behaviour_for(root)
    return root


def is_root(path: str) -> bool:
    """Return whether ``path`` is the service root, with or without trailing slash."""
    return path.rstrip("/") == ROOT_PATHS[1]


def _root_at_either_path(
    state: BmcState, *, is_authenticated: bool
) -> Exchange[tuple[JsonObject | None, RedfishError | None]]:
    """Try both forms of the root's path: the root, or None and the first refusal that says more than "not here"."""
    refusal: RedfishError | None = None
    for path in ROOT_PATHS:
        request = Request("GET", path, is_authenticated=is_authenticated)
        response = yield from transact(state, request)
        if response.is_success:
            root = response.json_object()
            if root is None:
                raise not_json_error(state, request, response)
            return root, None
        error = refusal_error(state, request, response)
        if response.status not in (401, 403, 404):
            raise error
        if refusal is None or refusal.status == 404:
            refusal = error
    return None, refusal


def _no_root(state: BmcState, refusal: RedfishError | None) -> BmcAnswerError:
    return BmcAnswerError(
        "there is no Redfish service at this address",
        where=state.where("GET", ROOT_PATHS[0]),
        status=refusal.status if refusal else None,
        expected="a service root",
        found=refusal.found if refusal else None,
        hint="check address and port, and that Redfish is enabled on this BMC",
    )


def ensure_session(state: BmcState, refused_token: str | None = None) -> Exchange[None]:
    """Log in unless that was done; with ``refused_token``, replace a session that the BMC has forgotten.

    Only one caller of a client logs in; the others wait for it. Raises BmcAuthError when the credential is refused or
    was refused before.
    """
    if state.credentials is None or (state.is_logged_in and refused_token is None):
        return
    yield Enter()
    refused_uri = None
    if refused_token is not None and state.token == refused_token:
        refused_uri = state.session_uri
        state.forget_session()
    if not state.is_logged_in:
        yield from _login(state, state.credentials, is_renewal=refused_token is not None)
        if refused_uri is not None and refused_uri != state.session_uri:
            yield from _delete_session(state, refused_uri)
    yield Leave()


def _login(state: BmcState, credentials: Credentials, *, is_renewal: bool) -> Exchange[None]:
    """Log in when it is our turn at this BMC: a refusal is known to the next one before it tries."""
    root = yield from fetch_root(state)
    credential_id = credentials.identifier(state.latch.hmac_key)
    yield from _take_turn(state)
    try:
        _check_latch(state, credentials, credential_id)
        if not _has_sessions(root):
            yield from _use_basic(state, credentials, credential_id)
            return
        request = Request(
            "POST",
            _sessions_uri(root),
            {"UserName": credentials.username, "Password": credentials.password},
            is_authenticated=False,
            is_harmless_twice=True,
        )
        response = yield from _post_session(state, request)
        if response.status in (404, 405, 501) and not is_renewal:
            yield from _use_basic(state, credentials, credential_id)
            return
        if not response.is_success:
            raise _login_error(state, request, response, credential_id)
        _keep_session(state, request, response)
    finally:
        state.latch.leave(state.key)


def _take_turn(state: BmcState) -> Exchange[None]:
    give_up_at = state.clock() + state.limits.turn_s
    while not state.latch.try_enter(state.key):
        remaining_s = state.remaining_s()
        if state.clock() > give_up_at or (remaining_s is not None and remaining_s <= TURN_POLL_S):
            raise BmcUnreachableError(
                "another process is logging in at this BMC and does not come to an end",
                where=state.where("POST", DEFAULT_SESSIONS),
                found=f"its turn is not over after {state.limits.turn_s:g} s",
                hint="look for a metalwright or pyinfra process that hangs",
            )
        yield Sleep(TURN_POLL_S)


def _check_latch(state: BmcState, credentials: Credentials, credential_id: str) -> None:
    if state.latch.is_latched(state.key, credential_id):
        raise BmcAuthError(
            "this credential was refused by this BMC before; it is not sent again",
            where=state.where("POST", DEFAULT_SESSIONS),
            found=f"user {credentials.username!r} is latched",
            hint="correct the credential (a new one is tried at once); if the password was repaired on the BMC: "
            f"metalwright credentials clear {state.key}",
        )


def _has_sessions(root: JsonObject) -> bool:
    """Return whether the root names a session service; a root that could not be read is given the benefit."""
    links = root.get("Links")
    return not root or "SessionService" in root or (isinstance(links, dict) and "Sessions" in links)


def _sessions_uri(root: JsonObject) -> str:
    links = root.get("Links")
    sessions = links.get("Sessions") if isinstance(links, dict) else None
    uri = sessions.get("@odata.id") if isinstance(sessions, dict) else None
    return uri if isinstance(uri, str) and uri.startswith("/") else DEFAULT_SESSIONS


def _post_session(state: BmcState, request: Request) -> Exchange[Response]:
    """Send the login; while the session table is full, wait for a free place within the budget."""
    give_up_at = state.clock() + state.limits.sessions_full_s
    while True:
        response = yield from transact(state, request)
        state.logins += 1
        if not _is_table_full(state, response):
            return response
        delay_s = retry_after_s(response) or 5.0
        remaining_s = state.remaining_s()
        if state.clock() + delay_s > give_up_at or (remaining_s is not None and delay_s >= remaining_s):
            raise BmcRefusedError(
                "all sessions of the BMC are in use",
                where=state.where("POST", request.path),
                status=response.status,
                found=describe(response, state.secrets),
                hint="close other management programs, or wait until their sessions expire",
            )
        yield Sleep(delay_s)


def _is_table_full(state: BmcState, response: Response) -> bool:
    names = {message.name for message in messages_in(response.json())}
    return response.status in (400, 409, 503) and bool(names & state.behaviour.sessions_full_ids)


def _login_error(state: BmcState, request: Request, response: Response, credential_id: str) -> RedfishError:
    """Return the error for a refused login, and latch the credential when the refusal is about it."""
    names = {message.name for message in messages_in(response.json())}
    is_refused = response.status in (401, 403) or names & state.behaviour.login_refused_ids
    if is_refused and "PasswordChangeRequired" not in names:
        return _refuse(state, request, response, credential_id)
    return refusal_error(state, request, response)


def _refuse(state: BmcState, request: Request, response: Response, credential_id: str) -> BmcAuthError:
    user = state.credentials.username if state.credentials else ""
    state.forget_session()
    state.latch.latch(state.key, credential_id, f"HTTP {response.status} for user {user}")
    return BmcAuthError(
        f"the BMC refused the login of user {user!r}",
        where=state.where(request.method, request.path),
        status=response.status,
        message_ids=tuple(message.id for message in messages_in(response.json()) if message.id),
        found=describe(response, state.secrets),
        hint="correct the credential of this BMC; the same one is not sent again, since BMCs lock accounts",
    )


def _keep_session(state: BmcState, request: Request, response: Response) -> None:
    token = response.header("x-auth-token")
    location = response.header("location") or (response.json_object() or {}).get("@odata.id")
    if not token:
        raise BmcAnswerError(
            "the BMC accepted the login but gave no token",
            where=state.where("POST", request.path),
            status=response.status,
            expected="an X-Auth-Token header",
            hint=ODD_ANSWER,
            found=describe(response, state.secrets),
        )
    state.token, state.session_uri = token, path_of(location)
    for message in messages_in(response.json()):
        if message.name == "PasswordChangeRequired":
            state.password_change_uri = message.args[0] if message.args else None


def _use_basic(state: BmcState, credentials: Credentials, credential_id: str) -> Exchange[None]:
    """Fall back to Basic, and prove the credential with one read before anybody else uses it."""
    pair = f"{credentials.username}:{credentials.password}".encode()
    state.basic = "Basic " + base64.b64encode(pair).decode("ascii")
    LOG.warning("%s has no session service: using Basic authentication", state.base_url)
    systems = (state.root or {}).get("Systems")
    uri = systems.get("@odata.id") if isinstance(systems, dict) else None
    request = Request("GET", uri if isinstance(uri, str) else "/redfish/v1/Systems")
    response = yield from transact(state, request)
    if response.status == 401:
        raise _refuse(state, request, response, credential_id)


def logout(state: BmcState) -> Exchange[None]:
    """Delete the session. Never raises: whoever closes a client must not fail because the BMC is gone."""
    uri, token = state.session_uri, state.token
    if token is None or uri is None:
        state.forget_session()
        return
    deadline, state.expires_at = state.expires_at, state.clock() + state.limits.logout_timeout_s
    try:
        yield from _delete_session(state, uri)
    finally:
        state.expires_at = deadline
        state.forget_session()


def _delete_session(state: BmcState, uri: str) -> Exchange[None]:
    """Give a place in the session table back; that this failed is logged and nothing more."""
    request = Request("DELETE", uri, timeout_s=state.limits.logout_timeout_s, is_harmless_twice=True)
    try:
        response = yield from transact(state, request)
        if not response.is_success and response.status not in (401, 404):
            LOG.warning("%s: the session was not deleted: HTTP %d", state.base_url, response.status)
    except RedfishError as error:
        LOG.warning("%s: the session was not deleted: %s", state.base_url, error.what)
