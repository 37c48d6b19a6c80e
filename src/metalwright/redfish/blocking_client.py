"""The blocking client, for the pyinfra connector: DMTF's ``redfish.rest.v1`` under our policy.

It works under gevent's patched sockets. Tamed on the way in: no retries (``max_retry=0``), no redirects (they would
carry the token to another host), no ``~/.netrc`` and proxy variables (``trust_env``), no logging of its own (it logs
headers with the session token), no login. The certificate is compared with the pin when a connection is made, before
anything is sent.
"""

from __future__ import annotations

import atexit
import json
import logging
import socket
import threading
import time
import weakref
from collections.abc import Mapping
from http.cookiejar import DefaultCookiePolicy
from types import TracebackType
from typing import Any, Self, TypeVar

from redfish.rest.v1 import HttpClient, RetriesExhaustedError  # type: ignore[import-untyped]  # has no types

from metalwright.redfish import collections, dialogue, sessions, tasks
from metalwright.redfish.blocking_exchange import Adapter, failure_of, hard_limit
from metalwright.redfish.client import Contact, split_target
from metalwright.redfish.collections import Collection
from metalwright.redfish.credentials import Credentials
from metalwright.redfish.pinning import ensure_pin, handshake_failure
from metalwright.redfish.pins import fingerprint_of, peer_context
from metalwright.redfish.tasks import Task
from metalwright.redfish.wire import (
    Enter,
    Exchange,
    JsonObject,
    Leave,
    Outcome,
    Peek,
    Peer,
    Request,
    Response,
    Send,
    Sleep,
    TransportFailure,
)

T = TypeVar("T")

logging.getLogger("redfish").setLevel(logging.CRITICAL + 1)


