"""A power shelf in a rack file: found, given a login of its own, hardened; what it has no system for is skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.failures.profiled import Profiled, profiled
from tests.operations.redfish.in_process import Outcome, run_deploy
from tests.operations.redfish.site import LabSite
from tests.simulator.discovery.sites import SiteOnDisk, machine, make_site, node_of

from metalwright.deploys.address import address
from metalwright.deploys.bios import bios
from metalwright.deploys.credentials import credentials
from metalwright.deploys.firmware import firmware
from metalwright.deploys.harden import harden
from metalwright.deploys.image import image

HARDENING = {"protocols": {"SSDP": False}, "lockout": {"threshold": 5, "duration_s": 600}}


@pytest.fixture
def shelf() -> Iterator[Profiled]:
    with profiled("power-shelf-delta", "127.114.241.1") as one:
        yield one


def site_with(root: Path, shelf: Profiled, *equipment: dict[str, Any]) -> SiteOnDisk:
    site = make_site(root, [], shelf.port)
    _change(root / "inventory/racks/r1.yaml", equipment=list(equipment))
    factory = [{"user": shelf.bmc.spec.bmc.user, "password": "env:FACTORY"}]
    hardening = {**HARDENING, "default_accounts": "disabled"}
    _change(root / "inventory/site.yaml", factory_credentials=factory, hardening=hardening)
    return site


def declared(shelf: Profiled, **changes: Any) -> dict[str, Any]:
    """The entry of the shelf, as the sticker has it."""
    identity = shelf.bmc.identity
    keys = {"serial": identity.serial, "bmc_mac": identity.mac(0), "bmc_address": shelf.address}
    return {"name": "shelf-1", "kind": "power-shelf", **keys, **changes}


def _change(path: Path, **values: Any) -> None:
    body = YAML().load(path)
    YAML().dump({**body, **values}, path)


def _deployed(site: SiteOnDisk, shelf: Profiled, deploy: Any, **data: Any) -> Outcome:
    return run_deploy(LabSite(site.root, {}, {"FACTORY": shelf.password}), deploy, "shelf-1", **data)


def test_a_declared_power_shelf_is_found_by_name_and_kind(shelf: Profiled, tmp_path: Path) -> None:
    site = site_with(tmp_path, shelf, declared(shelf))
    done = site.run("discover", shelf.address, "--json", factory=shelf.password)
    assert done.code == 0, done.err
    (found,) = done.json["equipment"]
    assert (found["node"], found["kind"], found["keys"]) == ("shelf-1", "power-shelf", ["serial", "bmc_mac"])
    assert found["pinned_now"]
    assert done.json["unclaimed"] == done.json["missing"] == done.json["others"] == done.json["claimed"] == []
    again = site.run("discover", shelf.address, factory=shelf.password)
    assert "power shelf Delta" in again.out
    assert "missing" not in again.out


def test_the_lines_for_an_unclaimed_power_shelf_claim_it_when_pasted(shelf: Profiled, tmp_path: Path) -> None:
    site = site_with(tmp_path, shelf)
    found = site.run("discover", f"{shelf.address}/32", "--json", factory=shelf.password)
    (unclaimed,) = found.json["unclaimed"]
    (entry,) = YAML(typ="safe").load(unclaimed["yaml"])
    assert entry["kind"] == "power-shelf"
    _change(tmp_path / "inventory/racks/r1.yaml", equipment=[{**entry, "name": "shelf-1"}])
    (claimed,) = site.run("discover", f"{shelf.address}/32", "--json", factory=shelf.password).json["equipment"]
    assert claimed["keys"] == [key for key in ("serial", "uuid", "bmc_mac") if key in entry]
    assert len(claimed["keys"]) == 3


def test_a_shelf_declared_as_a_node_is_a_conflict_that_says_where_it_belongs(shelf: Profiled, tmp_path: Path) -> None:
    site = site_with(tmp_path, shelf)
    identity = shelf.bmc.identity
    node = node_of(machine(1), serial=identity.serial, bmc_mac=identity.mac(0), identity=["serial", "bmc_mac"])
    _change(tmp_path / "inventory/racks/r1.yaml", nodes=[node])
    done = site.run("discover", shelf.address, factory=shelf.password)
    assert done.code == 1
    assert "equipment stands under `equipment:`" in done.out


def test_a_command_for_nodes_says_that_it_is_equipment(shelf: Profiled, tmp_path: Path) -> None:
    done = site_with(tmp_path, shelf, declared(shelf)).run("power", "shelf-1")
    assert done.code == 64
    assert "this is equipment and no node" in done.err


def test_one_serial_for_a_node_and_for_equipment_is_refused_by_check(shelf: Profiled, tmp_path: Path) -> None:
    site = site_with(tmp_path, shelf, declared(shelf, serial=machine(9).serial))
    done = site.run("check")
    assert done.code == 2
    assert "serial" in done.out + done.err


def test_its_login_and_hardening_are_made_once_and_what_needs_a_system_is_skipped(
    shelf: Profiled, tmp_path: Path
) -> None:
    site = site_with(tmp_path, shelf, declared(shelf))
    first = _deployed(site, shelf, credentials)
    assert first.is_ok, first.text
    assert "BMC login of our own" in first.changed
    harden_run = _deployed(site, shelf, harden)
    assert harden_run.is_ok, harden_run.text
    for deploy in (credentials, harden):
        second = _deployed(site, shelf, deploy)
        assert second.is_ok, second.text
        assert second.changed == [], second.text
    accounts = shelf.bmc.system.state.accounts
    assert "metalwright" in {account.user for account in accounts}
    for deploy in (firmware, bios, address):
        skipped = _deployed(site, shelf, deploy)
        assert skipped.is_ok, skipped.text
        assert skipped.changed == []
    assert not _deployed(site, shelf, image).is_ok


def test_nothing_is_written_to_a_shelf_with_another_serial(shelf: Profiled, tmp_path: Path) -> None:
    site = site_with(tmp_path, shelf, declared(shelf, serial="OTHER0001"))
    refused = _deployed(site, shelf, credentials)
    assert not refused.is_ok
    assert "does not belong to the declared machine" in refused.text
    writes = [item for item in shelf.bmc.traffic.records if item.method != "GET" and "/Sessions" not in item.path]
    assert writes == []
