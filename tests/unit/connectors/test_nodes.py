"""The inventory of operating systems: plain data, pinned host keys, no guesses about addresses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.desired import KEY, blueprint, networks, node, site

from metalwright.connectors.nodes import Host, node_host, package_sources
from metalwright.loading import SitePaths
from metalwright.model.addresses import AddressLock, Allocation
from metalwright.model.rack import Rack
from metalwright.model.repository import SiteRepository
from metalwright.model.site import MonitoringSettings
from metalwright.ssh.keys import login_key_path


def repository(*, has_address: bool = True, **node_changes: object) -> SiteRepository:
    allocations = (Allocation(address="10.1.0.11", network="mgmt", node="lab-1"),) if has_address else ()
    return SiteRepository(
        site=site(),
        networks=networks(),
        racks=(Rack(schema_version=1, name="r1", site="lab", nodes=(node(**node_changes),)),),
        blueprints={"lab-vm@1.0.0": blueprint()},
        addresses=AddressLock(allocations=allocations),
        tree_digest="x",
    )


def host_of(repo: SiteRepository, directory: Path) -> Host:
    host = node_host(repo, repo.node("lab-1"), directory)
    assert host is not None
    return host


def test_a_node_is_reached_at_its_address_with_a_pinned_key(tmp_path: Path) -> None:
    name, data = host_of(repository(), tmp_path)
    assert (name, data["ssh_hostname"], data["ssh_port"], data["ssh_user"]) == ("lab-1", "10.1.0.11", 22, "metalwright")
    assert data["ssh_strict_host_key_checking"] == "yes"
    assert data["ssh_known_hosts_file"] == str(tmp_path / ".metalwright" / "known_hosts")
    assert data["_sudo"] is True


def test_a_forwarded_port_is_taken_as_declared(tmp_path: Path) -> None:
    data = host_of(repository(ssh={"host": "127.77.1.1", "port": 2222}), tmp_path)[1]
    assert (data["ssh_hostname"], data["ssh_port"]) == ("127.77.1.1", 2222)


def test_a_node_without_an_address_is_no_host(tmp_path: Path) -> None:
    repo = repository(has_address=False)
    assert node_host(repo, repo.node("lab-1"), tmp_path) is None


def test_host_data_is_plain_json(tmp_path: Path) -> None:
    data = host_of(repository(), tmp_path)[1]
    assert json.loads(json.dumps(data)) == data
    assert data["admins"] == [{"name": "amina", "authorized_keys": [KEY], "sudo": "all", "principals": []}]
    assert [pin["name"] for pin in data["package_pins"]] == ["containerd", "prometheus-node-exporter"]
    assert "apt_sources" not in data, "the image's own sources stay"


def test_the_sites_sources_come_first(tmp_path: Path) -> None:
    line = "deb http://mirror.example/debian bookworm main"
    assert package_sources(site(apt={"sources": [line]}), blueprint(), tmp_path) == {"apt_sources": [line]}


@pytest.mark.parametrize(("address", "shown"), [("10.1.0.2", "10.1.0.2"), ("fd00::2", "[fd00::2]")])
def test_a_mirror_of_the_blueprint_is_used_with_its_key(tmp_path: Path, address: str, shown: str) -> None:
    mirror = tmp_path / "packages" / "lab-vm" / "1.0.0"
    mirror.mkdir(parents=True)
    (mirror / "mirror.json").write_text("{}")
    (mirror / "metalwright.asc").write_text("KEY")
    wanted = site(boot_server={"address_for_bmc": "127.0.0.1", "address_for_node": address})
    keyring = "/etc/apt/keyrings/metalwright.asc"
    assert package_sources(wanted, blueprint(), tmp_path) == {
        "apt_sources": [f"deb [signed-by={keyring}] http://{shown}:8480/packages/lab-vm/1.0.0 ./"],
        "apt_keyring": "KEY",
    }


def test_the_login_key_is_the_named_one_or_the_sites_own_once_it_is_made(tmp_path: Path) -> None:
    assert "ssh_key" not in host_of(repository(), tmp_path)[1]
    own = tmp_path / ".metalwright" / "ssh" / "id_ed25519"
    own.parent.mkdir(parents=True)
    own.touch()
    assert host_of(repository(), tmp_path)[1]["ssh_key"] == str(own)
    named = site(ssh={"private_key": "keys/a"})
    assert login_key_path(named, SitePaths(tmp_path)) == tmp_path / "keys" / "a"


def test_exporters_are_open_to_everybody_until_the_site_says_who_watches(tmp_path: Path) -> None:
    data = host_of(repository(), tmp_path)[1]
    assert (data["open_tcp_ports"], data["scraped"]["ports"]) == ([22, 9100], [])
    watched = MonitoringSettings(scrapers=("10.30.0.9", "2001:db8::/64"))
    repo = repository().model_copy(update={"site": site().model_copy(update={"monitoring": watched})})
    data = host_of(repo, tmp_path)[1]
    assert data["open_tcp_ports"] == [22]
    assert data["scraped"] == {"ports": [9100], "ip": ["10.30.0.9"], "ip6": ["2001:db8::/64"]}
