"""The blocking client, for the pyinfra connector: DMTF's ``redfish.rest.v1`` under our policy.

It works under gevent's patched sockets. Tamed on the way in: no retries (``max_retry=0``), no redirects (they would
carry the token to another host), no ``~/.netrc`` and proxy variables (``trust_env``), no logging of its own (it logs
headers with the session token), no login. The certificate is compared with the pin when a connection is made, before
anything is sent.
"""

from __future__ import annotations

import atexit
import logging
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Mapping
from http.cookiejar import DefaultCookiePolicy
from types import TracebackType
from typing import Any, Self, TypeVar

import requests
import urllib3
from redfish.rest.v1 import HttpClient, RetriesExhaustedError  # type: ignore[import-untyped]  # has no types
from requests.adapters import HTTPAdapter

from metalwright.errors import BmcUnreachableError
from metalwright.redfish import dialogue, sessions, tasks
from metalwright.redfish.client import Contact
from metalwright.redfish.credentials import Credentials
from metalwright.redfish.dialogue import Collection
from metalwright.redfish.pins import fingerprint_of, normalise, peer_context
from metalwright.redfish.tasks import Task
from metalwright.redfish.wire import (
    Enter,
    Exchange,
    FailureKind,
    JsonObject,
    Leave,
    Outcome,
    Request,
    Response,
    Send,
    Sleep,
    TransportFailure,
)

T = TypeVar("T")

logging.getLogger("redfish").setLevel(logging.CRITICAL + 1)


def fetch_fingerprint(address: str, *, timeout_s: float = 30.0) -> str:
    """Return the SHA-256 of the certificate shown at ``address`` (64 hex digits); no HTTP request is sent.

    Raises BmcUnreachableError.
    """
    origin = Contact(address).origin
    try:
        with (
            socket.create_connection((origin.host, origin.port), timeout=timeout_s) as plain,
            peer_context().wrap_socket(plain) as secure,
        ):
            certificate = secure.getpeercert(binary_form=True) or b""
    except OSError as error:
        raise BmcUnreachableError(
            "the BMC cannot be reached",
            where=origin.url,
            found=str(error),
            hint="check the address, the management network and that the BMC is up",
        ) from error
    return fingerprint_of(certificate)


class _PinningAdapter(HTTPAdapter):
    """Accepts exactly one certificate, whoever signed it."""

    def __init__(self, fingerprint: str) -> None:
        self._fingerprint = fingerprint
        super().__init__(max_retries=0)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **kwargs: Any) -> None:
        """Make the pool with the pin."""
        super().init_poolmanager(connections, maxsize, block, assert_fingerprint=self._fingerprint, **kwargs)


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
        self.fingerprint: str | None = None
        self.is_first_use = False
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
        origin = self.contact.origin
        if origin.scheme == "https":
            pin = self.contact.pins.get(self.state.key)
            if pin is None:
                pin = fetch_fingerprint(origin.url, timeout_s=self.contact.limits.connect_timeout_s)
                self.contact.pins.record(self.state.key, pin)
                self.is_first_use = True
            self.fingerprint = normalise(pin)
        self._is_open = True
        _OPEN.add(self)

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
        return self.run(dialogue.list_members(self.state, path))

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
        """Drive any dialogue made of this package's generators over :attr:`state`; one at a time."""
        with self._lock:
            return self._drive(exchange)

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
                elif isinstance(step, Sleep):
                    time.sleep(step.seconds)
                elif not isinstance(step, Enter | Leave):
                    raise TypeError(f"unknown step {step!r}")
        finally:
            exchange.close()

    def _send(self, step: Send) -> Response | TransportFailure:
        client, path = self._client_for(step.target)
        try:
            answer = client._rest_request(
                path,
                method=step.method,
                body=None if step.body is None else dict(step.body),
                headers=dict(step.headers),
                allow_redirects=False,
                timeout=(step.connect_timeout_s, step.read_timeout_s),
                max_retry=0,
            )
        except RetriesExhaustedError as error:
            return _failure(error.__cause__, step)
        raw = answer._http_response.raw.headers
        headers = tuple((str(name).lower(), str(value)) for name, value in raw.iteritems())
        return Response(answer.status, headers, answer.read or b"")

    def _client_for(self, target: str) -> tuple[Any, str]:
        """Return DMTF's client for the origin of ``target``, and the path there."""
        base = self.state.base_url
        path = target
        if "://" in target:
            scheme, rest = target.split("://", 1)
            netloc, _, tail = rest.partition("/")
            base, path = f"{scheme}://{netloc}", f"/{tail}"
        if base not in self._clients:
            adapter = _PinningAdapter(self.fingerprint) if self.fingerprint else None
            client = HttpClient(base, check_connectivity=False, max_retry=0, https_adapter=adapter)
            client._session.trust_env = False
            client._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
            self._clients[base] = client
        return self._clients[base], path


def _chain(error: BaseException | None) -> list[BaseException]:
    """Return the error and everything that it wraps."""
    found: list[BaseException] = []
    todo = [error]
    while todo:
        item = todo.pop()
        if isinstance(item, BaseException) and item not in found:
            found.append(item)
            todo += [item.__cause__, getattr(item, "reason", None), *item.args]
    return found


def _failure(error: BaseException | None, step: Send) -> TransportFailure:
    """Return the kind of failure behind an exception of requests."""
    chain = _chain(error)
    text = str(chain[-1]) if chain else "no answer"
    if isinstance(error, requests.exceptions.SSLError):
        mismatch = next((str(item) for item in chain if "ingerprints did not match" in str(item)), None)
        if mismatch is not None:
            return TransportFailure(
                FailureKind.CERTIFICATE, f"sha256 {mismatch.rsplit('got', 1)[-1].split(chr(34))[1]}"
            )
        return TransportFailure(FailureKind.TLS, text)
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return TransportFailure(FailureKind.CONNECT_TIMEOUT, f"no answer within {step.connect_timeout_s:g} s")
    if isinstance(error, requests.exceptions.Timeout) or any(
        isinstance(item, urllib3.exceptions.ReadTimeoutError) for item in chain
    ):
        return TransportFailure(FailureKind.TIMEOUT, f"no answer within {step.read_timeout_s:g} s")
    if any(isinstance(item, urllib3.exceptions.NewConnectionError) for item in chain):
        return TransportFailure(FailureKind.CONNECT, text)
    if any(isinstance(item, ssl.SSLError) for item in chain):
        return TransportFailure(FailureKind.TLS, text)
    return TransportFailure(FailureKind.CLOSED, f"connection closed: {text}")
