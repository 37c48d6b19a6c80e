"""Getting a session with one of several logins: each is sent once, a refused one never again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from metalwright.errors import BmcAuthError
from metalwright.redfish.async_client import AsyncClient
from metalwright.redfish.client import Contact
from metalwright.redfish.credentials import PASSWORD_VARIABLE, USER_VARIABLE, Credentials, credentials_of_environment
from metalwright.secrets.bmc_credentials import Candidate


@dataclass(frozen=True, slots=True)
class Login:
    """A login to try and where it comes from (``factory``, ``sticker``, ``current``, ``environment``), for messages."""

    credentials: Credentials
    origin: str


def login_of_environment() -> Login | None:
    """The login of the environment, if it has one. Raises UsageError for half a login."""
    credentials = credentials_of_environment()
    return None if credentials is None else Login(credentials, "environment")


@asynccontextmanager
async def logged_in(contact: Contact, logins: Sequence[Login]) -> AsyncIterator[tuple[AsyncClient, Login | None]]:
    """A client with a session of the first login that the BMC takes, and that login.

    Without any login the client reads anonymously. The session is deleted at the end of the block.

    Raises:
        BmcAuthError: every login was refused, now or before.
        BmcUnreachableError, BmcCertificateError: nothing was sent.
    """
    last: BmcAuthError | None = None
    for login in logins or (None,):
        credentials = login.credentials if login is not None else None
        async with AsyncClient(replace(contact, credentials=credentials)) as client:
            try:
                await client.login()
            except BmcAuthError as error:
                last = error
                continue
            yield client, login
            return
    raise last or BmcAuthError(
        "there is no login to try",
        where=contact.origin.url,
        hint=f"set {USER_VARIABLE} and {PASSWORD_VARIABLE}, or name factory_credentials in site.yaml",
    )


def as_logins(candidates: Sequence[Candidate], origin: str | None = None) -> tuple[Login, ...]:
    """Candidates of the secret store as logins of the client; ``origin`` replaces where they say they come from."""
    return tuple(Login(Credentials(item.user, item.password.reveal()), origin or item.origin) for item in candidates)
