"""Sessions, accounts, lock-out and the moving address."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from tests.simulator.plain_client import ADDRESS, MANAGER, SYSTEM, Client, message_ids

from metalwright.simulator.running import RunningService, running_service
from metalwright.simulator.service.endpoint import LINGER_S
from metalwright.simulator.spec import BmcSpec, MachineSpec

SESSIONS = "/redfish/v1/SessionService/Sessions"
ACCOUNTS = "/redfish/v1/AccountService/Accounts"


async def log_in(client: Client, user: str = "admin", password: str = "factory-secret") -> int:
    client.auth = None
    client.headers = {}
    status, _ = await client.post(SESSIONS, {"UserName": user, "Password": password})
    if status == 201:
        client.headers = {"X-Auth-Token": client.last_headers["X-Auth-Token"]}
    return status


async def test_a_session_works_until_it_is_deleted(client: Client, service: RunningService) -> None:
    assert await log_in(client) == 201
    location = client.last_headers["Location"]
    assert (await client.get(SYSTEM))["Id"] == "1"
    assert (await client.request("DELETE", location))[0] == 204
    assert (await client.request("GET", SYSTEM))[0] == 401
    assert service.bmc.gate.sessions == {}


async def test_sessions_expire_and_are_limited(client: Client, service: RunningService) -> None:
    for _ in range(service.spec.bmc.max_sessions):
        assert await log_in(client) == 201
    client.headers = {}
    status, body = await client.post(SESSIONS, {"UserName": "admin", "Password": "factory-secret"})
    assert (status, message_ids(body)) == (503, ["SessionLimitExceeded"])
    for session in service.bmc.gate.sessions.values():
        session.last_used -= 3600
    assert await log_in(client) == 201
    assert len(service.bmc.gate.sessions) == 1


async def test_password_change_ends_the_old_password(client: Client) -> None:
    assert (await client.patch(f"{ACCOUNTS}/1", {"Password": "new-secret-1"}))[0] == 204
    assert (await client.request("GET", SYSTEM))[0] == 401
    client.auth = ("admin", "new-secret-1")
    assert (await client.request("GET", SYSTEM))[0] == 200


@pytest.mark.parametrize(
    ("password", "message"),
    [("abc-xyz", "StringValueTooShort"), (12345678, "PropertyValueTypeError"), ("x" * 21, "StringValueTooLong")],
)
async def test_password_length_is_checked_and_the_password_is_not_echoed(
    client: Client, password: str | int, message: str
) -> None:
    status, body = await client.patch(f"{ACCOUNTS}/1", {"Password": password})
    assert (status, message_ids(body)) == (400, [message])
    assert str(password) not in str(body)


async def test_wrong_passwords_lock_the_account(client: Client, service: RunningService) -> None:
    for _ in range(service.spec.bmc.lockout_threshold):
        assert await log_in(client, password="wrong-one") == 401
    assert await log_in(client) == 401
    refusals = [event.args[1] for event in service.system.log.of_kind("LoginRefused")]
    assert refusals == ["wrong password"] * 5 + ["the account is locked"]
    assert "wrong-one" not in (service.machine_dir / "events.jsonl").read_text()


async def test_accounts_can_be_made_limited_and_removed(client: Client) -> None:
    new = {"UserName": "ops", "Password": "ops-secret-1", "RoleId": "ReadOnly"}
    status, body = await client.post(ACCOUNTS, new)
    assert (status, body["Password"]) == (201, None)
    assert (await client.post(ACCOUNTS, new))[0] == 409
    admin, client.auth = client.auth, ("ops", "ops-secret-1")
    assert (await client.request("GET", SYSTEM))[0] == 200
    assert (await client.patch(SYSTEM, {"AssetTag": "x"}))[0] == 403
    client.auth = admin
    assert (await client.request("DELETE", body["@odata.id"]))[0] == 204
    assert (await client.request("DELETE", f"{ACCOUNTS}/1"))[0] == 405


async def test_a_factory_password_may_have_to_be_changed_first() -> None:
    spec = MachineSpec(bmc=BmcSpec(must_change_password=True))
    async with running_service(spec, ADDRESS) as service, aiohttp.ClientSession() as http:
        client = Client(service, http)
        status, body = await client.request("GET", SYSTEM)
        assert (status, message_ids(body)) == (403, ["PasswordChangeRequired"])
        assert (await client.patch(f"{ACCOUNTS}/1", {"Password": "new-secret-1"}))[0] == 204
        client.auth = ("admin", "new-secret-1")
        assert (await client.request("GET", SYSTEM))[0] == 200


async def test_the_bmc_moves_to_its_static_address_and_leaves_the_old_one(
    client: Client, service: RunningService
) -> None:
    old = service.url
    static = {"Address": "127.81.0.2", "SubnetMask": "255.255.0.0", "Gateway": "127.81.0.254"}
    body = {"IPv4StaticAddresses": [static], "DHCPv4": {"DHCPEnabled": False}}
    assert (await client.patch(f"{MANAGER}/EthernetInterfaces/1", body))[0] == 204
    assert service.url == old.replace(ADDRESS, "127.81.0.2")
    port = await client.get(f"{MANAGER}/EthernetInterfaces/1")
    assert port["IPv4Addresses"] == [{**static, "AddressOrigin": "Static"}]
    await asyncio.sleep(LINGER_S + 0.1)
    with pytest.raises(aiohttp.ClientError):
        await client.request("GET", "/redfish/v1", url=old)
    assert (await client.get("/redfish/v1"))["UUID"]


async def test_an_address_that_cannot_be_had_is_refused_and_nothing_moves(
    client: Client, service: RunningService
) -> None:
    old = service.url
    for address in ("192.0.2.1", "300.1.1.1"):
        body = {"IPv4StaticAddresses": [{"Address": address, "SubnetMask": "255.255.255.0"}]}
        assert (await client.patch(f"{MANAGER}/EthernetInterfaces/1", body))[0] == 400
    assert service.url == old
    assert (await client.get(f"{MANAGER}/EthernetInterfaces/1"))["DHCPv4"]["DHCPEnabled"] is True
