"""The same networks for systemd-networkd, netplan and NetworkManager: right values, read by the real programs."""

from __future__ import annotations

import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
from tests.desired import blueprint, node, site

from metalwright.model.addresses import AddressLock, Allocation
from metalwright.model.network import Network
from metalwright.model.rack import Rack
from metalwright.model.repository import SiteRepository
from metalwright.node_networks import network_files
from metalwright.templates import render

TEMPLATES = Path(__file__).parents[3] / "templates"
PORTS = [
    {"mac": "52:54:00:00:00:01", "role": "host"},
    {"mac": "52:54:00:00:00:02", "role": "host"},
    {"mac": "52:54:00:00:01:01", "role": "fabric"},
    {"mac": "52:54:00:00:01:02", "role": "fabric"},
]
ATTACHED = [
    {"role": "host", "networks": ["host-management", "storage"], "bond": "802.3ad", "mtu": 9000},
    {"role": "fabric", "networks": ["fabric-rail-0", "fabric-rail-1"], "rails": True},
]
NETWORKS = (
    Network.model_validate(
        {"name": "mgmt", "purpose": "host-management", "prefix": "10.1.0.0/24", "gateway": "10.1.0.1",
         "prefix_v6": "fd00:1::/64", "gateway_v6": "fd00:1::1"}
    ),
    Network.model_validate(
        {"name": "disks", "purpose": "storage", "prefix": "10.4.0.0/16", "vlan": 40,
         "routes": [{"to": "10.44.0.0/16", "via": "10.4.0.1"}]}
    ),
    Network.model_validate(
        {"name": "rail0", "purpose": "fabric-rail-0", "prefix": "10.80.0.0/24", "mtu": 4200,
         "routes": [{"to": "10.80.0.0/12", "via": "10.80.0.254"}]}
    ),
    Network.model_validate({"name": "rail1", "purpose": "fabric-rail-1", "prefix": "10.81.0.0/24", "mtu": 4200}),
)  # fmt: skip
OWN = (
    ("mgmt", "10.1.0.11"), ("mgmt", "fd00:1::11"), ("disks", "10.4.0.11"), ("rail0", "10.80.0.11"),
    ("rail1", "10.81.0.11"),
)  # fmt: skip


def rendered(os: str, networks: tuple[Network, ...] = NETWORKS, **changes: Any) -> dict[str, tuple[str, str]]:
    """Path → mode and text of the network files of a node with an image of ``os``."""
    image = {"name": "i", "version": "1", "file_sha256": "0" * 64, "os": os}
    roles = [{"role": role, "count": 2} for role in ("host", "fabric", "other")]
    hardware = {**blueprint().hardware.to_json(), "nics": roles}
    wanted = blueprint(**{"network": ATTACHED, "image": image, "hardware": hardware, **changes})
    racked = Rack.model_validate({"schema": 1, "name": "r1", "site": "lab", "nodes": [node(ports=PORTS).to_json()]})
    repository = SiteRepository(
        site=site(dns=("10.9.0.3", "fd00:9::3")), networks=networks, racks=(racked,),
        blueprints={wanted.ref: wanted}, tree_digest="sha256:0",
        addresses=AddressLock(
            allocations=tuple(Allocation(address=address, network=name, node="lab-1") for name, address in OWN)
        ),
    )  # fmt: skip
    files = network_files(repository, "lab-1")
    return {file.path: (file.mode, render(TEMPLATES, f"seed/{file.template}", file.values)) for file in files}


def settings(text: str) -> dict[str, list[tuple[str, str]]]:
    """Sections of systemd-networkd's files with all of their lines, repeated ones too."""
    found: dict[str, list[tuple[str, str]]] = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line
        elif "=" in line:
            key, _, value = line.partition("=")
            found.setdefault(section, []).append((key, value))
    return found


