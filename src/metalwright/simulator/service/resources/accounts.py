"""AccountService: accounts and roles."""

from __future__ import annotations

from typing import Any

from metalwright.simulator.service.answers import Json, Message, Refusal, refuse
from metalwright.simulator.service.bmc import ROOT
from metalwright.simulator.service.routes import Answer, Call, Field, Patch, Route, collection, link, listing
from metalwright.simulator.service.sessions import digest_password, make_account
from metalwright.simulator.state import Account

_PATH = f"{ROOT}/AccountService"
_MAX_ACCOUNTS = 10
MISSING_SLOT = "3"
"""Of fixed slots this one is listed and cannot be read, as seen at real ones."""
ROLES = {
    "Administrator": ["Login", "ConfigureManager", "ConfigureUsers", "ConfigureComponents", "ConfigureSelf"],
    "Operator": ["Login", "ConfigureComponents", "ConfigureSelf"],
    "ReadOnly": ["Login", "ConfigureSelf"],
}


def routes() -> list[Route]:
    """Accounts can be listed, made, changed and removed; roles are fixed."""
    fields = {
        "Password": Field(str),
        "Enabled": Field(bool),
        "UserName": Field(str),
        "RoleId": Field(str, tuple(ROLES)),
        "Locked": Field(bool, (False,)),
    }
    return [
        Route(
            _PATH,
            read=_service,
            patch=Patch(
                {
                    "AccountLockoutThreshold": Field(int, check=_check_threshold),
                    "AccountLockoutDuration": Field(int, check=_check_threshold),
                },
                _set_lockout,
            ),
        ),
        Route(f"{_PATH}/Accounts", read=_accounts, create=_create),
        Route(f"{_PATH}/Accounts/{{id}}", read=_account, patch=Patch(fields, _change), delete=_delete),
        listing(f"{_PATH}/Roles", "Role", "Roles", ROLES),
        Route(f"{_PATH}/Roles/{{role}}", read=_role),
    ]


def _service(call: Call) -> Json:
    factory = call.bmc.spec.bmc
    return {
        "@odata.id": _PATH,
        "@odata.type": "#AccountService.v1_15_1.AccountService",
        "Id": "AccountService",
        "Name": "Account service",
        "ServiceEnabled": True,
        "Status": {"State": "Enabled", "Health": "OK"},
        "MinPasswordLength": factory.min_password_length,
        "MaxPasswordLength": factory.max_password_length,
        "AccountLockoutThreshold": call.bmc.gate.lockout_threshold,
        "AccountLockoutDuration": call.bmc.gate.lockout_s,
        "AccountLockoutCounterResetAfter": call.bmc.gate.lockout_s,
        "AuthFailureLoggingThreshold": 1,
        "Accounts": link(f"{_PATH}/Accounts"),
        "Roles": link(f"{_PATH}/Roles"),
    }


def _check_threshold(value: int) -> str | None:
    return None if 0 <= value <= 3600 else "PropertyValueOutOfRange"


async def _set_lockout(call: Call, values: Json) -> None:
    fault = call.bmc.system.faults.take("lockout-read-only")
    if fault is not None and fault.status == 400:
        raise refuse("PropertyNotWritable", next(iter(values)), about=next(iter(values)))
    if fault is not None:
        return
    state = call.bmc.state
    state.lockout_threshold = values.get("AccountLockoutThreshold", state.lockout_threshold)
    state.lockout_s = values.get("AccountLockoutDuration", state.lockout_s)
    call.bmc.system.save()


def _accounts(call: Call) -> Json:
    made = [account.id for account in call.bmc.state.accounts]
    slots = [str(number) for number in range(1, call.bmc.spec.bmc.account_slots + 1)]
    return collection(f"{_PATH}/Accounts", "ManagerAccount", "Accounts", slots or made)


def _find(call: Call) -> Account:
    """The account, or an empty one for a slot that nobody uses; a slot number of three is missing on purpose."""
    for account in call.bmc.state.accounts:
        if account.id == call.params["id"]:
            return account
    number = call.params["id"]
    is_missing = number == MISSING_SLOT and call.bmc.spec.bmc.has_missing_slot
    if number.isdecimal() and not is_missing and 1 <= int(number) <= call.bmc.spec.bmc.account_slots:
        return Account(id=number, user="", salt="", digest="", enabled=False)
    raise refuse("ResourceMissingAtURI", call.path)


def _account(call: Call) -> Json:
    return _as_json(call, _find(call))


def _as_json(call: Call, account: Account) -> Json:
    return {
        "@odata.id": f"{_PATH}/Accounts/{account.id}",
        "@odata.type": "#ManagerAccount.v1_12_1.ManagerAccount",
        "Id": account.id,
        "Name": "Account",
        "UserName": account.user,
        "Password": None,
        "RoleId": account.role,
        "Enabled": account.enabled,
        "Locked": account.locked_until > call.bmc.clock(),
        "PasswordChangeRequired": account.must_change,
        "AccountTypes": ["Redfish"],
        "Links": {"Role": link(f"{_PATH}/Roles/{account.role}")},
    }


