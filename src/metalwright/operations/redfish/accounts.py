"""Accounts of the BMC."""

from __future__ import annotations

from collections.abc import Sequence

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.facts.redfish import Accounts, Login
from metalwright.operations.redfish.requests import (
    Commands,
    contained,
    expect,
    line,
    look,
    patch,
    refuse,
    show_diff,
    unreadable,
)

STAGED = "{secret:staged-password}"


@operation()
@contained
def own_password() -> Commands:
    """Give the account that we log in with a password of our own, kept in the site's secret store.

    Staged durably, changed, proven by a login, then put in force; a run that was killed in between goes on where it
    stopped, since the staged password is tried first.
    """
    login = look(Login)
    if login is None or login["user"] is None:
        yield unreadable("who we are")
        return
    if login["origin"] == "environment":
        yield refuse("a BMC given by its address keeps its password: there is no store for a new one")
        return
    if login["origin"] == "current" and not login["is_staged"]:
        host.noop(f"user {login['user']} has a password of our own")
        return
    show_diff([line(f"password of {login['user']}", login["origin"], "our own")])
    if login["origin"] != "staged":
        yield StringCommand("SECRET", "stage")
        yield patch("@own-account", {"Password": STAGED}, is_unproven=True)
    yield StringCommand("LOGIN", "staged-password")
    yield StringCommand("SECRET", "promote")


@operation()
@contained
def enabled(users: Sequence[str], is_enabled: bool) -> Commands:
    """Have these accounts enabled or disabled. Accounts that do not exist are as good as disabled."""
    seen, login = look(Accounts), look(Login)
    if seen is None or login is None:
        yield unreadable("its accounts")
        return
    if not is_enabled and login["user"] in users:
        yield refuse(f"user {login['user']} is the one that we log in with")
        return
    found = {account["user"]: account for account in seen["accounts"]}
    missing = [user for user in users if user not in found]
    if is_enabled and missing:
        yield refuse(f"no such account: {', '.join(missing)}")
        return
    wrong = [found[user] for user in users if user in found and found[user]["is_enabled"] is not is_enabled]
    if not wrong:
        host.noop("accounts are as wanted")
        return
    for account in wrong:
        show_diff([line(f"account {account['user']}", account["is_enabled"], is_enabled)])
        yield patch(account["uri"], {"Enabled": is_enabled})
        yield expect(account["uri"], {"Enabled": is_enabled})
