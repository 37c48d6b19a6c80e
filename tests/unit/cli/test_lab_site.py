"""A lab makes its site from the same skeleton, with its own inventory and the digest of its own image."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from metalwright.allocations import allocate_addresses
from metalwright.checking import examine
from metalwright.errors import InvalidFilesError
from metalwright.loading import load_site, release
from metalwright.starter.site import create_site

TODAY = date(2026, 11, 30)
INVENTORY = {
    "site.yaml": """\
schema: 1
name: lab
domain: lab.example.net
ntp: [10.1.0.2]
redfish: {port: 8443}
factory_credentials: [{user: admin, password: "env:LAB_FACTORY_PASSWORD"}]
boot_server: {listen: 127.0.0.1, address_for_bmc: 127.0.0.1, address_for_node: 10.1.0.2}
admins: [{name: op, authorized_keys: [ssh-ed25519 AAAA op]}]
""",
    "networks.yaml": """\
schema: 1
networks:
  - name: oob
    purpose: oob-management
    prefix: 127.77.0.0/24
    reserved: [127.77.0.1-127.77.0.10, 127.77.0.101-127.77.0.254]
  - name: hosts
    purpose: host-management
    prefix: 10.1.0.0/24
    gateway: 10.1.0.2
    reserved: [10.1.0.1-10.1.0.10]
""",
    "racks/lab.yaml": """\
schema: 1
name: lab
site: lab
nodes:
  - {name: lab-1, unit: 1, serial: LAB0001, uuid: 6d657461-6c77-4269-8000-000000000001, blueprint: lab-vm@1.0.0}
  - {name: lab-2, unit: 2, serial: LAB0002, uuid: 6d657461-6c77-4269-8000-000000000002, blueprint: lab-vm@1.0.0}
""",
}


def pin_image(site: Path, file_sha256: str) -> None:
    path = site / "blueprints/lab-vm/1.0.0.yaml"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(f"  file_sha256: {file_sha256}\n" if "file_sha256:" in line else line for line in lines))


def test_a_lab_site_with_its_own_image_is_valid(tmp_path: Path) -> None:
    create_site(tmp_path, inventory=INVENTORY)
    pin_image(tmp_path, "ab" * 32)
    with pytest.raises(InvalidFilesError, match="was changed"):
        load_site(tmp_path)
    release(tmp_path, ["lab-vm@1.0.0"], replace=True)
    allocate_addresses(tmp_path, TODAY)
    reading = examine(tmp_path, TODAY)
    assert (reading.errors, reading.warnings) == ((), ())
    repository = load_site(tmp_path)
    assert repository.blueprint_of("lab-1").image.file_sha256 == "ab" * 32
    assert repository.addresses.of_node("lab-2") == {"oob": "127.77.0.12", "hosts": "10.1.0.12"}
