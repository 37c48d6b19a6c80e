"""What every resource of the simulated BMC promises."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import aiohttp
import pytest
from tests.simulator.plain_client import ADDRESS, MANAGER, SYSTEM, Client, message_ids

from metalwright.simulator.running import RunningService, service_in_process, service_in_thread
from metalwright.simulator.spec import MachineSpec


def links_in(body: Any) -> set[str]:
    if isinstance(body, dict):
        own = {body["@odata.id"]} if set(body) == {"@odata.id"} else set()
        return own.union(*(links_in(value) for value in body.values()))
    if isinstance(body, list):
        return set().union(*(links_in(value) for value in body))
    return set()


async def test_service_root_needs_no_login_and_shows_a_uuid_that_stays(client: Client) -> None:
    client.auth = None
    first = await client.get("/redfish/v1/")
    assert len(first["UUID"]) == 36
    assert (await client.get("/redfish/v1"))["UUID"] == first["UUID"]
    assert await client.get("/redfish") == {"v1": "/redfish/v1/"}


async def test_odata_documents_need_no_login(client: Client) -> None:
    client.auth = None
    assert {"name": "Systems", "kind": "Singleton", "url": "/redfish/v1/Systems"} in (
        await client.get("/redfish/v1/odata")
    )["value"]
    status, text = await client.request("GET", "/redfish/v1/$metadata")
    assert status == 200
    assert ElementTree.fromstring(text).tag.endswith("Edmx")


async def test_everything_else_needs_a_login(client: Client) -> None:
    client.auth = None
    status, body = await client.request("GET", SYSTEM)
    assert (status, message_ids(body)) == (401, ["NoValidSession"])
    assert client.last_headers["WWW-Authenticate"].startswith("Basic")


async def test_every_link_leads_to_a_resource_that_names_itself(client: Client) -> None:
    todo, seen = {"/redfish/v1"}, set()
    while todo:
        path = todo.pop()
        seen.add(path)
        body = await client.get(path)
        assert body["@odata.id"].rstrip("/") == path
        assert body["@odata.type"].startswith("#")
        todo |= {link.rstrip("/") for link in links_in(body)} - seen
    assert f"{SYSTEM}/Storage/1/Drives/2" in seen
    assert len(seen) > 40


async def test_system_shows_what_the_spec_says(client: Client, spec: MachineSpec) -> None:
    system = await client.get(SYSTEM)
    assert (system["SerialNumber"], system["UUID"], system["PowerState"]) == (spec.serial, spec.uuid, "Off")
    drive = await client.get(f"{SYSTEM}/Storage/1/Drives/1")
    assert (drive["SerialNumber"], drive["CapacityBytes"]) == ("SYS1", 64 * 1024**2)
    port = await client.get("/redfish/v1/Chassis/1/NetworkAdapters/1/Ports/1")
    assert port["Ethernet"]["AssociatedMACAddresses"] == [spec.nics[0].mac]


async def test_unknown_path_and_wrong_method_are_told_apart(client: Client) -> None:
    status, body = await client.request("GET", "/redfish/v1/Systems/2")
    assert (status, message_ids(body)) == (404, ["ResourceMissingAtURI"])
    status, _ = await client.request("DELETE", SYSTEM)
    assert status == 405
    assert client.last_headers["Allow"] == "GET, HEAD, PATCH"


@pytest.mark.parametrize(
    ("body", "messages"),
    [
        ({"Nonsense": 1}, ["PropertyUnknown"]),
        ({"SerialNumber": "X"}, ["PropertyNotWritable"]),
        ({"AssetTag": 5}, ["PropertyValueTypeError"]),
        ({"Boot": {"BootSourceOverrideTarget": "Floppy"}}, ["PropertyValueNotInList"]),
        ({"AssetTag": "ok", "Nonsense": 1}, ["PropertyUnknown"]),
        ({}, ["NoOperation"]),
    ],
)
async def test_patch_is_refused_with_the_reason_and_changes_nothing(
    client: Client, body: Any, messages: list[str]
) -> None:
    before = await client.get(SYSTEM)
    status, answer = await client.patch(SYSTEM, body)
    assert (status, message_ids(answer)) == (400, messages)
    assert await client.get(SYSTEM) == before


async def test_malformed_json_is_refused(client: Client) -> None:
    status, body = await client.request("PATCH", SYSTEM, data=b"{")
    assert (status, message_ids(body)) == (400, ["MalformedJSON"])


async def test_if_match_is_honoured(client: Client) -> None:
    etag = (await client.get(SYSTEM))["@odata.etag"]
    assert client.last_headers["ETag"] == etag
    assert (await client.patch(SYSTEM, {"AssetTag": "a"}, **{"If-Match": etag}))[0] == 204
    status, body = await client.patch(SYSTEM, {"AssetTag": "b"}, **{"If-Match": etag})
    assert (status, message_ids(body)) == (412, ["PreconditionFailed"])
    assert (await client.get(SYSTEM))["AssetTag"] == "a"


async def test_manager_settings_are_kept(client: Client) -> None:
    path = f"{MANAGER}/NetworkProtocol"
    body = {"NTP": {"ProtocolEnabled": True, "NTPServers": ["10.0.0.1"]}, "IPMI": {"ProtocolEnabled": False}}
    assert (await client.patch(path, body))[0] == 204
    protocol = await client.get(path)
    assert protocol["NTP"]["NTPServers"] == ["10.0.0.1"]
    assert protocol["IPMI"]["ProtocolEnabled"] is False
    assert (await client.patch(MANAGER, {"DateTime": "2030-01-01T00:00:00+00:00"}))[0] == 204
    assert (await client.get(MANAGER))["DateTime"].startswith("2030-01-01T00:00:0")


async def test_writes_are_in_the_bmcs_own_log_with_account_and_status(client: Client) -> None:
    await client.patch(SYSTEM, {"AssetTag": "a"})
    await client.patch(SYSTEM, {"AssetTag": 1})
    entries = (await client.get(f"{MANAGER}/LogServices/Log/Entries"))["Members"]
    requests = [entry["MessageArgs"] for entry in entries if entry["MessageId"] == "LabEvents.1.0.Request"]
    assert requests == [["PATCH", SYSTEM, "admin", "204"], ["PATCH", SYSTEM, "admin", "400"]]


async def test_state_outlives_the_service(service: RunningService, client: Client, spec: MachineSpec) -> None:
    await client.patch(SYSTEM, {"AssetTag": "kept"})
    assert "kept" in (service.machine_dir / "state.json").read_text()
    assert (service.machine_dir / "state.json").stat().st_mode & 0o077 == 0


def test_service_in_thread_serves_blocking_clients(spec: MachineSpec) -> None:
    with service_in_thread(spec, ADDRESS) as service:
        assert service.url.startswith(f"https://{ADDRESS}:")
        assert service.system.power_state == "Off"


async def test_service_in_process_answers_until_the_block_ends(spec: MachineSpec) -> None:
    with service_in_process(spec, ADDRESS) as service:
        async with aiohttp.ClientSession() as http, http.get(f"{service.url}/redfish/v1", ssl=False) as answer:
            assert answer.status == 200
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.ClientConnectionError):
            await http.get(f"{service.url}/redfish/v1", ssl=False)
