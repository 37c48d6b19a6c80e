"""A node that goes to another customer: refused, or every disk erased with proof and a signed record.

The disks are small: every byte of them is written and read.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.simulator.provision.world import Options, world

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
MIB = 1 << 20
BLUEPRINT = "blueprints/lab-vm/1.0.0.yaml"
SMALL = (
    (BLUEPRINT, "min_bytes: 3000000000, max_bytes: 8000000000", "min_bytes: 30000000, max_bytes: 50000000"),
    (BLUEPRINT, "min_bytes: 9000000000", "min_bytes: 60000000"),
)


def test_a_node_goes_to_another_customer_only_with_all_disks_erased_and_a_signed_record(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    disks = [{"serial": "SYS0001", "size_bytes": 40 * MIB}, {"serial": "DAT0001", "size_bytes": 64 * MIB}]
    with world(tmp_path, "127.101", tiny_image, Options(changes={"disks": disks}, edits=SMALL)) as site:
        machine = site.machine
        site.fill(machine, machine.data_disk)
        code, text = site.provision()
        assert code == 0, text
        site.edit("inventory/racks/lab.yaml", "unit: 1\n", "unit: 1\n    customer: acme\n")
        before = site.sha256(machine, machine.system_disk)
        code, text = site.provision()
        assert code == 1, text
        assert "the node goes to another customer, and its disks are not to be erased" in text
        assert "written for customer none" in text
        assert site.sha256(machine, machine.system_disk) == before

        code, text = site.run("rebuild", "lab-1", "--wipe", "--undrained", "test", "--until", "image", "--yes")
        assert code == 0, text
        for serial in (machine.system_disk, machine.data_disk):
            assert f"WILL BE ERASED: lab-1, disk {serial}, everything on it" in text
        assert not any(site.disk(machine, machine.data_disk).read_bytes())
        stamp = site.stamp(machine) or {}
        assert stamp["customer"] == "acme"

        record = site.state / "wipes" / f"lab-1-{stamp['run']}.json"
        code, text = site.run("certificate", "verify", str(record))
        assert code == 0, text
        assert f"lab-1: erased in run {stamp['run']}, from customer none to acme" in text
        changed = record.with_name("changed.json")
        changed.write_text(record.read_text().replace(machine.data_disk, "OTHER-DISK"))
        assert site.run("certificate", "verify", str(changed))[0] == 1
