"""The BMCs of a fleet have state: each vendor's way to power, boot, set up, update and log in to its machine."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.simulator.fleet.direct import Direct, message_keys

from metalwright.redfish.consoles import console_ways
from metalwright.simulator.fleet.plan import place
from metalwright.simulator.fleet.service import fleet_in_thread
from metalwright.simulator.fleet.tree import make_tree
from metalwright.simulator.profiles import NAMES, load_profile

Find = Callable[[str], Direct]
HOSTS = [name for name in NAMES if load_profile(name).tree.truth]
SESSIONS = "/redfish/v1/SessionService/Sessions"


@pytest.fixture(scope="module")
def files() -> Iterator[str]:
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2].removesuffix(".bin")
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f"metalwright-firmware {name} 9.9\n".encode())

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.91.255.2", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.91.255.2:{server.server_address[1]}"
        server.shutdown()


def settings_of(direct: Direct) -> tuple[str, str]:
    bios = direct.get(direct.host)["Bios"]["@odata.id"]
    return bios, direct.get(bios)["@Redfish.Settings"]["SettingsObject"]["@odata.id"]


def choice(direct: Direct, bios: str) -> tuple[str, str]:
    """An enumeration that no dependency locks, and another value of it."""
    name = direct.get(bios)["AttributeRegistry"]
    registry = direct.get(f"/redfish/v1/Registries/{name}/{name}.json")["RegistryEntries"]
    locked = {rule["Dependency"]["MapToAttribute"] for rule in registry["Dependencies"]}
    current = direct.get(bios)["Attributes"]
    for item in registry["Attributes"]:
        if item["Type"] == "Enumeration" and len(item["Value"]) > 1 and item["AttributeName"] not in locked:
            others = [value["ValueName"] for value in item["Value"]]
            return item["AttributeName"], next(v for v in others if v != current[item["AttributeName"]])
    raise AssertionError(name)


@pytest.mark.parametrize("name", HOSTS)
def test_power_follows_resets(name: str, bmc: Find) -> None:
    direct = bmc(name)
    direct.reset("On")
    assert direct.get(direct.host)["PowerState"] == "On"
    direct.reset("ForceOff")
    assert direct.get(direct.host)["PowerState"] == "Off"
    status, body = direct.action(direct.host, "#ComputerSystem.Reset", {"ResetType": "Kick"})
    assert (status, message_keys(body)) == (400, ["ActionParameterValueNotInList"])


@pytest.mark.parametrize("name", HOSTS)
def test_every_host_tells_a_way_to_its_console(name: str, bmc: Find) -> None:
    direct = bmc(name)
    host = direct.get(direct.host)
    manager = direct.get(host["Links"]["ManagedBy"][0]["@odata.id"])
    assert "SSH" in {way.kind for way in console_ways(host, manager, "192.0.2.1", "root")}


@pytest.mark.parametrize("name", HOSTS)
def test_bios_changes_wait_for_the_reset(name: str, bmc: Find) -> None:
    direct = bmc(name)
    bios, settings = settings_of(direct)
    attribute, value = choice(direct, bios)
    body: dict[str, Any] = {"Attributes": {attribute: value}}
    if direct.bmc.tree_routes.queue is not None:
        body["@Redfish.SettingsApplyTime"] = {"ApplyTime": "OnReset"}
    before = direct.get(bios)["Attributes"][attribute]
    assert direct.ask("PATCH", settings, body)[0] in (202, 204)
    assert direct.get(settings)["Attributes"][attribute] == value
    assert direct.get(bios)["Attributes"][attribute] == before
    direct.reset("On")
    direct.reset("ForceRestart")
    assert direct.get(bios)["Attributes"][attribute] == value
    direct.reset("ForceOff")


@pytest.mark.parametrize("name", HOSTS)
def test_bios_refuses_what_its_registry_forbids(name: str, bmc: Find) -> None:
    direct = bmc(name)
    bios, settings = settings_of(direct)
    registry = direct.get(bios)["AttributeRegistry"]
    items = direct.get(f"/redfish/v1/Registries/{registry}/{registry}.json")["RegistryEntries"]
    fixed = next(item["AttributeName"] for item in items["Attributes"] if item["ReadOnly"])
    rule = next(
        rule["Dependency"]
        for rule in items["Dependencies"]
        if rule["Dependency"]["MapToProperty"] == "ReadOnly"
        and rule["Dependency"]["MapFrom"][0]["MapFromCondition"] == "NEQ"
    )
    current = direct.get(bios)["Attributes"]
    for wanted, key in (
        ({"NoSuchThing": 1}, "PropertyUnknown"),
        ({fixed: "x"}, "PropertyNotWritable"),
        ({choice(direct, bios)[0]: "nonsense"}, "PropertyValueNotInList"),
        ({rule["MapToAttribute"]: current[rule["MapToAttribute"]]}, "PropertyNotWritable"),
    ):
        status, body = direct.ask("PATCH", settings, {"Attributes": wanted})
        assert (status, message_keys(body)) == (400, [key]), wanted


def test_dell_bios_changes_without_a_job_stay_pending(bmc: Find) -> None:
    direct = bmc("h200-8x-dell")
    bios, settings = settings_of(direct)
    assert direct.ask("PATCH", settings, {"Attributes": {"NodeInterleave": "Enabled"}})[0] == 200
    direct.reset("On")
    assert direct.get(bios)["Attributes"]["NodeInterleave"] == "Disabled"
    jobs = direct.bmc.tree_routes.bindings.jobs
    status, _ = direct.ask("POST", jobs, {"TargetSettingsURI": settings})
    assert status == 202
    job = direct.get(jobs)["Members"][-1]["@odata.id"]
    assert direct.get(job)["JobState"] == "Scheduled"
    status, body = direct.ask("POST", jobs, {"TargetSettingsURI": settings})
    assert (status, message_keys(body)) == (400, ["ResourceInUse"])
    direct.reset("ForceRestart")
    assert direct.get(job)["JobState"] == "Completed"
    assert direct.get(bios)["Attributes"]["NodeInterleave"] == "Enabled"
    direct.reset("ForceOff")


def test_dell_job_that_is_deleted_takes_its_changes_with_it(bmc: Find) -> None:
    direct = bmc("h200-8x-dell")
    bios, settings = settings_of(direct)
    body = {"Attributes": {"ErrPrompt": "Disabled"}, "@Redfish.SettingsApplyTime": {"ApplyTime": "OnReset"}}
    assert direct.ask("PATCH", settings, body)[0] == 202
    job = direct.get(direct.bmc.tree_routes.bindings.jobs)["Members"][-1]["@odata.id"]
    assert direct.ask("DELETE", job)[0] == 200
    assert direct.ask("GET", job)[0] == 404
    direct.reset("On")
    assert direct.get(bios)["Attributes"]["ErrPrompt"] == "Enabled"
    direct.reset("ForceOff")


@pytest.mark.parametrize("name", HOSTS)
def test_virtual_media_boots_once_and_is_ejected(name: str, bmc: Find, files: str) -> None:
    direct = bmc(name)
    owner = direct.get(direct.host)
    owner = owner if "VirtualMedia" in owner else direct.get(owner["Links"]["ManagedBy"][0]["@odata.id"])
    slot = direct.get(owner["VirtualMedia"]["@odata.id"])["Members"][0]["@odata.id"]
    image = f"{files}/boot.iso"
    has_actions = "Actions" in direct.get(slot)
    status, _ = (
        direct.action(slot, "#VirtualMedia.InsertMedia", {"Image": image})
        if has_actions
        else direct.ask("PATCH", slot, {"Image": image, "Inserted": True})
    )
    assert status == 204
    assert (direct.get(slot)["Image"], direct.get(slot)["Inserted"]) == (image, True)
    boot = {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}
    if "Cd" not in direct.get(direct.host)["Boot"]["BootSourceOverrideTarget@Redfish.AllowableValues"]:
        boot["BootSourceOverrideTarget"] = "UsbCd"
    assert direct.ask("PATCH", direct.host, {"Boot": boot})[0] == 204
    direct.reset("On")
    assert direct.bmc.state.boots[-1].device == "cd"
    assert direct.get(direct.host)["Boot"]["BootSourceOverrideEnabled"] == "Disabled"
    status, _ = (
        direct.action(slot, "#VirtualMedia.EjectMedia", {})
        if has_actions
        else direct.ask("PATCH", slot, {"Image": None, "Inserted": False})
    )
    assert status == 204
    assert direct.get(slot)["Image"] is None
    direct.reset("ForceOff")


@pytest.mark.parametrize("name", NAMES)
def test_a_firmware_update_changes_the_version_everywhere_it_is_shown(name: str, bmc: Find, files: str) -> None:
    direct = bmc(name)
    manager = direct.get(direct.get("/redfish/v1/Managers")["Members"][0]["@odata.id"])
    inventory = direct.get("/redfish/v1/UpdateService/FirmwareInventory")["Members"]
    item = next(
        path
        for member in inventory
        if direct.get(path := member["@odata.id"]).get("RelatedItem", [{}])[0].get("@odata.id") == manager["@odata.id"]
    )
    image = f"{files}/{item.rstrip('/').rpartition('/')[2]}.bin"
    status, _ = direct.action("/redfish/v1/UpdateService", "#UpdateService.SimpleUpdate", {"ImageURI": image})
    assert status == 202
    assert direct.finish(direct.last_headers["location"])["TaskState"] == "Completed"
    assert direct.get(item)["Version"] == "9.9"
    assert direct.get(manager["@odata.id"])["FirmwareVersion"] == "9.9"


def test_sessions_have_a_limit(bmc: Find) -> None:
    direct = bmc("h200-8x-dell")
    login = {"UserName": direct.bmc.spec.bmc.user, "Password": direct.bmc.spec.bmc.password.get_secret_value()}
    opened = []
    while direct.ask("POST", SESSIONS, login)[0] == 201:
        opened.append(direct.last_headers["location"])
    assert len(opened) == 8
    for session in opened:
        assert direct.ask("DELETE", session)[0] == 204
    assert direct.bmc.gate.open_sessions == 0


def test_dell_accounts_are_slots_and_others_are_made(bmc: Find) -> None:
    accounts = "/redfish/v1/AccountService/Accounts"
    new = {"UserName": "metal", "Password": "wright-12345", "RoleId": "Administrator"}
    dell = bmc("h200-8x-dell")
    assert len(dell.get(accounts)["Members"]) == 16
    assert dell.ask("POST", accounts, new)[0] == 405
    assert dell.ask("PATCH", f"{accounts}/4", {**new, "Enabled": True})[0] == 204
    assert bmc("h100-8x-supermicro").ask("POST", accounts, new)[0] == 201


def test_what_is_written_is_kept_for_this_bmc_alone(bmc: Find) -> None:
    direct, other = bmc("mi300x-8x-ami"), bmc("h100-8x-supermicro")
    assert direct.ask("PATCH", direct.host, {"IndicatorLED": "Blinking", "AssetTag": "a"})[0] == 204
    assert direct.get(direct.host)["IndicatorLED"] == "Blinking"
    assert other.get(other.host)["IndicatorLED"] == "Off"
    status, body = direct.ask("PATCH", direct.host, {"SerialNumber": "x"})
    assert (status, message_keys(body)) == (400, ["PropertyNotWritable"])


def test_secure_boot_is_in_force_after_the_next_power_on(bmc: Find) -> None:
    direct = bmc("gb200-tray-nvidia")
    path = f"{direct.host}/SecureBoot"
    assert direct.ask("PATCH", path, {"SecureBootEnable": True})[0] == 204
    assert direct.get(path)["SecureBootCurrentBoot"] == "Disabled"
    direct.reset("On")
    assert direct.get(path)["SecureBootCurrentBoot"] == "Enabled"
    direct.reset("ForceOff")


def test_the_log_shows_what_happened_and_can_be_cleared(bmc: Find) -> None:
    direct = bmc("cpu-node-hpe")
    direct.reset("On")
    log = direct.get(f"{direct.host}/LogServices")["Members"][0]["@odata.id"]
    entries = direct.get(direct.get(log)["Entries"]["@odata.id"])["Members"]
    assert any("power is on" in entry["Message"] for entry in entries)
    assert direct.get(entries[-1]["@odata.id"])["Id"] == entries[-1]["Id"]
    assert direct.action(log, "#LogService.ClearLog", {})[0] == 204
    assert not any("power" in entry["Message"] for entry in direct.get(f"{log}Entries/")["Members"])
    direct.reset("ForceOff")


@pytest.mark.parametrize(
    ("captured", "first"), [({"PowerState": "On"}, "On"), ({"PowerState": "Off"}, "Off"), ({}, None)]
)
def test_a_capture_shows_the_power_that_was_captured_until_it_is_changed(captured: Any, first: str | None) -> None:
    path = "/redfish/v1/Systems/1"
    reset = {"target": f"{path}/Actions/ComputerSystem.Reset"}
    system = {"@odata.type": "#ComputerSystem.v1_5_0.ComputerSystem", "Actions": {"#ComputerSystem.Reset": reset}}
    tree = make_tree("box", {"/redfish/v1": {}, path: {**system, **captured}}, is_captured=True)
    with fleet_in_thread(place("127.91.16.65/32", [(tree, 1)], 1)) as fleet:
        box = Direct(fleet, "box")
        assert box.get(path).get("PowerState") == first
        box.reset("On" if first == "Off" else "ForceOff")
        assert box.get(path)["PowerState"] == ("On" if first == "Off" else "Off")
