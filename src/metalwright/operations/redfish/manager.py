"""The BMC itself: its address, its clock, its protocols, its log, its lockdown."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.connectors.proving import MAX_SKEW_S, skew_s_of
from metalwright.facts.redfish import Lockdown, ManagerClock, ManagerNetwork, NetworkProtocol, RemoteSyslog
from metalwright.operations.redfish.requests import (
    Commands,
    contained,
    expect,
    line,
    look,
    not_offered,
    patch,
    show_diff,
    unreadable,
)
from metalwright.redfish.dialogue import shows
from metalwright.redfish.extensions import syslog_body

CLOCK_S = 60.0
"""How long NTP may take to bring the clock right before it is set by hand."""


@operation()
@contained
def clock(servers: Sequence[str], is_required: bool = False) -> Commands:
    """Have the BMC take its time from these servers, and the right time: its log and certificates depend on it.

    A clock that stays wrong is set by hand, with NTP off for that moment: BMCs refuse to have it set while NTP is on.
    """
    seen = look(ManagerClock)
    if seen is None:
        yield unreadable("its clock")
        return
    skew_s = skew_s_of(seen["time"], datetime.now(UTC))
    is_right = skew_s is None or skew_s <= MAX_SKEW_S
    is_ntp = seen["uri"] is None or (seen["is_ntp"] is True and seen["servers"] == list(servers))
    if seen["uri"] is None and (is_right or is_required):
        yield from not_offered("NTP", is_required=is_required)
        return
    if is_ntp and is_right:
        host.noop("NTP and clock are as wanted")
        return
    lines = [] if is_ntp else [line("NTP", seen["servers"] if seen["is_ntp"] else "off", list(servers))]
    show_diff(lines + ([] if is_right else [line("BMC clock", seen["time"], "the right time")]))
    if not is_ntp:
        wanted = {"NTP": {"ProtocolEnabled": True, "NTPServers": list(servers)}}
        yield patch(seen["uri"], wanted)
        yield expect(seen["uri"], wanted, within_s=10)
    if not is_right:
        yield StringCommand("CLOCK", "set", "--within", f"{CLOCK_S:g}" if seen["uri"] else "0")


@operation()
@contained
def protocols(wanted: Mapping[str, bool], is_required: bool = False) -> Commands:
    """Have network protocols of the BMC (``IPMI``, ``SSDP``, ``Telnet`` …) on or off.

    A protocol that the BMC does not have is off; of a BMC that lists none, nobody knows which it has.
    """
    seen = look(NetworkProtocol)
    if seen is None:
        yield unreadable("its network protocols")
        return
    if wanted and seen["uri"] is None:
        yield from not_offered("settings of its network protocols", is_required=is_required)
        return
    absent = [name for name, value in wanted.items() if value and name not in seen["protocols"]]
    wrong = {
        name: value
        for name, value in wanted.items()
        if name in seen["protocols"] and seen["protocols"][name] is not value
    }
    if absent and (is_required or not wrong):
        yield from not_offered(" or ".join(absent), is_required=is_required)
        return
    if not wrong:
        host.noop("protocols are as wanted")
        return
    show_diff([line(name, seen["protocols"][name], value) for name, value in wrong.items()])
    for name, value in wrong.items():
        body = {name: {"ProtocolEnabled": value}}
        yield patch(seen["uri"], body, is_optional=not is_required)
        yield expect(seen["uri"], body, within_s=10, is_optional=not is_required)


@operation()
@contained
def syslog(servers: Sequence[str], is_required: bool = False) -> Commands:
    """Have the BMC send its log to these servers; an empty list leaves it as it is."""
    seen = look(RemoteSyslog) if servers else {}
    if not servers:
        host.noop("no syslog server is declared")
        return
    if seen is None:
        yield unreadable("its remote syslog")
        return
    if not seen:
        yield from not_offered("remote syslog", is_required=is_required)
        return
    wanted = syslog_body(seen["maker"], list(servers))
    if shows(seen["body"], wanted):
        host.noop("remote syslog is as wanted")
        return
    show_diff([line("remote syslog", "other servers or off", ", ".join(servers))])
    yield patch(seen["uri"], wanted, is_optional=not is_required)
    yield expect(seen["uri"], wanted, within_s=10, is_optional=not is_required)


@operation()
@contained
def lockdown(is_wanted: bool | None, is_required: bool = False) -> Commands:
    """Lock the BMC's settings, or unlock them; None leaves it as it is. The last operation of a deploy.

    While the site declares a lockdown, every later change unlocks first and locks again at its end, also when it fails.
    """
    seen = look(Lockdown) if is_wanted is not None else {}
    if is_wanted is None:
        host.noop("no lockdown is declared")
        return
    if seen is None:
        yield unreadable("its lockdown")
        return
    if not seen:
        yield from not_offered("lockdown", is_required=is_required and is_wanted)
        return
    if seen["is_locked"] is is_wanted:
        host.noop(f"the lockdown is {'on' if is_wanted else 'off'}")
        return
    show_diff([line("lockdown", seen["is_locked"], is_wanted)])
    body = seen["locked" if is_wanted else "unlocked"]
    yield patch(seen["uri"], body, is_optional=not is_required)
    yield expect(seen["uri"], body, within_s=10, is_optional=not is_required)


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
