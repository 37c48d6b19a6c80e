"""One BMC: the anonymous service root first, then its identity with a login that may be sent there.

A BMC whose certificate nobody pinned may be anybody. Factory logins may be sent to it, since they are printed in
manuals; a login that opens other machines too may not, unless somebody named this very host.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from metalwright.errors import BmcAnswerError, BmcAuthError, BmcUnreachableError, RedfishError
from metalwright.redfish.async_client import AsyncClient
from metalwright.redfish.client import Contact
from metalwright.redfish.credentials import LoginLatch
from metalwright.redfish.discovery.sighting import Outcome, RootFacts, Sighting
from metalwright.redfish.discovery.targets import Target
from metalwright.redfish.inventory import read_found
from metalwright.redfish.logins import Login
from metalwright.redfish.state import Limits


@dataclass(frozen=True)
class Expected:
    """The node whose BMC should be at a place, with its pinned and announced certificates and its own logins."""

    node: str
    fingerprint: str | None
    logins: tuple[Login, ...] = ()
    announced: frozenset[str] = frozenset()

    def is_trusted(self, fingerprint: str | None) -> bool:
        """Whether the node's own logins may go to who shows this certificate."""
        return self.fingerprint is not None and fingerprint in {self.fingerprint, *self.announced}


class Knowledge(Protocol):
    """What is known before a visit."""

    def expected_at(self, target: Target) -> Expected | None:
        """The node whose BMC should be there."""
        ...

    def factory_logins(self, vendor: str | None) -> Sequence[Login]:
        """Logins that machines leave the factory with, in the order to try."""
        ...

    def unit_logins(self, target: Target, root: RootFacts) -> Sequence[Login]:
        """The factory login of this very unit, if a sticker list tells it and something names the unit."""
        ...

    def site_login(self) -> Login | None:
        """A login that opens more than one machine."""
        ...

    @property
    def latch(self) -> LoginLatch:
        """The memory of refused logins."""
        ...


async def visit(target: Target, knowledge: Knowledge, limits: Limits) -> Sighting:
    """Look at one target within ``limits.deadline_s``; never raises for what a BMC does."""
    begun = time.monotonic()
    try:
        async with asyncio.timeout(limits.deadline_s):
            why = await _why_silent(target, limits.connect_timeout_s)
            sighting = (
                await _visit(target, knowledge, limits) if why is None else Sighting(target, "nothing", error=why)
            )
    except TimeoutError:
        sighting = Sighting(target, "deadline", error=f"no complete answer within {limits.deadline_s:g} s")
    except RedfishError as error:
        sighting = Sighting(target, _outcome_of(error), error=_one_line(error))
    return replace(sighting, seconds=round(time.monotonic() - begun, 3))


async def _why_silent(target: Target, timeout_s: float) -> str | None:
    """Why nothing accepts connections there, as at most addresses of a prefix; None where something does."""
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(target.place.host, target.place.port)
    except socket.gaierror as error:
        return f"no address is known for this name: {error.strerror}"
    except TimeoutError:
        return f"no connection within {timeout_s:g} s"
    except OSError as error:
        return os.strerror(error.errno) if error.errno else str(error)
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(1.0):
            await writer.wait_closed()
    return None


async def _visit(target: Target, knowledge: Knowledge, limits: Limits) -> Sighting:
    contact = Contact(target.url, key=target.key, limits=limits, allow_http=target.scheme == "http")
    async with AsyncClient(contact) as client:
        root = RootFacts.of(await client.root())
        fingerprint = client.fingerprint
        expected = knowledge.expected_at(target)
        is_known = expected is not None and expected.is_trusted(fingerprint)
        logins = _logins(target, knowledge, root, expected if is_known else None)
        seen = Sighting(target, "no-login", root=root, fingerprint=fingerprint, is_first_use=not is_known)
        key = expected.node if is_known and expected is not None else latch_key_of(target, fingerprint)
        try:
            login = await _log_in(client, logins, key, knowledge.latch)
            found = await read_found(client, address=target.place.host)
        except BmcAuthError as error:
            if expected is not None and expected.fingerprint is not None and not is_known:
                return replace(seen, outcome="failed", error=_changed(expected, fingerprint))
            return replace(seen, outcome="login-refused" if logins else "no-login", error=_one_line(error))
        except BmcAnswerError as error:
            return replace(seen, outcome="failed", error=_one_line(error))  # it has a service root, so it is a BMC
    outcome: Outcome = "identified" if found.hosts else "no-host"
    origin = login.origin if login is not None else None
    return replace(seen, outcome=outcome, reports=found.hosts, hostless=found.hostless, login=origin)


async def _log_in(client: AsyncClient, logins: Sequence[Login], key: str, latch: LoginLatch) -> Login | None:
    """The first login that the BMC takes, over the connections that showed its certificate; None: anonymous."""
    refused: BmcAuthError | None = None
    for login in logins:
        client.become(login.credentials, key=key, latch=latch)
        try:
            await client.login()
        except BmcAuthError as error:
            refused = error
        else:
            return login
    if refused is not None:
        raise refused
    return None


def _logins(target: Target, knowledge: Knowledge, root: RootFacts, expected: Expected | None) -> tuple[Login, ...]:
    own = expected.logins if expected is not None else ()
    site = knowledge.site_login()
    may_send_site = expected is not None or target.is_named
    unit = knowledge.unit_logins(target, root)
    factory = knowledge.factory_logins(root.vendor)
    logins = [*own, *([site] if site is not None and may_send_site else []), *unit, *factory]
    unique: dict[tuple[str, str], Login] = {}
    for login in logins:
        unique.setdefault((login.credentials.username, login.credentials.password), login)
    return tuple(unique.values())


def latch_key_of(target: Target, fingerprint: str | None) -> str:
    """The name of an unclaimed BMC: its address, and its certificate since addresses are given to others."""
    return target.key if fingerprint is None else f"{target.key} {fingerprint[:16]}"


def _changed(expected: Expected, fingerprint: str | None) -> str:
    return (
        f"another certificate than the one pinned for {expected.node} (pinned {expected.fingerprint}, shown "
        f"{fingerprint}): its login was not sent; if the certificate was renewed on purpose, pin it anew"
    )


def _outcome_of(error: RedfishError) -> Outcome:
    """What an error means of somebody who accepted a connection."""
    if isinstance(error, BmcUnreachableError):
        return "deadline" if _is_silence(error) else "failed"
    if isinstance(error, BmcAnswerError):
        return "no-redfish"
    return "login-refused" if isinstance(error, BmcAuthError) else "failed"


def _is_silence(error: BmcUnreachableError) -> bool:
    return "no answer within" in f"{error.found}" or "time for this BMC" in error.what


def _one_line(error: RedfishError) -> str:
    """The error for one line of a table: where, what, the BMC's own words, what to do."""
    parts = [f"{error.where}: {error.brief}", *([f"hint: {error.hint}"] if error.hint else [])]
    return "; ".join(" ".join(part.split()) for part in parts)
