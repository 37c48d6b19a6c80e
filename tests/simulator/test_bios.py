"""BIOS attributes: judged by the registry, pending until the reset."""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulator.plain_client import SYSTEM, Client, message_ids

from metalwright.simulator.running import RunningService

BIOS = f"{SYSTEM}/Bios"


async def test_attributes_are_pending_until_the_reset(client: Client) -> None:
    assert (await client.patch(f"{BIOS}/Settings", {"Attributes": {"SriovGlobalEnable": "Enabled"}}))[0] == 204
    assert (await client.get(f"{BIOS}/Settings"))["Attributes"] == {"SriovGlobalEnable": "Enabled"}
    assert (await client.get(BIOS))["Attributes"]["SriovGlobalEnable"] == "Disabled"
    await client.reset("On")
    bios = await client.get(BIOS)
    assert bios["Attributes"]["SriovGlobalEnable"] == "Enabled"
    assert bios["@Redfish.Settings"]["Time"]
    assert (await client.get(f"{BIOS}/Settings"))["Attributes"] == {}


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"NoSuch": 1}, "PropertyUnknown"),
        ({"SystemBiosVersion": "9"}, "PropertyNotWritable"),
        ({"BootMode": "Bios"}, "PropertyValueNotInList"),
        ({"BootMode": 1}, "PropertyValueTypeError"),
        ({"QuietBoot": "true"}, "PropertyValueTypeError"),
        ({"BootTimeout": 61}, "PropertyValueOutOfRange"),
        ({"BootTimeout": True}, "PropertyValueTypeError"),
        ({"AssetTag": "x" * 33}, "StringValueTooLong"),
        ({"AcPwrRcvryUserDelay": 60}, "PropertyNotWritable"),
        ({"AcPwrRcvryUserDelay": 65, "AcPwrRcvryDelay": "User"}, "PropertyValueOutOfRange"),
    ],
)
async def test_what_the_registry_forbids_is_refused(client: Client, attributes: dict[str, Any], message: str) -> None:
    status, body = await client.patch(f"{BIOS}/Settings", {"Attributes": attributes})
    assert (status, message_ids(body)) == (400, [message])
    assert (await client.get(f"{BIOS}/Settings"))["Attributes"] == {}


async def test_a_dependency_can_be_met_in_the_same_request(client: Client) -> None:
    wanted = {"AcPwrRcvryDelay": "User", "AcPwrRcvryUserDelay": 90}
    assert (await client.patch(f"{BIOS}/Settings", {"Attributes": wanted}))[0] == 204


async def test_the_registry_describes_every_attribute(client: Client) -> None:
    bios = await client.get(BIOS)
    file = await client.get(f"/redfish/v1/Registries/{bios['AttributeRegistry']}")
    registry = await client.get(file["Location"][0]["Uri"])
    entries = {entry["AttributeName"]: entry for entry in registry["RegistryEntries"]["Attributes"]}
    assert set(entries) == set(bios["Attributes"])
    assert entries["BootTimeout"]["UpperBound"] == 60
    assert registry["SupportedSystems"][0]["FirmwareVersion"] == bios["Attributes"]["SystemBiosVersion"]


async def test_reset_to_defaults_is_pending_too(client: Client, service: RunningService) -> None:
    await client.patch(f"{BIOS}/Settings", {"Attributes": {"QuietBoot": True}})
    await client.reset("On")
    assert (await client.post(f"{BIOS}/Actions/Bios.ResetBios", {}))[0] == 204
    assert service.system.state.bios["QuietBoot"] is True
    await client.reset("ForceRestart")
    assert service.system.state.bios["QuietBoot"] is False
