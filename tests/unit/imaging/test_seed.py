"""The seed makes an image one node: right addresses on the right ports, login by key, nothing secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metalwright.errors import ImageError, LoadingError
from metalwright.imaging.seed import render_seed
from metalwright.model.repository import SiteRepository
from metalwright.node_networks import node_address

TEMPLATES = Path(__file__).parents[3] / "templates"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIexample operator"


def repository(*, bond: str | None = None, networks: tuple[str, ...] = ("host-management",)) -> SiteRepository:
    attachment: dict[str, Any] = {"role": "host", "networks": networks, "mtu": 9000}
    if bond:
        attachment["bond"] = bond
    return SiteRepository.model_validate(
        {
            "site": {
                "schema": 1,
                "name": "lab",
                "domain": "lab.example",
                "ntp": ["192.0.2.1"],
                "dns": ["192.0.2.53"],
                "boot_server": {"address_for_bmc": "127.0.0.1", "address_for_node": "10.1.0.2"},
                "admins": [{"name": "ada", "authorized_keys": [KEY]}],
            },
            "networks": [
                {"name": "host", "purpose": "host-management", "prefix": "10.1.0.0/24", "gateway": "10.1.0.2"},
                {"name": "work", "purpose": "workload", "prefix": "10.2.0.0/16", "vlan": 120},
            ],
            "racks": [
                {
                    "schema": 1,
                    "name": "r1",
                    "site": "lab",
                    "nodes": [
                        {
                            "name": "n1",
                            "serial": "S1",
                            "bmc_mac": "52:54:00:00:00:01",
                            "blueprint": "b@1.0.0",
                            "ports": [{"mac": "52:54:00:AA:00:01", "role": "host"}],
                        }
                    ],
                }
            ],
            "blueprints": {
                "b@1.0.0": {
                    "schema": 1,
                    "name": "b",
                    "version": "1.0.0",
                    "class": {"role": "lab", "owner": "infra"},
                    "hardware": {
                        "system": {"manufacturer": "QEMU", "models": ["m"]},
                        "cpus": {"count": 1},
                        "memory": {"total_gib": 1},
                        "nics": [{"role": "host", "count": 1}],
                        "drives": [{"role": "system", "count": 1, "min_bytes": 5}],
                    },
                    "network": [attachment],
                    "image": {"name": "d", "version": "1", "file_sha256": "a" * 64},
                    "acceptance": [{"test": "disk-read", "record": True}],
                }
            },
            "addresses": {
                "allocations": [
                    {"address": "10.1.0.5", "network": "host", "node": "n1"},
                    {"address": "10.2.0.7", "network": "work", "node": "n1"},
                ]
            },
            "tree_digest": "sha256:0",
        }
    )


def files(site: SiteRepository) -> dict[str, str]:
    return {item.path: item.text for item in render_seed(TEMPLATES, site, "n1", [KEY]).files}


def test_the_port_with_the_declared_mac_gets_the_allocated_address_and_gateway() -> None:
    text = files(repository())["/etc/systemd/network/10-host.network"]
    assert "PermanentMACAddress=52:54:00:aa:00:01\n" in text
    assert "Address=10.1.0.5/24\n" in text
    assert "Gateway=10.1.0.2\n" in text
    assert "MTUBytes=9000\n" in text
    assert "DNS=192.0.2.53\n" in text


def test_further_networks_of_a_role_become_vlans_with_their_own_address() -> None:
    made = files(repository(networks=("host-management", "workload")))
    assert "VLAN=vlan120\n" in made["/etc/systemd/network/10-host.network"]
    assert "Id=120\n" in made["/etc/systemd/network/10-vlan120.netdev"]
    assert "Address=10.2.0.7/16\n" in made["/etc/systemd/network/10-vlan120.network"]


def test_a_bond_carries_the_addresses_and_its_ports_carry_none() -> None:
    made = files(repository(bond="802.3ad"))
    assert "Mode=802.3ad\n" in made["/etc/systemd/network/10-bond-host.netdev"]
    port = made["/etc/systemd/network/10-bond-host-port.network"]
    assert "Bond=bond-host\n" in port
    assert "\nAddress=" not in port
    assert "Name=bond-host\n" in made["/etc/systemd/network/10-host.network"]


def test_login_is_by_key_for_the_sites_account_only() -> None:
    made = files(repository())
    assert made["/etc/ssh/authorized_keys.d/metalwright"] == f"{KEY}\n"
    assert "PasswordAuthentication no\n" in made["/etc/ssh/sshd_config.d/00-metalwright.conf"]


def test_the_sudoers_file_has_the_mode_that_sudo_demands() -> None:
    seed = render_seed(TEMPLATES, repository(), "n1", [KEY])
    modes = {item.path: item.mode for item in seed.files}
    assert modes["/etc/sudoers.d/metalwright"] == "0440"
    assert (seed.hostname, seed.fqdn) == ("n1", "n1.lab.example")


def test_a_network_without_an_allocated_address_is_refused_with_the_command_that_allocates() -> None:
    site = repository()
    empty = site.model_copy(update={"addresses": type(site.addresses)()})
    with pytest.raises(ImageError, match="no address") as caught:
        node_address(empty, "n1", "host-management")
    assert "addresses allocate" in (caught.value.hint or "")


def test_a_broken_template_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match=r"seed/sysusers\.conf\.j2"):
        render_seed(tmp_path, repository(), "n1", [KEY])


def test_im_14_the_same_deployment_has_the_same_seed_and_no_instance_id_decides() -> None:
    """The agent configures each written system anew; cloud-init is off, and the machine id is made at first boot."""
    first, second = (render_seed(TEMPLATES, repository(), "n1", [KEY]) for _ in range(2))
    assert first == second
    assert first.machine_id is None
    assert {file.path for file in first.files} >= {"/etc/cloud/cloud-init.disabled"}
    assert not any("PRIVATE KEY" in file.text for file in first.files)


def test_im_15_nothing_configures_the_system_again_once_ssh_answers() -> None:
    """The files are there before the first boot, and cloud-init, which would reboot or change keys, is off."""
    files = {file.path: file.text for file in render_seed(TEMPLATES, repository(), "n1", [KEY]).files}
    assert "/etc/cloud/cloud-init.disabled" in files
    assert "/etc/ssh/authorized_keys.d/metalwright" in files
