"""A logged-in session with the BMC of a node: where it answers, the pinned certificate, each login tried once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from metalwright.errors import BmcUnreachableError
from metalwright.journal.bmcs import LoginLatch
from metalwright.redfish import Contact, MemoryPins
from metalwright.redfish.async_client import AsyncClient
from metalwright.redfish.links import Declared
from metalwright.redfish.logins import Login, as_logins, logged_in
from metalwright.redfish.pins import site_pins
from metalwright.redfish.places import Place
from metalwright.redfish.state import limits_of
from metalwright.workspace import Workspace


@dataclass(frozen=True)
class BmcSession:
    """An open client, the login that opened it, and where. ``is_first_use``: no certificate is pinned yet."""

    client: AsyncClient
    login: Login | None
    place: Place
    is_first_use: bool


def contact(workspace: Workspace, node: str, place: Place) -> Contact:
    """How the Redfish client reaches the BMC. A first use is not pinned here: the identity comes first."""
    declared, pinned = (
        workspace.repository.node(node),
        site_pins(workspace.repository, workspace.journal.pins).get(node),
    )
    return Contact(
        place.url,
        key=node,
        pins=MemoryPins({node: pinned} if pinned is not None else None),
        latch=LoginLatch.of(workspace.journal.refused_logins, workspace.bmc_credentials),
        limits=limits_of(workspace.repository.site.redfish),
        declared=Declared(serial=declared.serial, uuid=declared.uuid),
    )


@asynccontextmanager
async def open_bmc(workspace: Workspace, node: str, places: Sequence[Place] | None = None) -> AsyncIterator[BmcSession]:
    """Log in at the first of ``places`` (default: all where it may be) that answers, with the first login that works.

    Raises:
        BmcAuthError: every login was refused, now or earlier.
        BmcCertificateError, BmcUnreachableError: nothing was sent.
    """
    logins = as_logins(workspace.bmc_credentials.candidates(node))
    is_first_use = site_pins(workspace.repository, workspace.journal.pins).get(node) is None
    silent: BmcUnreachableError | None = None
    for place in workspace.bmc_places(node) if places is None else places:
        async with AsyncExitStack() as stack:
            try:
                client, login = await stack.enter_async_context(logged_in(contact(workspace, node, place), logins))
            except BmcUnreachableError as error:
                silent = silent or error
                continue
            yield BmcSession(client, login, place, is_first_use)
            return
    raise silent or BmcUnreachableError("this BMC has no address", where=node)


def pin_first_use(workspace: Workspace, node: str, session: BmcSession) -> None:
    """Pin the certificate of a machine whose identity has just agreed; nothing happens when one is pinned."""
    if session.is_first_use and session.client.fingerprint is not None:
        workspace.journal.pins.record(node, session.client.fingerprint)
