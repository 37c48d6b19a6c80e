"""Networks that the operating system of the image could not configure are refused before anything is written."""

from __future__ import annotations

import pytest
from tests.unit.loading.conftest import BrokenSite

from metalwright.loading import read_site

RACK = "inventory/racks/r1.yaml"
BOX = "blueprints/box/1.0.0.yaml"
NETWORKS = "inventory/networks.yaml"
ONE = "{role: host, networks: [host-management]}"
TWO = "{role: host, networks: [host-management, storage]}"
RAILS = "{role: host, networks: [host-management, storage], rails: true}"
HOSTS = "vlan: 30, prefix: 10.1.0.0/24}"
MORE = "vlan: 30, prefix: 10.1.0.0/24}\n  - {name: disks, purpose: storage, prefix: 10.4.0.0/24"
PORTS = "ports: [{mac: 52:54:00:00:01:01, role: host}, {mac: 52:54:00:00:01:02, role: host}], blueprint"


@pytest.mark.parametrize(
    ("edits", "what"),
    [
        ([(BOX, ONE, TWO), (NETWORKS, HOSTS, f"{MORE}}}")], "the network disks is a VLAN here and has no number"),
        ([(BOX, ONE, TWO), (NETWORKS, HOSTS, f"{MORE}, vlan: 40, mtu: 9000}}"),
          (NETWORKS, "vlan: 30,", "vlan: 30, mtu: 1500,")],
         "takes larger packets than the port"),
        ([(BOX, ONE, RAILS), (NETWORKS, HOSTS, f"{MORE}}}")], "rails of host: every port needs a network of its own"),
        ([(BOX, ONE, RAILS), (NETWORKS, HOSTS, f"{MORE}}}"), (BOX, "count: 1}]\n  dr", "count: 2}]\n  dr")],
         "which port of role host is on which rail cannot be told"),
        ([(BOX, ONE, RAILS), (BOX, "host, count: 1", "host, link: infiniband, count: 1")], "the ports are InfiniBand"),
        ([(BOX, "host, count: 1", "host, count: 2"), (RACK, "blueprint", PORTS),
          (BOX, "version: 1.0,", "version: 1.0, os: ubuntu-24.04,")], "one address cannot be on 2 ports of role host"),
        ([(BOX, ONE, ONE.replace("]}", "], bond: 802.3ad, rails: true}"))], "exclude each other"),
        ([(NETWORKS, HOSTS, HOSTS.replace("}", ", routes: [{to: 10.9.0.0/16, via: 10.2.0.1}]}"))], "is outside"),
    ],
)  # fmt: skip
def test_what_no_renderer_could_write_is_refused(
    site: BrokenSite, edits: list[tuple[str, str, str]], what: str
) -> None:
    for file, old, new in edits:
        site.edit(file, old, new)
    assert any(what in f"{error.what} {error.found}" for error in site.errors()), site.errors()


def test_several_ports_with_one_network_are_fine_on_debian_alone(site: BrokenSite) -> None:
    site.edit(BOX, "host, count: 1", "host, count: 2")
    site.edit(RACK, "blueprint", PORTS)
    assert site.errors() == ()


def test_rocky_is_told_what_cannot_be_applied_to_it(site: BrokenSite) -> None:
    site.edit(BOX, "version: 1.0,", "version: 1.0, os: rocky-9,")
    reading = read_site(site.root)
    assert reading.errors == ()
    (told,) = [warning for warning in reading.warnings if "rocky-9" in warning.what]
    assert told.where.startswith(f"{site.root}/{BOX}:15:")
