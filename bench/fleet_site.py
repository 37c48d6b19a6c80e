"""A site repository of any size: blueprint versions, racks of 40 nodes, every address allocated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metalwright.loading import release, write_addresses
from metalwright.model.addresses import AddressLock, Allocation
from metalwright.starter.site import create_site

NODES_A_RACK = 40
CLASSES = 20
_SITE = """\
schema: 1
name: fleet
domain: fleet.example
ntp: [10.0.0.1]
boot_server: {address_for_bmc: 10.0.0.2, address_for_node: 10.1.0.2}
admins: [{name: op, authorized_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGHcvJ2rfQg1Ynn3xZ0tLlVV0V1GfC7G8gRr op]}]
"""
_NETWORKS = """\
schema: 1
networks:
  - {name: oob, purpose: oob-management, vlan: 20, prefix: 10.0.0.0/16, gateway: 10.0.0.1}
  - {name: hosts, purpose: host-management, vlan: 30, prefix: 10.1.0.0/16, gateway: 10.1.0.1}
"""
_FEEDS = "feeds:\n" + "".join(f"  - {{name: {name}, volts: 415, phases: 3, breaker_a: 60}}\n" for name in "ab")
_SMALL = {
    "height_u: 8": "height_u: 1",
    "[host-management, workload, storage]": "[host-management]",
    "idle_w: 1800": "idle_w: 100",
    "typical_w: 6500": "typical_w: 600",
    "max_w: 10200": "max_w: 700",
}


def make_fleet(root: Path, nodes: int, versions: int = 200) -> None:
    """Write the site. Versions are spread over ``CLASSES`` classes; nodes stand on the newest one of each."""
    racks = {f"racks/r{number:04d}.yaml": _rack(number, nodes, versions) for number in range(-(-nodes // NODES_A_RACK))}
    create_site(root, inventory={"site.yaml": _SITE, "networks.yaml": _NETWORKS, **racks})
    refs = []
    for number in range(versions):
        name, version = _class(number), f"1.{number // CLASSES}.0"
        path = root / "blueprints" / name / f"{version}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(_blueprint(root, name, version), encoding="utf-8")
        refs.append(f"{name}@{version}")
    release(root, refs)
    write_addresses(root / "inventory" / "addresses.lock", AddressLock(allocations=tuple(_addresses(nodes))))


def node_name(number: int) -> str:
    """The name of a node, counted from 0."""
    return f"n{number // NODES_A_RACK:04d}-{number % NODES_A_RACK + 1:02d}"


def _class(number: int) -> str:
    return f"class-{number % CLASSES:02d}"


def _blueprint(root: Path, name: str, version: str) -> str:
    text = (root / "blueprints/gpu-h100-8x/1.0.0.yaml").read_text(encoding="utf-8")
    text = text.replace("name: gpu-h100-8x", f"name: {name}", 1).replace("version: 1.0.0", f"version: {version}", 1)
    text = text.replace("height_u: 8", "height_u: 1").replace(
        "[host-management, workload, storage]", "[host-management]"
    )
    return (
        text.replace("max_w: 10200", "max_w: 700")
        .replace("typical_w: 6500", "typical_w: 600")
        .replace("idle_w: 1800", "idle_w: 100")
    )


def _rack(number: int, nodes: int, versions: int) -> str:
    first = number * NODES_A_RACK
    entries = [_node(first + index, index, versions) for index in range(min(NODES_A_RACK, nodes - first))]
    feeds = (
        "feeds: [{name: a, volts: 415, phases: 3, breaker_a: 60}, {name: b, volts: 415, phases: 3, breaker_a: 60}]\n"
    )
    return f"schema: 1\nname: r{number:04d}\nsite: fleet\nheight_u: 42\n{feeds}nodes:\n" + "".join(entries)


def _node(number: int, index: int, versions: int) -> str:
    newest = (versions - 1) // CLASSES
    octets = f"{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"
    return (
        f"  - name: {node_name(number)}\n"
        f"    unit: {index + 1}\n"
        f"    serial: SN{number:08d}\n"
        f"    uuid: 6d657461-6c77-4269-8000-{number:012d}\n"
        f'    bmc_mac: "52:54:00:{octets}"\n'
        f"    blueprint: {_class(number)}@1.{newest}.0\n"
        f"    system_disk: {{serial: D{number:08d}}}\n"
        f'    ports: [{{mac: "52:55:00:{octets}", role: host}}, {{mac: "52:56:00:{octets}", role: host}}]\n'
    )


def _addresses(nodes: int) -> Iterator[Allocation]:
    for octet, network in ((0, "oob"), (1, "hosts")):
        for number in range(nodes):
            value = number + 256
            yield Allocation(address=f"10.{octet}.{value >> 8}.{value & 255}", network=network, node=node_name(number))