def _role(call: Call) -> Json:
    role = call.params["role"]
    if role not in ROLES:
        raise refuse("ResourceMissingAtURI", call.path)
    return {
        "@odata.id": f"{_PATH}/Roles/{role}",
        "@odata.type": "#Role.v1_3_2.Role",
        "Id": role,
        "Name": f"Role {role}",
        "RoleId": role,
        "IsPredefined": True,
        "AssignedPrivileges": ROLES[role],
        "OemPrivileges": [],
    }


def _password_message(call: Call, password: str) -> Message | None:
    factory = call.bmc.spec.bmc
    if call.bmc.system.faults.take("password-too-simple") is not None:
        return Message("SMC.1.0.PasswordComplexity", (), "Password")
    if len(password) < factory.min_password_length:
        return Message("StringValueTooShort", ("Password", str(factory.min_password_length)), "Password")
    if len(password) > factory.max_password_length and not factory.is_password_cut:
        return Message("StringValueTooLong", ("Password", str(factory.max_password_length)), "Password")
    return None


def _kept(call: Call, password: str) -> str:
    """The part of a password that the BMC keeps."""
    factory = call.bmc.spec.bmc
    return password[: factory.max_password_length] if factory.is_password_cut else password


async def _create(call: Call) -> Answer:
    if call.bmc.spec.bmc.account_slots:
        raise refuse("OperationNotAllowed")
    accounts = call.bmc.state.accounts
    body: dict[str, Any] = call.body
    missing = [name for name in ("UserName", "Password", "RoleId") if not isinstance(body.get(name), str)]
    if missing:
        raise Refusal(tuple(Message("PropertyMissing", (name,), name) for name in missing))
    if body["RoleId"] not in ROLES:
        raise refuse("PropertyValueNotInList", body["RoleId"], "RoleId", about="RoleId")
    _check_user_name(call, body["UserName"], None)
    problem = _password_message(call, body["Password"])
    if problem is not None:
        raise Refusal((problem,))
    if len(accounts) >= _MAX_ACCOUNTS:
        raise refuse("ResourceExhaustion", "accounts")
    number = str(1 + max((int(account.id) for account in accounts), default=0))
    account = make_account(number, body["UserName"], _kept(call, body["Password"]), body["RoleId"])
    account.enabled = body.get("Enabled", True) is True
    if call.bmc.system.faults.take("account-flag-ignored") is not None:
        account.enabled = not account.enabled
    accounts.append(account)
    call.bmc.system.save()
    created = _as_json(call, account)
    return Answer(created, 201, {"Location": created["@odata.id"]})


def _check_user_name(call: Call, user: str, mine: Account | None) -> None:
    if any(account.user == user and account is not mine for account in call.bmc.state.accounts):
        raise refuse("ResourceAlreadyExists", "ManagerAccount", "UserName", user, about="UserName")
    if not 1 <= len(user) <= 32:
        raise refuse("PropertyValueFormatError", user, "UserName", about="UserName")


async def _change(call: Call, values: Json) -> None:
    account = _find(call)
    is_own = call.account is account
    if (
        call.account is not None
        and call.account.role != "Administrator"
        and (not is_own or set(values) != {"Password"})
    ):
        raise refuse("InsufficientPrivilege")
    if account.id == "1" and call.bmc.spec.bmc.account_slots:
        raise refuse("PropertyNotWritable", "UserName", about="UserName")
    if "UserName" in values:
        _check_user_name(call, values["UserName"], account)
    if "Password" in values:
        problem = _password_message(call, values["Password"])
        if problem is not None:
            raise Refusal((problem,))
        account.digest = digest_password(account.salt, _kept(call, values["Password"]))
        account.must_change = False
        account.failures = 0
    if values.get("Enabled") is False:
        call.bmc.gate.forget_user(account.user)
    account.enabled = values.get("Enabled", account.enabled)
    account.role = values.get("RoleId", account.role)
    if "UserName" in values:
        call.bmc.gate.forget_user(account.user)
        account.user = values["UserName"]
    if "Locked" in values:
        account.locked_until = 0.0
    if account.user and account not in call.bmc.state.accounts:
        call.bmc.state.accounts.append(account)  # a slot that nobody used until now
    call.bmc.system.save()


async def _delete(call: Call) -> Answer:
    account = _find(call)
    if call.account is account:
        raise refuse("ResourceCannotBeDeleted")
    call.bmc.state.accounts.remove(account)
    call.bmc.gate.forget_user(account.user)
    call.bmc.system.save()
    return Answer(status=204)
