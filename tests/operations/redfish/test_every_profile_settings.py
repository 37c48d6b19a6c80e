"""Credentials, firmware, BIOS and hardening through pyinfra on every simulated kind of BMC; a second run is idle."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.failures.profiled import Profiled, profiled, site_of
from tests.operations.redfish.in_process import Outcome, run_deploy
from tests.operations.redfish.site import LabSite
from tests.simulator.discovery.sites import BLUEPRINT

from metalwright.deploys.bios import bios
from metalwright.deploys.credentials import credentials
from metalwright.deploys.firmware import firmware
from metalwright.deploys.harden import harden
from metalwright.simulator.profiles import NAMES, load_profile

QUICK = "h200-8x-dell"
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "a100-8x-hpe": {"WorkloadProfile": "Custom", "PowerRegulator": "StaticHighPerf", "ProcHyperthreading": "Disabled"},
    "cpu-node-hpe": {"WorkloadProfile": "Custom", "PowerRegulator": "StaticHighPerf", "EnabledCoresPerProc": 16},
    "gb200-tray-nvidia": {"PowerCapping": "Enabled", "ModulePowerW": 900, "QuickBootEnabled": False},
    "h100-8x-supermicro": {"SR_IOVSupport": "Enabled", "PowerTechnology": "Custom", "TurboMode": "Disable"},
    "h200-8x-dell": {"SysProfile": "Custom", "ProcCStates": "Disabled", "SriovGlobalEnable": "Enabled"},
    "l40s-8x-lenovo": {"Processors_cTDPMode": "Manual", "Processors_cTDP": 300, "Processors_SMTMode": "Disabled"},
    "mi300x-8x-ami": {"CBS012": "Manual", "CBS011": 350, "SETUP008": False},
}
"""Per profile some attributes that differ from what the factory set, one of them locked until another is in force."""

IMAGES = {
    "a100-8x-hpe": ("1", "iLO 5 v3.00"),
    "cpu-node-hpe": ("1", "iLO 6 v1.70"),
    "gb200-tray-nvidia": ("FW_BMC_0", "GB200Nvl-25.06-1"),
    "h100-8x-supermicro": ("BMC", "01.04.00"),
    "h200-8x-dell": ("Installed-25227-iDRAC", "7.20.10.05"),
    "l40s-8x-lenovo": ("BMC-Primary", "QGX335A 4.20 2024-11-02"),
    "mi300x-8x-ami": ("BMCImage1", "13.07.01"),
}
"""Per profile the BMC's entry in the firmware inventory, and a newer version of it."""

FETCHED = ("a100-8x-hpe", "cpu-node-hpe")
"""These take an image by its URL alone, and no boot server runs here."""


HARDENING = "hardening: {syslog: [192.0.2.9, 192.0.2.10], lockdown: true}\n"
MAKERS = {
    "a100-8x-hpe": (["192.0.2.9", "192.0.2.10"], False),
    "cpu-node-hpe": (["192.0.2.9", "192.0.2.10"], False),
    "h100-8x-supermicro": ([], True),
    "h200-8x-dell": (["192.0.2.9", "192.0.2.10"], True),
}
"""Per profile the servers of its log and whether it is locked, where its maker offers that."""


def test_each_profile_with_a_host_is_tried() -> None:
    assert ATTRIBUTES.keys() == IMAGES.keys() == {name for name in NAMES if not name.startswith("power-shelf")}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == QUICK else [pytest.mark.long]) for name in ATTRIBUTES]
)
def test_settings_are_made_on_this_profile_and_a_second_run_changes_nothing(name: str, tmp_path: Path) -> None:
    with profiled(name, f"127.114.240.{1 + list(ATTRIBUTES).index(name)}") as machine:
        machine.bmc.update_s = 0.02
        site = _site(tmp_path, name, machine)
        _changes_once(site, credentials)
        if name not in FETCHED:
            run = run_deploy(site, firmware, "gpu-1")
            while run.is_ok and (run.changed or "under way" in run.text):
                run = run_deploy(site, firmware, "gpu-1")
            assert run.is_ok, run.text
            assert machine.bmc.system.state.firmware[IMAGES[name][0]] == IMAGES[name][1]
        _changes_once(site, bios)
        assert ATTRIBUTES[name].items() <= machine.bmc.system.state.bios.items()
        _changes_once(site, harden)
        manager = machine.bmc.system.state.manager
        assert (manager.syslog_servers, manager.is_locked) == MAKERS.get(name, ([], False))
        _is_idle(site, credentials, bios, *([] if name in FETCHED else [firmware]))


def _site(root: Path, name: str, machine: Profiled) -> LabSite:
    """A site whose blueprint wants the attributes and the newer version, with an image of that."""
    made = site_of(root, machine, BLUEPRINT["hardware"])
    with (root / "inventory/site.yaml").open("a") as file:
        file.write(HARDENING)
    entry, version = IMAGES[name]
    wanted: dict[str, Any] = {"bios": {"registry": f"lab/{name}-1", "attributes": ATTRIBUTES[name]}}
    if name not in FETCHED:
        wanted["firmware"] = {"bmc": f"=={version}"}
    image = f"metalwright-firmware {entry} {version}\n".encode() + b"\0" * 100
    sha256 = hashlib.sha256(image).hexdigest()
    (root / "firmware/files").mkdir(parents=True)
    (root / "firmware/files/bmc.bin").write_bytes(image)
    offer = {"component": "bmc", "version": version, "file": "bmc.bin", "file_sha256": sha256}
    models = sorted({report["system"]["model"] for report in load_profile(name).tree.truth})
    YAML().dump({"schema": 1, "models": models, "images": [offer]}, root / "firmware/lab.yaml")
    YAML().dump({**BLUEPRINT, **wanted}, root / "blueprints/lab-vm/1.0.0.yaml")
    return LabSite(made.root, {}, {"FACTORY": machine.password})


def _changes_once(site: LabSite, deploy: Callable[..., Any]) -> None:
    first = run_deploy(site, deploy, "gpu-1")
    assert first.is_ok, first.text
    assert first.changed
    _is_idle(site, deploy)


def _is_idle(site: LabSite, *deploys: Callable[..., Any]) -> None:
    for deploy in deploys:
        again: Outcome = run_deploy(site, deploy, "gpu-1")
        assert again.is_ok, again.text
        assert (again.planned, again.changed) == ([], []), again.text