def made_by_netplan(directory: Path, **changes: Any) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """What the real ``netplan generate`` makes of the file, without what every file of netplan brings along."""
    ((path, (mode, text)),) = rendered("ubuntu-24.04", **changes).items()
    assert (path, mode) == ("/etc/netplan/90-metalwright.yaml", "600")
    file = directory / path.lstrip("/")
    file.parent.mkdir(parents=True)
    file.write_text(text)
    file.chmod(0o600)
    done = subprocess.run(
        ["netplan", "generate", "--root-dir", str(directory)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), text
    made = directory.glob("run/systemd/network/*")
    return {item.name: settings(item.read_text()) for item in made if item.suffix != ".link"}


def test_networkd_gets_bond_vlan_rails_both_families_and_routes() -> None:
    files = {path.rpartition("/")[2]: settings(text) for path, (_, text) in rendered("debian-12").items()}
    assert set(files) == {
        "10-bond-host.netdev", "10-bond-host-port.network", "10-host.network", "10-vlan40.netdev",
        "10-vlan40.network", "11-fabric-0.network", "11-fabric-1.network",
    }  # fmt: skip
    host = files["10-host.network"]["[Network]"]
    assert [value for key, value in host if key == "Address"] == ["10.1.0.11/24", "fd00:1::11/64"]
    assert [value for key, value in host if key == "Gateway"] == ["10.1.0.1", "fd00:1::1"]
    assert files["10-vlan40.network"]["[Route]"] == [("Destination", "10.44.0.0/16"), ("Gateway", "10.4.0.1")]
    assert ("MTUBytes", "9000") in files["10-vlan40.network"]["[Link]"]
    rail = files["11-fabric-1.network"]
    assert rail["[Match]"] == [("PermanentMACAddress", "52:54:00:00:01:02")]
    assert ("MTUBytes", "4200") in rail["[Link]"]
    assert [pair for pair in rail["[Network]"] if pair[0] in ("Address", "Gateway")] == [("Address", "10.81.0.11/24")]
    assert files["11-fabric-0.network"]["[Route]"] == [("Destination", "10.80.0.0/12"), ("Gateway", "10.80.0.254")]


@pytest.mark.skipif(shutil.which("netplan") is None, reason="netplan.io is not installed")
def test_netplan_makes_of_its_file_what_debian_gets_directly(tmp_path: Path) -> None:
    made = made_by_netplan(tmp_path)
    bond = made["10-netplan-bond-host.netdev"]
    assert dict(bond["[Bond]"]) == {
        "Mode": "802.3ad", "LACPTransmitRate": "fast", "MIIMonitorSec": "100ms", "TransmitHashPolicy": "layer3+4",
    }  # fmt: skip
    host = made["10-netplan-bond-host.network"]
    assert [value for key, value in host["[Network]"] if key == "Address"] == ["10.1.0.11/24", "fd00:1::11/64"]
    assert [value for key, value in host["[Network]"] if key == "DNS"] == ["10.9.0.3", "fd00:9::3"]
    assert {("VLAN", "vlan40"), ("IPv6AcceptRA", "no"), ("LinkLocalAddressing", "ipv6")} <= set(host["[Network]"])
    assert [value for key, value in host["[Route]"] if key == "Gateway"] == ["10.1.0.1", "fd00:1::1"]
    for index in (0, 1):
        port = made[f"10-netplan-host-{index}.network"]
        assert port["[Match]"] == [("PermanentMACAddress", f"52:54:00:00:00:0{index + 1}")]
        assert {("Bond", "bond-host")} <= set(port["[Network]"])
        assert not [key for key, _ in port["[Network]"] if key == "Address"]
    assert made["10-netplan-vlan40.netdev"]["[VLAN]"] == [("Id", "40")]
    assert made["10-netplan-vlan40.network"]["[Route]"] == [("Destination", "10.44.0.0/16"), ("Gateway", "10.4.0.1")]
    rail = made["10-netplan-fabric-1.network"]
    assert rail["[Match]"] == [("PermanentMACAddress", "52:54:00:00:01:02")]
    assert ("MTUBytes", "4200") in rail["[Link]"]
    assert "[Route]" not in rail


def key_files(**changes: Any) -> dict[str, ConfigParser]:
    """Name of a connection → its file, as the real ``nmcli`` reads it; what it does not know it leaves out."""
    found = {}
    for path, (mode, text) in rendered("rocky-9", **changes).items():
        assert path.startswith("/etc/NetworkManager/system-connections/")
        assert mode == "600"
        done = subprocess.run(
            ["nmcli", "--offline", "connection", "modify", "connection.autoconnect", "yes"],
            input=text, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), text
        written, read = _parsed(text), _parsed(done.stdout)
        lost = [
            (section, key)
            for section in written.sections()
            for key, value in written[section].items()
            if not _is_kept(read, section, key, value)
        ]
        assert lost == [], done.stdout
        found[read["connection"]["id"]] = read
    return found


def _parsed(text: str) -> ConfigParser:
    parser = ConfigParser(interpolation=None, delimiters=("=",))
    parser.read_string(text)
    return parser


def _is_kept(read: ConfigParser, section: str, key: str, value: str) -> bool:
    """nmcli writes a gateway behind the first address, defaults not at all, and names of MACs in its own way."""
    if key == "gateway":
        return value in read[section]["address1"]
    if (section, key, value) == ("ethernet", "mtu", "") or (key, value) == ("method", "disabled"):
        return True
    found = read.get(section, key, fallback=None)
    return found is not None and (found == value or found.startswith(f"{value},") or found.upper() == value.upper())


@pytest.mark.skipif(shutil.which("nmcli") is None, reason="network-manager is not installed")
def test_network_manager_reads_every_line_of_its_files() -> None:
    found = key_files()
    assert set(found) == {
        "10-host", "10-bond-host-port-0", "10-bond-host-port-1", "10-vlan40", "11-fabric-0", "11-fabric-1",
    }  # fmt: skip
    host = found["10-host"]
    assert dict(host["connection"])["interface-name"] == "bond-host"
    assert {**host["bond"]} == {
        "mode": "802.3ad", "miimon": "100", "lacp_rate": "fast", "xmit_hash_policy": "layer3+4",
    }  # fmt: skip
    assert host["ipv4"]["address1"] == "10.1.0.11/24,10.1.0.1"
    assert host["ipv6"]["address1"] == "fd00:1::11/64,fd00:1::1"
    assert (host["ipv4"]["dns"], host["ipv6"]["dns"]) == ("10.9.0.3;", "fd00:9::3;")
    assert host["ethernet"]["mtu"] == "9000"
    ports = [found[f"10-bond-host-port-{index}"] for index in (0, 1)]
    assert [port["ethernet"]["mac-address"].lower() for port in ports] == [port["mac"] for port in PORTS[:2]]
    assert {port["connection"]["master"] for port in ports} == {"bond-host"}
    vlan = found["10-vlan40"]
    assert (vlan["vlan"]["id"], vlan["vlan"]["parent"]) == ("40", host["connection"]["uuid"])
    assert vlan["ipv4"]["route1"] == "10.44.0.0/16,10.4.0.1"
    rail = found["11-fabric-1"]
    assert rail["ethernet"]["mac-address"] == "52:54:00:00:01:02"
    assert (rail["ipv4"]["address1"], rail["ethernet"]["mtu"]) == ("10.81.0.11/24", "4200")


@pytest.mark.skipif(shutil.which("nmcli") is None, reason="network-manager is not installed")
def test_without_macs_a_bond_takes_every_port_and_a_link_the_only_one(tmp_path: Path) -> None:
    bond = [{"role": "other", "networks": ["host-management"], "bond": "active-backup"}]
    assert key_files(network=bond)["10-bond-other-port-0"]["connection"]["multi-connect"] == "3"
    assert "mac-address" not in key_files(network=[{**bond[0], "bond": None}])["10-other"]["ethernet"]
    if shutil.which("netplan") is not None:
        port = made_by_netplan(tmp_path, network=bond)["10-netplan-other-0.network"]
        assert port["[Match]"] == [("Name", "e*")]


def test_a_port_of_which_nothing_is_said_takes_what_its_vlans_take() -> None:
    networks = (NETWORKS[0], NETWORKS[1].model_copy(update={"mtu": 9000}), *NETWORKS[2:])
    bare = [{"role": "host", "networks": ["host-management", "storage"]}]
    files = rendered("debian-12", networks=networks, network=bare)
    assert "MTUBytes=9000\n" in files["/etc/systemd/network/10-host.network"][1]
    assert "MTUBytes=9000\n" in files["/etc/systemd/network/10-vlan40.network"][1]
