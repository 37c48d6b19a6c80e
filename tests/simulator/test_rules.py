"""The vocabulary of faults: each word does what its docstring says, judged over HTTP and by what the BMC saw."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from tests.simulator.plain_client import MANAGER, SYSTEM, Client

from metalwright.errors import LabError
from metalwright.simulator.faults import Faults
from metalwright.simulator.rules import Edit, apply_edits
from metalwright.simulator.running import RunningService
from metalwright.simulator.service.pace import Pace

SETTINGS = f"{SYSTEM}/Bios/Settings"


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        ({"at": "/a", "drop": True}, {"l": [1, 2, 3]}),
        ({"at": "/a/b", "set": None}, {"a": {"b": None}, "l": [1, 2, 3]}),
        ({"at": "/x/y", "set": 1}, {"a": {"b": 1}, "l": [1, 2, 3], "x": {"y": 1}}),
        ({"at": "/a", "rename": "z"}, {"z": {"b": 1}, "l": [1, 2, 3]}),
        ({"at": "/l", "keep": 1}, {"a": {"b": 1}, "l": [1]}),
        ({"at": "/l", "repeat": 2}, {"a": {"b": 1}, "l": [1, 1, 2, 2, 3, 3]}),
        ({"at": "/l", "append": [4]}, {"a": {"b": 1}, "l": [1, 2, 3, 4]}),
        ({"at": "/l/1", "drop": True}, {"a": {"b": 1}, "l": [1, 3]}),
        ({"at": "/l/*", "set": 0}, {"a": {"b": 1}, "l": [0, 0, 0]}),
        ({"at": "/l/*", "drop": True}, {"a": {"b": 1}, "l": []}),
        ({"at": "", "merge": {"l": []}}, {"a": {"b": 1}, "l": []}),
        ({"at": "/no/where", "drop": True}, {"a": {"b": 1}, "l": [1, 2, 3]}),
    ],
)
def test_edits_change_a_copy(edit: dict[str, Any], after: Any) -> None:
    before = {"a": {"b": 1}, "l": [1, 2, 3]}
    assert apply_edits(before, [Edit.model_validate(edit)]) == after
    assert before == {"a": {"b": 1}, "l": [1, 2, 3]}


@pytest.mark.parametrize(
    "details",
    [
        {"path": "("},
        {"when": {"header": {"Host": "["}}},
        {"when": {"header_not": {"Host": "["}}},
        {"when": {"query": "*"}},
        {"when": {"body": "*"}},
        {"when": {"after": {"path": "("}}},
        {"do": {"edit": [{"at": "Name", "set": 1}]}},
    ],
)
def test_what_is_no_expression_and_no_pointer_is_refused_when_it_is_set(details: dict[str, Any]) -> None:
    with pytest.raises(LabError, match="the fault is not valid"):
        Faults().set("rule", **details)


async def test_rules_answer_instead_of_the_service_and_say_so(client: Client, service: RunningService) -> None:
    service.system.faults.rule("GET", "Systems/1$", every=2, status=503, message="IDRAC.2.1.RAC0218")
    statuses = [(await client.request("GET", SYSTEM))[0] for _ in range(4)]
    assert statuses == [503, 200, 503, 200]
    assert [record.faults for record in service.traffic.of("GET", "Systems/1")] == [["rule"], [], ["rule"], []]
    assert service.traffic.counts["GET", SYSTEM] == 4


async def test_a_null_body_and_an_empty_one_are_told_apart(client: Client, service: RunningService) -> None:
    service.system.faults.rule("GET", "Systems/1$", times=1, status=500, body=None)
    assert await client.request("GET", SYSTEM) == (500, None)
    service.system.faults.rule("GET", "Systems/1$", times=1, status=500, body="")
    status, _ = await client.request("GET", SYSTEM)
    assert (status, client.last_headers.get("Content-Length")) == (500, "0")


async def test_header_conditions_tell_absent_from_present(client: Client, service: RunningService) -> None:
    absent = {"header": {"If-Match": None}}
    service.system.faults.rule("PATCH", "Systems/1$", when=absent, status=428, message="Base.1.8.PreconditionRequired")
    assert (await client.patch(SYSTEM, {"AssetTag": "a"}))[0] == 428
    assert (await client.patch(SYSTEM, {"AssetTag": "a"}, **{"If-Match": "*"}))[0] == 204


async def test_tags_are_sent_and_asked_for_as_the_rule_says(client: Client, service: RunningService) -> None:
    tag = {"header": 'W/"17"', "accept": '"17"', "required": True}
    service.system.faults.rule(path="Bios/Settings$", tag=tag)
    await client.get(SETTINGS)
    assert client.last_headers.getall("ETag") == ['W/"17"']
    body = {"Attributes": {"QuietBoot": True}}
    assert (await client.patch(SETTINGS, body))[0] == 428
    assert (await client.patch(SETTINGS, body, **{"If-Match": 'W/"17"'}))[0] == 412
    assert (await client.patch(SETTINGS, body, **{"If-Match": '"17"'}))[0] == 204


async def test_a_counting_tag_moves_with_each_read_and_once_under_the_first_write(
    client: Client, service: RunningService
) -> None:
    tag = {"header": '"{n}"', "body": '"{n}"', "accept": '"{n}"', "bump": 1}
    service.system.faults.rule(path="Systems/1$", tag=tag)
    assert (await client.get(SYSTEM))["@odata.etag"] == '"1"'
    assert (await client.patch(SYSTEM, {"AssetTag": "a"}, **{"If-Match": '"1"'}))[0] == 412
    assert (await client.get(SYSTEM))["@odata.etag"] == '"3"'
    assert (await client.patch(SYSTEM, {"AssetTag": "a"}, **{"If-Match": '"3"'}))[0] == 204


async def test_headers_can_be_repeated_and_removed(client: Client, service: RunningService) -> None:
    service.system.faults.rule("GET", "Systems/1$", headers={"ETag": ['"A1"', '"A1"'], "Allow": None})
    await client.get(SYSTEM)
    assert client.last_headers.getall("ETag") == ['"A1"', '"A1"']
    assert "Allow" not in client.last_headers


async def test_answers_and_requests_are_edited(client: Client, service: RunningService) -> None:
    service.system.faults.rule("GET", "Chassis$", edit=[{"at": "/Members", "repeat": 3}])
    assert len((await client.get("/redfish/v1/Chassis"))["Members"]) == 3
    protocol = f"{MANAGER}/NetworkProtocol"
    service.system.faults.rule("PATCH", "NetworkProtocol$", request=[{"at": "/IPMI", "drop": True}])
    body = {"SSH": {"ProtocolEnabled": False}, "IPMI": {"ProtocolEnabled": False}}
    assert (await client.patch(protocol, body))[0] == 204
    after = await client.get(protocol)
    assert (after["SSH"]["ProtocolEnabled"], after["IPMI"]["ProtocolEnabled"]) == (False, True)


async def test_before_and_after_count_other_requests(client: Client, service: RunningService) -> None:
    parent = {"method": "GET", "path": "BootOptions$"}
    service.system.faults.rule("GET", "BootOptions/Boot0000$", when={"before": parent}, status=404)
    assert (await client.request("GET", f"{SYSTEM}/BootOptions/Boot0000"))[0] == 404
    await client.get(f"{SYSTEM}/BootOptions")
    assert (await client.request("GET", f"{SYSTEM}/BootOptions/Boot0000"))[0] == 200


async def test_connections_close_without_and_with_effect(service: RunningService) -> None:
    service.system.faults.rule("PATCH", "Systems/1$", times=1, close="before")
    service.system.faults.rule("PATCH", "Systems/1$", times=1, skip=1, close="after")
    tags = []
    for text in ("before", "after"):
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as http:
            client = Client(service, http)
            with pytest.raises(aiohttp.ClientError):
                await client.patch(SYSTEM, {"AssetTag": text})
            tags.append((await client.get(SYSTEM))["AssetTag"])
    assert tags == ["", "after"]
    assert [record.status for record in service.traffic.of("PATCH")] == [0, 0]


async def test_every_second_request_of_a_connection_is_cut(service: RunningService) -> None:
    service.system.faults.rule(when={"connection_request": 2}, close="before")
    async with aiohttp.ClientSession() as http:
        client = Client(service, http)
        await client.get(SYSTEM)
        await client.get(SYSTEM)  # aiohttp repeats an idempotent request on a new connection
    assert len({record.connection for record in service.traffic.records}) == 2


async def test_tokens_end_after_some_requests_and_sessions_run_out(client: Client, service: RunningService) -> None:
    faults = service.system.faults
    faults.rule(when={"token_requests_over": 2}, status=401, message="Base.1.8.NoValidSession")
    faults.rule("POST", "Sessions$", when={"open_sessions": 1}, status=503, message="IDRAC.2.1.RAC0218")
    login = {"UserName": service.user, "Password": service.password}
    client.auth = None
    assert (await client.post("/redfish/v1/SessionService/Sessions", login))[0] == 201
    client.headers = {"X-Auth-Token": client.last_headers["X-Auth-Token"]}
    assert [(await client.request("GET", SYSTEM))[0] for _ in range(3)] == [200, 200, 401]
    client.headers = {}
    assert (await client.post("/redfish/v1/SessionService/Sessions", login))[0] == 503
    assert service.bmc.gate.open_sessions == 1


async def test_gzip_and_cut_bodies(client: Client, service: RunningService) -> None:
    service.system.faults.rule("GET", "Systems/1$", gzip=True)
    assert (await client.get(SYSTEM))["Id"] == "1"
    assert client.last_headers["Content-Encoding"] == "gzip"
    service.system.faults.rule("GET", "Chassis/1$", cut_bytes=20)
    with pytest.raises(aiohttp.ClientError):
        await client.get("/redfish/v1/Chassis/1")


@pytest.mark.parametrize("fault", ["connection-silent", "handshake-closed"])
async def test_a_bmc_that_never_speaks_tls_sees_no_request(service: RunningService, fault: str) -> None:
    await service.set_fault(fault)
    timeout = aiohttp.ClientTimeout(total=0.3)
    async with aiohttp.ClientSession(timeout=timeout) as http:
        with pytest.raises((aiohttp.ClientError, TimeoutError)):
            await http.get(f"{service.url}/redfish/v1", ssl=False)
    assert service.traffic.total == 0


async def test_traffic_masks_secrets_and_names_the_login(client: Client, service: RunningService) -> None:
    login = {"UserName": service.user, "Password": service.password}
    await client.post("/redfish/v1/SessionService/Sessions", login)
    record = service.traffic.of("POST")[0]
    assert (record.auth, record.body, record.status) == (
        "basic",
        {"UserName": service.user, "Password": "******"},
        201,
    )
    assert service.password not in json.dumps([record.as_json() for record in service.traffic.records])
    assert service.traffic.logins == 1


async def test_a_bmc_works_on_so_many_requests_at_once(client: Client, service: RunningService) -> None:
    service.bmc.pace = Pace(0.05, 2)
    answers = await asyncio.gather(*(client.request("GET", SYSTEM) for _ in range(6)))
    assert [status for status, _ in answers] == [200] * 6
    assert sum(record.seconds for record in service.traffic.records) > 0.05 * 2 * (1 + 2 + 3) - 0.01
    service.bmc.pace = Pace(0.05, 2, refuse=True)
    answers = await asyncio.gather(*(client.request("GET", SYSTEM) for _ in range(6)))
    assert sorted(status for status, _ in answers) == [200] * 2 + [503] * 4


def test_wrong_words_are_refused_by_place(service: RunningService) -> None:
    with pytest.raises(LabError, match=r"do\.colour"):
        service.system.faults.rule("GET", colour="blue")
