"""The BMC itself: its address, its clock, its protocols."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.facts.redfish import ManagerClock, ManagerNetwork, NetworkProtocol
from metalwright.operations.redfish.requests import (
    Commands,
    contained,
    expect,
    line,
    look,
    patch,
    refuse,
    show_diff,
    unreadable,
)


@operation()
@contained
def ntp(servers: Sequence[str]) -> Commands:
    """Have the BMC take its time from these servers: its log and certificate checks depend on it."""
    seen = look(ManagerClock)
    if seen is None:
        yield unreadable("its clock")
        return
    if seen["uri"] is None:
        yield refuse("this BMC offers no NTP")
        return
    if seen["is_ntp"] is True and seen["servers"] == list(servers):
        host.noop("NTP is as wanted")
        return
    show_diff([line("NTP", seen["servers"] if seen["is_ntp"] else "off", list(servers))])
    wanted = {"NTP": {"ProtocolEnabled": True, "NTPServers": list(servers)}}
    yield patch(seen["uri"], wanted)
    yield expect(seen["uri"], wanted, within_s=10)


@operation()
@contained
def protocols(wanted: Mapping[str, bool]) -> Commands:
    """Have network protocols of the BMC (``IPMI``, ``SSDP``, ``Telnet`` …) on or off.

    A protocol that the BMC does not have is off.
    """
    seen = look(NetworkProtocol)
    if seen is None:
        yield unreadable("its network protocols")
        return
    absent = [name for name, value in wanted.items() if value and name not in seen["protocols"]]
    if absent:
        yield refuse(f"this BMC does not offer {', '.join(absent)}")
        return
    wrong = {
        name: value
        for name, value in wanted.items()
        if name in seen["protocols"] and seen["protocols"][name] is not value
    }
    if not wrong:
        host.noop("protocols are as wanted")
        return
    show_diff([line(name, seen["protocols"][name], value) for name, value in wrong.items()])
    body = {name: {"ProtocolEnabled": value} for name, value in wrong.items()}
    yield patch(seen["uri"], body)
    yield expect(seen["uri"], body, within_s=10)


@operation()
@contained
def address(address: str, prefix: str, gateway: str | None = None) -> Commands:
    """Move the BMC to a static address of ``prefix``.

    Make it the last act of its process: the BMC may stop answering at its old address before it answers this request.
    The read-back is another process's, at the new address, with certificate and identity checked anew.
    """
    seen = look(ManagerNetwork)
    interface = _own_interface(seen["interfaces"]) if seen else None
    if interface is None or interface["uri"] is None:
        yield unreadable("its network interfaces")
        return
    mask = str(ipaddress.ip_network(prefix).netmask)
    current = [item for item in interface["addresses"] if item["address"] == address]
    if current and interface["is_dhcp"] is False and current[0]["mask"] in (mask, None):
        host.noop(f"the BMC has the address {address}")
        return
    old = ", ".join(str(item["address"]) for item in interface["addresses"]) or None
    show_diff([line("BMC address", old, address), line("DHCP", interface["is_dhcp"], False)])
    static = {"Address": address, "SubnetMask": mask, "Gateway": gateway or "0.0.0.0"}  # noqa: S104 - means no gateway
    yield patch(interface["uri"], {"DHCPv4": {"DHCPEnabled": False}, "IPv4StaticAddresses": [static]}, is_unproven=True)


def _own_interface(interfaces: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the interface that carries an address, else the first enabled one."""
    usable = [item for item in interfaces if item["is_enabled"] is not False]
    with_address = [item for item in usable if any(entry["address"] for entry in item["addresses"])]
    return next(iter(with_address or usable), None)
