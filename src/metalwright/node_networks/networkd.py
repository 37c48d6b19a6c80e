"""Files of systemd-networkd: Debian."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from metalwright.node_files import NodeFile
from metalwright.node_networks.attachments import Attachment

DIRECTORY = "/etc/systemd/network"


def files(attachments: Iterable[Attachment]) -> Iterator[NodeFile]:
    """A ``.network`` for each device, a ``.netdev`` for each that is made."""
    for item in attachments:
        if item.bond is not None:
            base = f"{DIRECTORY}/{item.number}-{item.bond}"
            yield NodeFile("bond.netdev.j2", f"{base}.netdev", {"device": item.bond, "mode": item.mode})
            ports = {"device": item.bond, "macs": list(item.macs), "mtu": item.mtu}
            yield NodeFile("bond-port.network.j2", f"{base}-port.network", ports)
        vlans = [{"device": vlan.device} for vlan in item.vlans]
        link = {"device": item.bond, "macs": list(item.macs), "mtu": item.mtu, "vlans": vlans}
        link |= item.addressing.values()
        yield NodeFile("link.network.j2", f"{DIRECTORY}/{item.number}-{item.name}.network", link)
        for vlan in item.vlans:
            base = f"{DIRECTORY}/{item.number}-{vlan.device}"
            yield NodeFile("vlan.netdev.j2", f"{base}.netdev", {"device": vlan.device, "vlan": vlan.vlan})
            values = {"device": vlan.device, "mtu": vlan.mtu, **vlan.addressing.values()}
            yield NodeFile("vlan.network.j2", f"{base}.network", values)
