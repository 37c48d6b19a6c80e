"""The asyncio client, for sweeps over many BMCs: DMTF's ``redfish.aio`` under our policy.

DMTF's client is given neither user nor password, so that it cannot log in or refresh a session by itself; it follows
no redirect. Below it, aiohttp compares the certificate with the pin on every connection before it sends anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp
from redfish.aio import (  # type: ignore[import-untyped]  # DMTF's library has no types
    AsyncRedfishClient,
    RedfishConnectionError,
    RedfishInvalidTargetError,
    RedfishTimeoutError,
)

from metalwright.redfish import collections, dialogue, links, sessions, tasks, updates
from metalwright.redfish.async_exchange import BoundedResponse, failure_of
from metalwright.redfish.client import Contact, Origin, split_target
from metalwright.redfish.collections import Collection
from metalwright.redfish.credentials import Credentials, LoginLatch
from metalwright.redfish.event_logs import LogEntry, read_event_log
from metalwright.redfish.evidence import read_evidence
from metalwright.redfish.pinning import ensure_pin, handshake_failure
from metalwright.redfish.pins import fingerprint_of, peer_context
from metalwright.redfish.tasks import Task
from metalwright.redfish.wire import (
    Enter,
    Exchange,
    FailureKind,
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
_TLS_CLOSE_S = 0.01
"""Aborted TLS connections close their sockets a few turns of the event loop later."""


class AsyncClient:
    """One BMC, read and written over one session that is deleted on the way out. Use it with ``async with``.

    ::

        async with AsyncClient(Contact("https://10.20.0.11", Credentials(user, password), pins=pins)) as client:
            root = await client.root()
            systems = await client.collection("/redfish/v1/Systems")

    At most ``limits.in_flight`` requests are open at a time and writes go one by one. ``is_first_use`` tells whether
    the certificate had no pin before; log in only when that is acceptable (leave ``credentials`` None to look first).
    Every method raises a RedfishError that names method, URL and the BMC's own words.
    """

    def __init__(self, contact: Contact) -> None:
        self.contact = contact
        self.state = contact.state()
        self.topology = links.Topology(declared=contact.declared)
        self._login_lock = asyncio.Lock()
        self._write_lock = asyncio.Lock()
        self._in_flight = asyncio.Semaphore(contact.limits.in_flight)
        self._session: aiohttp.ClientSession | None = None
        self._clients: dict[str, Any] = {}

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Check the certificate pin and make ready; no HTTP request is sent yet.

        Raises BmcUnreachableError, or what the pin store raises to refuse a first use.
        """
        await self._run(ensure_pin(self.state, self.contact.pins))
        pin = self.state.fingerprint
        connector = aiohttp.TCPConnector(
            ssl=aiohttp.Fingerprint(bytes.fromhex(pin)) if pin is not None else True,
            limit=self.contact.limits.in_flight,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=BoundedResponse,
        )

    @property
    def fingerprint(self) -> str | None:
        """SHA-256 of the certificate that this BMC must show; None over http."""
        return self.state.fingerprint

    @property
    def is_first_use(self) -> bool:
        """Whether no certificate was pinned before."""
        return self.state.is_first_use

    async def close(self) -> None:
        """Delete the session and close all connections; never raises a RedfishError."""
        if self._session is None:
            return
        try:
            await self._run(sessions.logout(self.state))
        finally:
            session, self._session = self._session, None
            await session.close()
            await asyncio.sleep(_TLS_CLOSE_S)

    async def root(self) -> JsonObject:
        """Return the service root; no credential is sent for it."""
        return await self._run(sessions.fetch_root(self.state))

    async def login(self) -> None:
        """Log in now instead of at the first request; raises BmcAuthError."""
        await self._run(sessions.ensure_session(self.state))

    def become(self, credentials: Credentials | None, *, key: str, latch: LoginLatch) -> None:
        """Go on as somebody else over the same connections and the same certificate; nothing is sent yet.

        ``key`` and ``latch`` as in :class:`Contact`: a sweep knows them only after the anonymous service root.
        """
        self.state.forget_session()
        self.state.credentials, self.state.key, self.state.latch = credentials, key, latch

    async def get(self, path: str, *, timeout_s: float | None = None) -> JsonObject:
        """Return the resource at ``path``."""
        return await self._run(dialogue.read(self.state, path, timeout_s=timeout_s))

    async def collection(self, path: str) -> Collection:
        """Return the members of a collection over all its pages (links, or whole members where the BMC embeds them).

        ``problems`` of the result says in what way the collection is incomplete; members are not read.
        """
        return await self._run(collections.list_members(self.state, path))

    async def find(self, expression: str) -> JsonObject:
        """Return what an expression such as ``@system/Bios`` leads to (:mod:`metalwright.redfish.links`).

        With ``*`` in it the answer is ``{"Members": [...], "problems": [...]}``. Raises BmcAnswerError when the BMC
        does not offer it.
        """
        found = await self._run(links.find(self.state, self.topology, expression))
        return dict(found.value) if isinstance(found.value, Mapping) else {"value": found.value}

    async def event_log(self, name: str, entries_uri: str, newest: int, problems: list[str]) -> list[LogEntry]:
        """Return the newest entries of an event log (of ``@event-logs``), oldest first; adds to ``problems``."""
        return await self._run(read_event_log(self.state, name, entries_uri, newest, problems))

    async def evidence(self) -> dict[str, Any]:
        """Return what is kept before a machine is disturbed; see :func:`metalwright.redfish.evidence.read_evidence`."""
        return await self._run(read_evidence(self.state, self.topology))

    async def patch(self, path: str, body: Mapping[str, Any], *, secrets: tuple[str, ...] = ()) -> Response:
        """Change properties, conditional on the present entity tag; read back what you wrote."""
        return await self._write(Request("PATCH", path, body, secrets=secrets))

    async def post(self, path: str, body: Mapping[str, Any], *, secrets: tuple[str, ...] = ()) -> Response:
        """Call an action or make a member. Raises BmcNoAnswerError when the effect is unknown."""
        return await self._write(Request("POST", path, body, secrets=secrets))

    async def delete(self, path: str) -> Response:
        """Remove a member."""
        return await self._write(Request("DELETE", path))

    async def finish_task(self, response: Response, *, timeout_s: float) -> Task | None:
        """Wait for the task that ``response`` (202) started; None when it started none."""
        return await self._run(tasks.follow(self.state, response, timeout_s=timeout_s))

    async def task_of_update(self, uri: str | None, *, is_accepted: bool) -> Task | None:
        """Return what the task of an update says now; see :func:`metalwright.redfish.updates.task_of_update`."""
        return await self._run(updates.task_of_update(self.state, self.topology, uri, is_accepted=is_accepted))

    async def _write(self, request: Request) -> Response:
        async with self._write_lock:
            return await self._run(dialogue.write(self.state, request))

    async def _run(self, exchange: Exchange[T]) -> T:
        """Drive a dialogue to its end, within the request budget."""
        exchange = dialogue.bounded(self.state, exchange)
        is_holding = False
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
                    async with self._in_flight:
                        outcome = await self._send(step)
                elif isinstance(step, Peek):
                    outcome = await self._peek(step)
                elif isinstance(step, Sleep):
                    await asyncio.sleep(step.seconds)
                elif isinstance(step, Enter):
                    await self._login_lock.acquire()
                    is_holding = True
                elif isinstance(step, Leave):
                    self._login_lock.release()
                    is_holding = False
        finally:
            exchange.close()
            if is_holding:
                self._login_lock.release()

    async def _peek(self, step: Peek) -> Peer | TransportFailure:
        origin = self.contact.origin
        try:
            async with asyncio.timeout(step.connect_timeout_s):
                _, writer = await asyncio.open_connection(origin.host, origin.port, ssl=peer_context())
        except (OSError, TimeoutError) as error:
            return handshake_failure(error, step.connect_timeout_s)
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(1.0):
                await writer.wait_closed()
        return Peer(fingerprint_of(certificate), certificate)

    async def _send(self, step: Send) -> Response | TransportFailure:
        client, path = self._client_for(step.target)
        timeout = aiohttp.ClientTimeout(
            total=step.connect_timeout_s + step.read_timeout_s,
            sock_connect=step.connect_timeout_s,
            connect=step.connect_timeout_s,
            sock_read=step.read_timeout_s,
        )
        body = None if step.body is None else dict(step.body)
        arguments: dict[str, Any] = {"headers": dict(step.headers), "timeout": timeout}
        if step.method not in ("GET", "HEAD"):
            arguments["body"] = body
        try:
            answer = await getattr(client, step.method.lower())(path, **arguments)
        except RedfishTimeoutError as error:
            is_connecting = isinstance(error.__cause__, aiohttp.ConnectionTimeoutError)
            kind = FailureKind.CONNECT_TIMEOUT if is_connecting else FailureKind.TIMEOUT
            limit_s = step.connect_timeout_s if is_connecting else step.read_timeout_s
            return TransportFailure(kind, f"no answer within {limit_s:g} s")
        except RedfishConnectionError as error:
            return failure_of(error.__cause__)
        except RedfishInvalidTargetError:
            return TransportFailure(FailureKind.BAD_LINK, "the link is not a URI on this BMC")
        except (OSError, ValueError) as error:
            return failure_of(error)
        headers = tuple((name.lower(), value) for name, value in answer.getheaders())
        return Response(answer.status, headers, answer.read)

    def _client_for(self, target: str) -> tuple[Any, str]:
        """Return DMTF's client for the origin of ``target``, and the path there."""
        base, path = split_target(self.state.base_url, target)
        if base not in self._clients:
            self._clients[base] = AsyncRedfishClient(base, session=self._session)
        return self._clients[base], path


__all__ = ["AsyncClient", "Contact", "Origin"]
