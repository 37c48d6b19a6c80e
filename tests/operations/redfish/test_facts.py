"""Facts with the real pyinfra: what plain `pyinfra @redfish/ADDRESS fact …` prints."""

from __future__ import annotations

import json
from typing import Any

from tests.operations.redfish.site import FACTORY_PASSWORD, LabSite

NAMES = [
    "System",
    "Power",
    "BiosAttributes",
    "BiosRegistry",
    "BootOverride",
    "VirtualMedia",
    "Accounts",
    "Login",
    "ManagerNetwork",
    "ManagerClock",
    "NetworkProtocol",
    "FirmwareInventory",
    "Drives",
]


def test_every_fact_tells_what_the_machine_is(site: LabSite) -> None:
    machine = site.machines["lab-1"]
    address = machine.url.removeprefix("https://")
    run = site.pyinfra(
        "--json",
        f"@redfish/{address}",
        "fact",
        *[f"metalwright.facts.redfish.{name}" for name in NAMES],
        METALWRIGHT_BMC_USER="admin",
        METALWRIGHT_BMC_PASSWORD=FACTORY_PASSWORD,
    )
    assert run.code == 0, run.text
    facts = _by_name(json.loads(run.stdout))
    assert facts["System"]["serial"] == "LAB0001"
    assert facts["Power"]["state"] == "Off"
    assert "ForceOff" in facts["Power"]["reset_types"]
    bios = facts["BiosAttributes"]
    assert bios["attributes"]["SysProfile"] == "Balanced"
    assert bios["settings_uri"] == "/redfish/v1/Systems/1/Bios/Settings"
    assert any(item["AttributeName"] == "SysProfile" for item in facts["BiosRegistry"]["RegistryEntries"]["Attributes"])
    assert (facts["BootOverride"]["enabled"], facts["BootOverride"]["mode"]) == ("Disabled", "UEFI")
    assert [slot["is_inserted"] for slot in facts["VirtualMedia"]["slots"]] == [False]
    assert facts["Accounts"]["accounts"][0]["user"] == "admin"
    known = {"user": "admin", "origin": "environment", "is_staged": False, "is_shared": False, "made": None}
    assert facts["Login"] == known | {"must_change": False, "barred": []}
    assert facts["ManagerNetwork"]["interfaces"][0]["mac"] == "52:54:00:bc:00:01"
    assert facts["ManagerClock"]["time"]
    assert facts["NetworkProtocol"]["protocols"]["IPMI"] is True
    assert facts["FirmwareInventory"]["bios_version"] == "1.0.0"
    assert facts["Drives"]["drives"][0]["serial"] == "LABDISK0001"
    assert FACTORY_PASSWORD not in run.text
    assert site.open_sessions() == 0


def test_a_bmc_that_does_not_answer_a_fact_fails_its_host_without_a_traceback(site: LabSite) -> None:
    site.machines["lab-1"].system.faults.set("wrong-answer", path="Bios", status=500, body="busy")
    run = site.pyinfra("-y", "inventory/bmcs.py", "deploys/bios.py")
    assert run.code == 1
    assert "the BMC failed to carry out the request" in run.text
    assert "Traceback" not in run.text
    assert site.writes("lab-1") == []


def _by_name(payload: Any) -> dict[str, Any]:
    """Short fact name → the one host's value, from pyinfra's JSON."""
    found: dict[str, Any] = {}
    for name, hosts in payload.items():
        short = name.split(" ")[0].split("(")[0].strip().rsplit(".", 1)[-1]
        found[short] = next(iter(hosts.values()))
    return found
