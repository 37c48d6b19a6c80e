"""What is expected of a node follows from the desired state."""

from __future__ import annotations

import json

from tests.desired import KEY, blueprint, networks, node, site, stamp

from metalwright.acceptance.expectations import expectations, required_tests
from metalwright.acceptance.firewall import Firewall
from metalwright.acceptance.links import Link, links
from metalwright.acceptance.readings import routers_of
from metalwright.model.image import Image
from metalwright.model.network import Network
from metalwright.model.package import served_ports
from metalwright.zones import NO_ZONES

ALLOCATIONS = {"mgmt": "10.1.0.11", "work": "10.2.1.11", "oob": "10.9.0.11"}
LINKS = links(blueprint(), node(), networks(), ALLOCATIONS)


def test_links_name_the_port_the_prefix_length_and_the_vlan() -> None:
    macs = ("52:54:00:00:00:01",)
    assert (
        Link(network="mgmt", role="host", address="10.1.0.11/24", macs=macs),
        Link(network="work", role="host", address="10.2.1.11/22", macs=macs, vlan=20, mtu=9000),
    ) == LINKS


def test_a_network_without_an_allocation_is_no_link() -> None:
    assert links(blueprint(), node(), networks(), {}) == ()


def test_every_requirement_has_a_name_of_its_own() -> None:
    expected = expectations(blueprint(), node(), site=site(), links=LINKS, stamp=stamp())
    names = required_tests(expected)
    assert len(set(names)) == len(names)
    assert {
        "hostname:name",
        "stamp:stamp",
        "address:mgmt",
        "address:work",
        "time:ntp",
        "package:containerd",
        "package:prometheus-node-exporter",
        "service:ssh",
        "service:chrony",
        "service:nftables",
        "service:containerd",
        "service:prometheus-node-exporter",
        "user:amina",
        "sshd:passwordauthentication",
        "ports:tcp",
        "firewall:input",
        "cpus:host",
        "memory:host",
        "drives:system",
        "nics:host",
        "cpu-hash",
        "disk-read",
        "boot-id",
    } <= set(names)
    assert "power" not in names, "the controller measures it"


def test_the_expectations_are_plain_json_and_always_the_same() -> None:
    first, second = (expectations(blueprint(), node(), site=site(), links=LINKS, stamp=stamp()) for _ in range(2))
    assert json.loads(json.dumps(first)) == first == second
    assert first["checks"]["user"] == [
        {"id": "amina", "name": "amina", "authorized_keys": [KEY], "sudo": "all", "principals": []}
    ]
    assert first["checks"]["logins"] == [{"id": "files", "keys": ["amina", "metalwright"], "principals": []}]


def test_kinds_without_entries_are_left_out() -> None:
    checks = expectations(blueprint(software={}), node(), site=site(), links=(), stamp=stamp())["checks"]
    assert not {"package", "gpus", "system_disk", "kernel", "address"} & set(checks)


def test_the_kernel_is_the_one_of_the_image() -> None:
    image = Image(
        name="debian-12",
        version="1",
        file="image.raw.zst",
        format="raw.zst",
        file_sha256="0" * 64,
        file_size_bytes=1,
        content_sha256="0" * 64,
        content_size_bytes=1,
        packages={"linux-image-amd64": "6.1.1-1", "linux-image-6.1.0-1-amd64": "6.1.1-1", "bash": "5"},
    )
    expected = expectations(blueprint(), node(), site=site(), links=(), stamp=stamp(), image=image)
    assert expected["checks"]["kernel"] == [{"id": "release", "releases": ["6.1.0-1-amd64"]}]


def test_only_ssh_and_the_agents_may_be_reached() -> None:
    assert served_ports(blueprint().software) == (22, 9100)
    assert served_ports(blueprint(software={}).software) == (22,)


def test_a_blueprint_without_a_firewall_expects_none() -> None:
    wanted, rules = blueprint(security={"firewall": "none"}), Firewall("a" * 64, NO_ZONES)
    expected = expectations(wanted, node(), site=site(), links=LINKS, stamp=stamp(), firewall=rules)
    assert not {"firewall", "firewall_rules", "networks_apart"} & set(expected["checks"])


def test_a_declared_audit_expects_its_rules_and_its_daemon() -> None:
    checks = expectations(
        blueprint(security={"audit": {"subjects": ["sudo"]}}), node(), site=site(), links=LINKS, stamp=stamp()
    )["checks"]
    (loaded,) = checks["audit_rules"]
    assert loaded["rules"][0] == "-w /etc/sudoers -p wa -k metalwright-sudo"
    assert {"id": "auditd", "unit": "auditd.service"} in checks["service"]
    plain = expectations(blueprint(), node(), site=site(), links=LINKS, stamp=stamp())["checks"]
    assert "audit_rules" not in plain


def test_declared_ports_may_listen_and_the_rules_must_be_those_that_were_rendered() -> None:
    wanted = blueprint(security={"open_ports": [{"network": "workload", "tcp": [8000, "30000-30010"], "udp": [1]}]})
    rules = Firewall("a" * 64, NO_ZONES)
    checks = expectations(wanted, node(), site=site(), links=LINKS, stamp=stamp(), firewall=rules)["checks"]
    assert checks["ports"] == [{"id": "tcp", "allowed": [22, 8000, 9100], "ranges": [[30000, 30010]]}]
    assert checks["firewall_rules"] == [{"id": "loaded", "path": "/etc/nftables.conf", "sha256": "a" * 64}]


def test_a_named_system_disk_is_checked() -> None:
    expected = expectations(blueprint(), node(system_disk={"serial": "NV1"}), site=site(), links=(), stamp=stamp())
    assert expected["checks"]["system_disk"] == [{"id": "root", "serial": "NV1", "wwn": None}]


def test_rails_ipv6_and_routes_are_expected_where_they_are_declared() -> None:
    rails = [
        Network(name=f"rail{number}", purpose=f"fabric-rail-{number}", prefix=f"10.8{number}.0.0/24", vlan=80 + number)
        for number in (0, 1)
    ]
    rails[0] = Network.model_validate(
        {**rails[0].to_json(), "prefix_v6": "fd00:80::/64", "routes": [{"to": "10.80.0.0/12", "via": "10.80.0.254"}]}
    )
    attached = [{"role": "host", "networks": ["fabric-rail-0", "fabric-rail-1"], "rails": True}]
    macs = ["52:54:00:00:01:01", "52:54:00:00:01:02"]
    ports = [{"mac": mac, "role": "host"} for mac in macs]
    own = {"rail0": "10.80.0.11", "rail1": "10.81.0.11"}
    found = links(blueprint(network=attached), node(ports=ports), rails, own, {"rail0": "fd00:80::11"})
    assert [(link.macs, link.vlan, link.address_v6) for link in found] == [
        ((macs[0],), None, "fd00:80::11/64"),
        ((macs[1],), None, None),
    ]
    expected = expectations(blueprint(), node(), site=site(), links=found, stamp=stamp())
    assert expected["checks"]["route"] == [{"id": "10.80.0.0/12", "to": "10.80.0.0/12", "via": "10.80.0.254"}]
    shown = '[{"dst":"10.80.0.0/12","gateway":"10.80.0.254","dev":"eth1","protocol":"static","flags":[]}]'
    assert routers_of(shown) == ("10.80.0.254",)
    assert routers_of("[{}]") == ("",)