_OPEN: weakref.WeakSet[BlockingClient] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Delete the sessions of clients that nobody closed (an interrupted program)."""
    for client in list(_OPEN):
        client.close()


class BlockingClient:
    """One BMC, read and written over one session that is deleted on the way out, also at the exit of the process.

    Same promises as :class:`metalwright.redfish.async_client.AsyncClient`, one request at a time.
    """

    def __init__(self, contact: Contact) -> None:
        self.contact = contact
        self.state = contact.state()
        self._lock = threading.RLock()
        self._clients: dict[str, Any] = {}
        self._is_open = False

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Check the certificate pin and make ready; no HTTP request is sent yet.

        Raises BmcUnreachableError, or what the pin store raises to refuse a first use.
        """
        self.run(ensure_pin(self.state, self.contact.pins))
        self._is_open = True
        _OPEN.add(self)

    @property
    def fingerprint(self) -> str | None:
        """SHA-256 of the certificate that this BMC must show; None over http."""
        return self.state.fingerprint

    @property
    def is_first_use(self) -> bool:
        """Whether no certificate was pinned before."""
        return self.state.is_first_use

    def repin(self, fingerprint: str) -> None:
        """Expect another certificate from now on, over connections made anew; the session goes on."""
        self.state.fingerprint = fingerprint
        for client in self._clients.values():
            client._session.close()
        self._clients.clear()

    def close(self) -> None:
        """Delete the session and close all connections; never raises a RedfishError.

        It does not wait for a request that is under way: who interrupts a program does not want to.
        """
        if not self._is_open:
            return
        self._is_open = False
        _OPEN.discard(self)
        try:
            self._drive(sessions.logout(self.state))
        finally:
            for client in self._clients.values():
                client._session.close()
            self._clients.clear()

    def root(self) -> JsonObject:
        """Return the service root; no credential is sent for it."""
        return self.run(sessions.fetch_root(self.state))

    def login(self) -> None:
        """Log in now instead of at the first request; raises BmcAuthError."""
        self.run(sessions.ensure_session(self.state))

    def use(self, credentials: Credentials) -> None:
        """Go on with other credentials: the present session is deleted, the next request logs in anew."""
        self.run(sessions.logout(self.state))
        self.state.credentials, self.state.password_change_uri = credentials, None

    def get(self, path: str, *, timeout_s: float | None = None) -> JsonObject:
        """Return the resource at ``path``."""
        return self.run(dialogue.read(self.state, path, timeout_s=timeout_s))

    def collection(self, path: str) -> Collection:
        """Return the members of a collection over all its pages; see the asyncio client."""
        return self.run(collections.list_members(self.state, path))

    def patch(self, path: str, body: Mapping[str, Any], *, secrets: tuple[str, ...] = ()) -> Response:
        """Change properties, conditional on the present entity tag; read back what you wrote."""
        return self.write(Request("PATCH", path, body, secrets=secrets))

    def post(self, path: str, body: Mapping[str, Any], *, secrets: tuple[str, ...] = ()) -> Response:
        """Call an action or make a member. Raises BmcNoAnswerError when the effect is unknown."""
        return self.write(Request("POST", path, body, secrets=secrets))

    def delete(self, path: str) -> Response:
        """Remove a member."""
        return self.write(Request("DELETE", path))

    def write(self, request: Request) -> Response:
        """Carry out any write."""
        return self.run(dialogue.write(self.state, request))

    def finish_task(self, response: Response, *, timeout_s: float) -> Task | None:
        """Wait for the task that ``response`` (202) started; None when it started none."""
        return self.run(tasks.follow(self.state, response, timeout_s=timeout_s))

    def run(self, exchange: Exchange[T]) -> T:
        """Drive any dialogue made of this package's generators over :attr:`state`; one at a time.

        Each has the time and the requests that the limits give to one question.
        """
        with self._lock:
            self.state.start_clock()
            return self._drive(dialogue.bounded(self.state, exchange))

    def _drive(self, exchange: Exchange[T]) -> T:
        """Drive a dialogue to its end; the login lock is always free, since dialogues come one by one."""
        outcome: Outcome = None
        try:
            while True:
                try:
                    step = exchange.send(outcome)
                except StopIteration as stop:
                    result: T = stop.value
                    return result
                outcome = None
                if isinstance(step, Send):
                    outcome = self._send(step)
                elif isinstance(step, Peek):
                    outcome = self._peek(step)
                elif isinstance(step, Sleep):
                    time.sleep(step.seconds)
                elif not isinstance(step, Enter | Leave):
                    raise TypeError(f"unknown step {step!r}")
        finally:
            exchange.close()

    def _peek(self, step: Peek) -> Peer | TransportFailure:
        origin = self.contact.origin
        try:
            with (
                socket.create_connection((origin.host, origin.port), timeout=step.connect_timeout_s) as plain,
                peer_context().wrap_socket(plain) as secure,
            ):
                certificate = secure.getpeercert(binary_form=True) or b""
                return Peer(fingerprint_of(certificate), certificate)
        except OSError as error:
            return handshake_failure(error, step.connect_timeout_s)

    def _send(self, step: Send) -> Response | TransportFailure:
        client, path = self._client_for(step.target)
        body, headers = _body_of(step)
        try:
            with hard_limit(step.connect_timeout_s + step.read_timeout_s):
                answer = client._rest_request(
                    path,
                    method=step.method,
                    body=body,
                    headers=headers,
                    allow_redirects=False,
                    timeout=(step.connect_timeout_s, step.read_timeout_s),
                    max_retry=0,
                )
        except RetriesExhaustedError as error:
            return failure_of(error.__cause__, step)
        raw = answer._http_response.raw.headers
        received = tuple((str(name).lower(), str(value)) for name, value in raw.iteritems())
        return Response(answer.status, received, answer.read or b"")

    def _client_for(self, target: str) -> tuple[Any, str]:
        """Return DMTF's client for the origin of ``target``, and the path there."""
        base, path = split_target(self.state.base_url, target)
        if base not in self._clients:
            adapter = Adapter(self.fingerprint)
            client = HttpClient(base, check_connectivity=False, max_retry=0, https_adapter=adapter)
            client._session.mount("http://", adapter)
            client._session.trust_env = False
            client._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
            self._clients[base] = client
        return self._clients[base], path


def _body_of(step: Send) -> tuple[Any, dict[str, str]]:
    """Return body and headers as DMTF's client wants them: a dict is JSON, bytes are a file, a list is multipart."""
    headers = dict(step.headers)
    if step.upload is None:
        return (None if step.body is None else dict(step.body)), headers
    content = step.upload.path.read_bytes()
    if step.upload.parameters is None:
        return content, headers
    parameters = json.dumps(dict(step.upload.parameters))
    parts = [
        ("UpdateParameters", ("parameters.json", parameters, "application/json")),
        ("UpdateFile", (step.upload.path.name, content, "application/octet-stream")),
    ]
    return parts, {**headers, "Content-Type": "multipart/form-data"}
