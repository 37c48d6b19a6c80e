"""A small desired state for tests: one blueprint, one node, one site."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from metalwright.model.blueprint import Blueprint
from metalwright.model.image import Stamp
from metalwright.model.network import Network
from metalwright.model.rack import Node
from metalwright.model.site import Site

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGHcvJ2rfQg1Ynn3xZ0tLlVV0V1GfC7G8gRrJ7u0Vb1X amina"


def blueprint(**changes: Any) -> Blueprint:
    data: dict[str, Any] = {
        "schema": 1,
        "name": "lab-vm",
        "version": "1.0.0",
        "class": {"role": "lab", "owner": "infra"},
        "hardware": {
            "system": {"manufacturer": "QEMU", "models": ["Standard PC"]},
            "cpus": {"count": 1},
            "memory": {"total_gib": 1},
            "nics": [{"role": "host", "count": 1}],
            "drives": [{"role": "system", "count": 1, "min_bytes": 2_000_000_000, "protocol": "NVMe"}],
        },
        "network": [{"role": "host", "networks": ["host-management", "workload"]}],
        "image": {"name": "debian-12", "version": "1", "file_sha256": "0" * 64},
        "software": {
            "container_runtime": {"name": "containerd", "version": "1.6.20"},
            "agents": {"node_exporter": "1.5.0"},
        },
        "acceptance": [
            {"test": "cpu-hash", "floor": 20, "unit": "MB/s"},
            {"test": "disk-read", "floor": 20, "unit": "MB/s"},
            {"test": "boot-id", "record": True},
            {"test": "power", "record": True},
        ],
    }
    return Blueprint.model_validate(data | changes)


def node(**changes: Any) -> Node:
    data: dict[str, Any] = {
        "name": "lab-1",
        "serial": "MW-1",
        "uuid": "8f5a2a3e-0000-4000-8000-000000000001",
        "blueprint": "lab-vm@1.0.0",
        "ports": [{"mac": "52:54:00:00:00:01", "role": "host"}],
    }
    return Node.model_validate(data | changes)


def site(**changes: Any) -> Site:
    data: dict[str, Any] = {
        "schema": 1,
        "name": "lab",
        "domain": "lab.example",
        "ntp": ["10.1.0.2"],
        "boot_server": {"address_for_bmc": "127.0.0.1", "address_for_node": "10.1.0.2"},
        "admins": [{"name": "amina", "authorized_keys": [KEY]}],
    }
    return Site.model_validate(data | changes)


def networks() -> tuple[Network, ...]:
    return (
        Network(name="mgmt", purpose="host-management", prefix="10.1.0.0/24", gateway="10.1.0.2"),
        Network(name="work", purpose="workload", prefix="10.2.0.0/22", vlan=20, mtu=9000),
        Network(name="oob", purpose="oob-management", prefix="10.9.0.0/24"),
    )


def stamp() -> Stamp:
    written = datetime(2026, 11, 30, 12, tzinfo=UTC)
    return Stamp(node="lab-1", run="r1", recipe="sha256:1", image="sha256:2", journal="j1", written=written)
