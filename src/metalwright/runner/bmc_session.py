"""A logged-in session with the BMC of a node: the right address, the pinned certificate, each login tried once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from metalwright.errors import BmcAuthError
from metalwright.journal.bmcs import LoginLatch
from metalwright.redfish import Contact, Credentials, Limits
from metalwright.redfish.async_client import AsyncClient
from metalwright.redfish.links import Declared
from metalwright.secrets.bmc_credentials import Candidate
from metalwright.workspace import Endpoint, Workspace


@dataclass(frozen=True)
class BmcSession:
    """An open client and the login that opened it."""

    client: AsyncClient
    login: Candidate
    endpoint: Endpoint


def contact(workspace: Workspace, node: str, endpoint: Endpoint, login: Candidate) -> Contact:
    """How the Redfish client reaches the BMC; its pin and refused logins lie in the journal under the node's name."""
    settings, declared = workspace.repository.site.redfish, workspace.repository.node(node)
    return Contact(
        endpoint.url,
        Credentials(login.user, login.password.reveal()),
        key=node,
        pins=workspace.journal.pins,
        latch=LoginLatch(workspace.journal.refused_logins, workspace.bmc_credentials.latch_key),
        limits=Limits(
            connect_timeout_s=settings.connect_timeout_s,
            read_timeout_s=settings.read_timeout_s,
            deadline_s=settings.bmc_deadline_s,
            in_flight=settings.requests_in_flight,
        ),
        declared=Declared(serial=declared.serial, uuid=declared.uuid),
    )


@asynccontextmanager
async def open_bmc(workspace: Workspace, node: str, endpoint: Endpoint | None = None) -> AsyncIterator[BmcSession]:
    """Log in with the first login that works, of those that this BMC has not refused before.

    Raises:
        BmcAuthError: every login was refused, now or earlier.
        BmcCertificateError, BmcUnreachableError: nothing was sent.
    """
    endpoint = endpoint or workspace.bmc_endpoint(node)
    refusal: BmcAuthError | None = None
    for login in workspace.bmc_credentials.candidates(node):
        async with AsyncClient(contact(workspace, node, endpoint, login)) as client:
            try:
                await client.login()
            except BmcAuthError as error:
                refusal = error
                continue
            yield BmcSession(client, login, endpoint)
            return
    raise refusal or BmcAuthError(
        "no login is known for this BMC",
        where=node,
        hint="name the factory login in site.yaml: factory_credentials",
    )
