"""One file of netplan: Ubuntu, where systemd-networkd is started by netplan's own generator and not without it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from metalwright.node_files import NodeFile
from metalwright.node_networks.attachments import Attachment

DIRECTORY = "/etc/netplan"
PATH = f"{DIRECTORY}/90-metalwright.yaml"


def files(attachments: Iterable[Attachment]) -> Iterator[NodeFile]:
    """The one file, for root alone, as netplan wants it."""
    ports: list[dict[str, Any]] = []
    bonds: list[dict[str, Any]] = []
    vlans: list[dict[str, Any]] = []
    for item in attachments:
        link = {"mtu": item.mtu, "ip": item.addressing.values()}
        if item.bond is None:
            ports.append({"name": item.name, "mac": next(iter(item.macs), None), **link})
        else:
            names = [f"{item.name}-{index}" for index in range(len(item.macs) or 1)]
            macs = item.macs or (None,)
            ports += [
                {"name": name, "mac": mac, "mtu": item.mtu, "ip": None} for name, mac in zip(names, macs, strict=True)
            ]
            bonds.append({"name": item.bond, "mode": item.mode, "ports": names, **link})
        for vlan in item.vlans:
            tag = {"name": vlan.device, "vlan": vlan.vlan, "link": item.bond or item.name}
            vlans.append({**tag, "mtu": vlan.mtu, "ip": vlan.addressing.values()})
    values = {"ports": ports, "bonds": bonds, "vlans": vlans}
    yield NodeFile("netplan.yaml.j2", PATH, values, mode="600")
