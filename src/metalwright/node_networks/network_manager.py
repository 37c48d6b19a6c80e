"""Key files of NetworkManager: Rocky Linux, which has no systemd-networkd in its own repositories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID, uuid5

from metalwright.node_files import NodeFile
from metalwright.node_networks.attachments import Attachment

DIRECTORY = "/etc/NetworkManager/system-connections"
NAMESPACE = UUID("8d1f0d0a-5b0c-4f7e-9a55-6d77a1c0de00")
"""Connections have the same UUID on every node and in every run: a VLAN names that of what it is on."""

NOTHING: dict[str, Any] = {
    "device": None, "bond": None, "mode": None, "vlan": None, "parent": None, "mac": None, "mtu": None,
    "takes_any_port": False, "addresses": [], "gateways": [], "routes": [], "dns": [], "domain": None,
}  # fmt: skip


def files(attachments: Iterable[Attachment]) -> Iterator[NodeFile]:
    """One connection each for a port, a bond, each port of it, and each VLAN; root alone may read them."""
    for item in attachments:
        name = f"{item.number}-{item.name}"
        link = {"device": item.bond, "mode": item.mode, "mtu": item.mtu, **item.addressing.values()}
        if item.bond is None:
            yield _connection(name, "ethernet", mac=next(iter(item.macs), None), **link)
        else:
            yield _connection(name, "bond", **link)
            for index, mac in enumerate(item.macs or (None,)):
                port = f"{item.number}-{item.bond}-port-{index}"
                any_port = {"mac": mac, "takes_any_port": mac is None, "mtu": item.mtu}
                yield _connection(port, "ethernet", bond=item.bond, **any_port)
        for vlan in item.vlans:
            tag = {"device": vlan.device, "vlan": vlan.vlan, "mtu": vlan.mtu, **vlan.addressing.values()}
            yield _connection(f"{item.number}-{vlan.device}", "vlan", parent=_uuid(name), **tag)


def _connection(name: str, kind: str, **values: Any) -> NodeFile:
    values = {**NOTHING, "name": name, "uuid": _uuid(name), "kind": kind, **values}
    return NodeFile("connection.nmconnection.j2", f"{DIRECTORY}/{name}.nmconnection", values, mode="600")


def _uuid(name: str) -> str:
    return str(uuid5(NAMESPACE, name))
