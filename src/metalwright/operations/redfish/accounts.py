"""Accounts of the BMC: metalwright's own with a password of its own, the factory's shut, the lock-out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyinfra.api.command import QuoteString, StringCommand
from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.facts.redfish import Accounts, Login
from metalwright.operations.redfish.requests import (
    Commands,
    contained,
    expect,
    line,
    look,
    not_offered,
    patch,
    post,
    refuse,
    show_diff,
    unreadable,
)

STAGED = "{secret:staged-password}"
ROLE = "Administrator"
Seen = Mapping[str, Any]


@operation()
@contained
def own_login(user: str, made_before: str | None = None) -> Commands:
    """Log in as ``user``, an account of metalwright's own, with a password that nobody else has.

    Each password is kept durably, given to the BMC, proven by a login, and only then put in force; a run that was
    killed in between goes on where it stopped. The account is made where the BMC takes new ones, else it gets the first
    free slot; where there is none, the account that we log in with gets a password of our own. A BMC that wants its
    factory password changed before anything else gets that first. ``made_before`` (a date) replaces a password of our
    own that is older.
    """
    login = look(Login)
    if login is None or login["user"] is None:
        yield unreadable("who we are")
        return
    if login["origin"] == "environment":
        yield refuse("a BMC given by its address keeps its password: there is no store for a new one")
        return
    if login["origin"] == "staged" or login["must_change"]:
        next_step = [line(f"account {user}", "unknown", ROLE)] if login["user"] != user else []
        show_diff([line(f"password of {login['user']}", login["origin"], "our own"), *next_step])
    if login["origin"] == "staged":
        yield from _prove()
    elif login["must_change"]:
        yield from _new_password(login)
    is_settled = login["origin"] == "current" and not login["is_staged"]
    if is_settled and (login["user"] == user or login["is_shared"]):
        if made_before is None or (login["made"] or "") >= made_before:
            host.noop(f"user {login['user']} has a password of our own")
            return
        yield from _new_password(login)
    elif login["user"] != user:
        yield from _own_account(login, user)


def _new_password(login: Seen, *, is_shared: bool = False) -> Commands:
    """Give the account that we log in with another password of our own."""
    if not login["must_change"]:
        show_diff([line(f"password of {login['user']}", login["origin"], "our own")])
    yield StringCommand("SECRET", "stage", *(["--shared"] if is_shared or login["is_shared"] else []))
    yield patch("@own-account", {"Password": STAGED}, is_unproven=True)
    yield StringCommand("LOGIN", "staged-password", "--restore", "@own-account")
    yield StringCommand("SECRET", "promote")


def _prove() -> Commands:
    yield StringCommand("LOGIN", "staged-password")
    yield StringCommand("SECRET", "promote")


def _own_account(login: Seen, user: str) -> Commands:
    """Make or take over the account ``user`` and go on as it."""
    seen = look(Accounts)
    if seen is None:
        yield unreadable("its accounts")
        return
    if not seen["is_offered"]:
        yield refuse("this BMC offers no account service, so it keeps the login that it has")
        return
    known = _find(seen, user)
    slot = next(iter(seen["slots"]), None)
    if known is None and seen["can_create"] is False and slot is None:
        yield from _stay(login)
        return
    show_diff([line(f"account {user}", known["role"] if known else "absent", ROLE)])
    yield StringCommand("SECRET", "stage", "--user", QuoteString(user))
    wanted = {"Password": STAGED, "RoleId": ROLE, "Enabled": True}
    if known is not None:
        yield patch(known["uri"], wanted, is_unproven=True)
    elif seen["can_create"] is False and slot is not None:
        yield patch(slot, {"UserName": user, **wanted}, is_unproven=True)
    else:
        yield post(seen["uri"], {"UserName": user, **wanted}, is_unproven=True, or_patch=slot)
    made = _find(look(Accounts) or {"accounts": []}, user)
    flags = {"RoleId": ROLE, "Enabled": True}
    if made is not None and (made["role"], made["is_enabled"]) != (ROLE, True):
        yield patch(made["uri"], flags)
        yield expect(made["uri"], flags)
    yield StringCommand("LOGIN", "staged-password")
    yield expect("@own-account", flags)
    yield StringCommand("SECRET", "promote")


def _stay(login: Seen) -> Commands:
    """No account can be had: the present one gets a password of our own and stays in use."""
    if login["origin"] == "factory":
        yield from _new_password(login, is_shared=True)
        return
    show_diff([line(f"account {login['user']}", "own account wanted", "kept: the BMC has no other to give")])
    yield StringCommand("SECRET", "share")


def _find(seen: Seen, user: str) -> Seen | None:
    return next((account for account in seen["accounts"] if account["user"] == user), None)


@operation()
@contained
def barred(users: Sequence[str], is_required: bool = False) -> Commands:
    """Have these default accounts disabled, and their factory passwords seen refused, each tried once.

    Only as an administrator of metalwright's own: the account that we log in with is left alone, and nothing happens
    before we have a password of our own.
    """
    seen, login = look(Accounts), look(Login)
    if seen is None or login is None:
        yield unreadable("its accounts")
        return
    if users and not seen["is_offered"]:
        yield from not_offered("accounts that could be disabled", is_required=is_required)
        return
    others = [user for user in users if user != login["user"]]
    present = {account["user"]: account for account in seen["accounts"]}
    open_ones = [present[user] for user in others if user in present and present[user]["is_enabled"] is not False]
    doubtful = [user for user in others if user in present and user not in login["barred"]]
    if not open_ones and not doubtful:
        host.noop("no default account is open")
        return
    mine = present.get(login["user"])
    if login["origin"] != "current" or mine is None or mine["role"] != ROLE:
        yield refuse("default accounts stay as they are until metalwright has an administrator's account of its own")
        return
    show_diff([line(f"account {account['user']}", account["is_enabled"], False) for account in open_ones])
    show_diff([line(f"factory passwords of {user}", "not tried", "refused") for user in doubtful])
    for account in open_ones:
        yield patch(account["uri"], {"Enabled": False}, is_optional=not is_required)
        yield expect(account["uri"], {"Enabled": False}, is_optional=not is_required)
    for user in dict.fromkeys([*(account["user"] for account in open_ones), *doubtful]):
        is_again = any(account["user"] == user for account in open_ones)
        yield StringCommand("REFUSED", QuoteString(user), *(["--again"] if is_again else []))


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
    show_diff([line(f"account {account['user']}", account["is_enabled"], is_enabled) for account in wrong])
    for account in wrong:
        yield patch(account["uri"], {"Enabled": is_enabled})
        yield expect(account["uri"], {"Enabled": is_enabled})


@operation()
@contained
def lockout(threshold: int | None, duration_s: int | None = None, is_required: bool = False) -> Commands:
    """Lock accounts after ``threshold`` wrong passwords for ``duration_s`` seconds; None leaves it as it is."""
    seen = look(Accounts) if threshold is not None else {}
    if threshold is None:
        host.noop("no lock-out is declared")
        return
    if seen is None:
        yield unreadable("its account service")
        return
    wanted = {"AccountLockoutThreshold": threshold}
    wanted |= {"AccountLockoutDuration": duration_s} if duration_s is not None else {}
    found = {"AccountLockoutThreshold": seen["lockout_threshold"], "AccountLockoutDuration": seen["lockout_s"]}
    if any(found[name] is None for name in wanted):
        yield from not_offered("lock-out settings", is_required=is_required)
        return
    wrong = {name: value for name, value in wanted.items() if found[name] != value}
    if not wrong:
        host.noop("the lock-out is as wanted")
        return
    show_diff([line(name, found[name], value) for name, value in wrong.items()])
    yield patch(seen["service_uri"], wrong, is_optional=not is_required)
    yield expect(seen["service_uri"], wrong, is_optional=not is_required)
