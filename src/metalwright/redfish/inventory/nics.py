"""Physical network ports of the host, by adapter. The BMC's own interfaces and virtual ones do not count.

MAC addresses are spread over ports, device functions and the system's Ethernet interfaces; they are merged in
normal form, each once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from metalwright.model.report import Nic, NicPort
from metalwright.redfish.inventory import quirks
from metalwright.redfish.inventory.bmc import read_bmc_macs
from metalwright.redfish.inventory.estate import Host
from metalwright.redfish.inventory.resource import UNKNOWN, Resource
from metalwright.redfish.inventory.values import mac_of, natural_key
from metalwright.redfish.inventory.walk import Listing, Walk, together

_MAX_GBPS = 3200.0
"""Nothing is faster; more is a wrong unit (1073741824 Mbit/s for a 1 Gbit/s port on an SR670 V2)."""

_GENERIC_NAME = re.compile(r"^network ?(adapter|controller)( view)?$", re.IGNORECASE)
_LINKS = {"ethernet": "ethernet", "infiniband": "infiniband"}


@dataclass
class _Port:
    name: str | None
    mac: str | None = None
    speed_gbps: float | None = None
    link: str | None = None


@dataclass
class _Adapter:
    resource: Resource
    ports: dict[str, _Port] = field(default_factory=dict)


async def read_nics(walk: Walk, host: Host) -> tuple[Nic, ...] | None:
    """Adapters with their ports; ``()`` if every list is there and empty, ``None`` if nothing is known."""
    adapters, interfaces, bmc_macs = await _read_all(walk, host)
    seen: set[str] = set(bmc_macs)
    nics: list[Nic] = []
    for adapter in adapters or ():
        nics += _nic(adapter, seen)
    known_ids = {adapter.resource.id for adapter in adapters or ()}
    for interface in interfaces or ():
        nics += _lone(interface, seen, known_ids)
    if not nics and (host.is_off or (adapters is None and interfaces is None)):
        walk.note(host.system.uri, f"says nothing of its network ports: {UNKNOWN}")
        return None
    return tuple(sorted(nics, key=lambda nic: natural_key(nic.slot)))


async def _read_all(
    walk: Walk, host: Host
) -> tuple[list[_Adapter] | None, tuple[Resource, ...] | None, tuple[str, ...]]:
    """Adapters, Ethernet interfaces and BMC MACs, read at the same time."""
    results: list[Any] = await together([_adapters(walk, host), _interfaces(walk, host), _bmc_macs(walk, host)])
    return results[0], results[1], results[2]


async def _bmc_macs(walk: Walk, host: Host) -> tuple[str, ...]:
    found = await together(read_bmc_macs(walk, manager) for manager in host.managers)
    return tuple(mac for macs in found if macs is not None for mac in macs)


async def _interfaces(walk: Walk, host: Host) -> tuple[Resource, ...] | None:
    listing = await walk.listing(host.system.link("EthernetInterfaces"))
    return listing.resources if listing.is_known else None


async def _adapters(walk: Walk, host: Host) -> list[_Adapter] | None:
    listings = await together(walk.listing(chassis.link("NetworkAdapters")) for chassis in host.chassis)
    found = [resource for listing in listings for resource in listing.present]
    hidden = [_Adapter(Resource(uri, {}, walk.note)) for listing in listings for uri in listing.unreadable]
    if found or hidden:
        return [*await together(_adapter(walk, resource) for resource in _once(found)), *hidden]
    linked = await _of_interfaces(walk, host)
    if linked:
        return linked
    oem = await walk.listing(host.system.link(*quirks.HPE_ADAPTERS))
    is_known = any(listing.is_known for listing in listings) and not _has_shared_adapters(host)
    return [_hpe_adapter(resource) for resource in oem.present] or ([] if is_known else None)


async def _of_interfaces(walk: Walk, host: Host) -> list[_Adapter]:
    """Adapters that only the system's NetworkInterfaces lead to (blades: the enclosure holds all adapters).

    An interface without adapter stands for it where it has ports: both have the same collections.
    """
    interfaces = await walk.listing(host.system.link("NetworkInterfaces"))
    adapters = await together(walk.resource(item.link("Links", "NetworkAdapter")) for item in interfaces.present)
    known = [adapter for adapter in adapters if adapter is not None and not adapter.is_absent]
    alone = [item for item, adapter in zip(interfaces.present, adapters, strict=True) if adapter is None]
    read = await together(_adapter(walk, resource) for resource in [*_once(known), *alone])
    return [adapter for adapter in read if adapter.ports or adapter.resource in known]


def _has_shared_adapters(host: Host) -> bool:
    return any(chassis.link("NetworkAdapters") is not None for chassis in host.shared)


def _once(adapters: Sequence[Resource]) -> list[Resource]:
    """An adapter can be served below two chassis (BlueField: card and BMC): same id, serial number and model."""
    unique: dict[object, Resource] = {}
    for item in adapters:
        serial = item.identity("SerialNumber")
        unique.setdefault((item.id, serial, item.text("Model")) if serial is not None else item.uri, item)
    return list(unique.values())


async def _adapter(walk: Walk, resource: Resource) -> _Adapter:
    adapter = _Adapter(resource)
    ports = await _ports(walk, resource)
    for port in ports.present:
        if not quirks.is_settings_twin(port.uri) and not _is_fibre_channel(port):
            adapter.ports[port.uri.rstrip("/")] = _port(port)
    for uri in ports.unreadable:
        adapter.ports[uri.rstrip("/")] = _Port(uri.rstrip("/").rpartition("/")[2])
    if not adapter.ports or not ports.is_complete or any(port.mac is None for port in adapter.ports.values()):
        await _add_functions(walk, adapter)
    return adapter


async def _ports(walk: Walk, adapter: Resource) -> Listing:
    """The ports of the collection and those that the controllers name besides (R750: the list leaves one out)."""
    for name in ("Ports", "NetworkPorts"):
        listing = await walk.listing(adapter.link(name))
        listed = {port.uri for port in listing.resources} | {*listing.gone, *listing.unreadable}
        named = [target for part in adapter.objects("Controllers") for target in part.links("Links", name)]
        more = await walk.linked(target for target in named if target not in listed)
        if listing.present or more.present:
            complete = listing.is_complete and more.is_complete
            hidden = (*listing.unreadable, *more.unreadable)
            resources = (*listing.resources, *more.resources)
            return replace(listing, resources=resources, unreadable=hidden, is_complete=complete)
    return listing


async def _add_functions(walk: Walk, adapter: _Adapter) -> None:
    """Give ports the MACs of the device functions on them; a function without listed port becomes one."""
    functions = await walk.listing(adapter.resource.link("NetworkDeviceFunctions"))
    for function in functions.present:
        mac = function.mac("Ethernet", "PermanentMACAddress") or function.mac("Ethernet", "MACAddress")
        if mac is None or quirks.is_settings_twin(function.uri) or mac in {port.mac for port in adapter.ports.values()}:
            continue
        port = next((adapter.ports[uri] for uri in _ports_of(function) if uri in adapter.ports), None)
        if port is None or port.mac is not None:
            link = (function.text("NetDevFuncType") or "").casefold()
            adapter.ports[function.uri] = _Port(function.id, mac, link=_LINKS.get(link))
        else:
            port.mac = mac


def _ports_of(function: Resource) -> list[str]:
    targets = [
        *function.links("Links", "PhysicalNetworkPortAssignment"),
        *function.links("Links", "PhysicalPortAssignment"),
        *function.links("AssignablePhysicalNetworkPorts"),
        *function.links("AssignablePhysicalPorts"),
    ]
    return [target.rstrip("/") for target in targets]


def _technology(port: Resource) -> str | None:
    said = port.text("LinkNetworkTechnology") or port.text("ActiveLinkTechnology") or port.text("PortProtocol")
    return said.casefold() if said is not None else None


def _is_fibre_channel(port: Resource) -> bool:
    return _technology(port) in ("fibrechannel", "fc", "fcp")


def _port(port: Resource) -> _Port:
    addresses = port.raw("Ethernet", "AssociatedMACAddresses") or port.raw("AssociatedNetworkAddresses")
    macs = [mac_of(address) for address in (addresses if isinstance(addresses, list) else [addresses])]
    found = _Port(
        name=port.id,
        mac=next((mac for mac in macs if isinstance(mac, str)), None),
        speed_gbps=_speed_gbps(port),
        link=_LINKS.get(_technology(port) or ""),
    )
    port.note_unknown(speed_gbps=found.speed_gbps, link=found.link)
    return found


def _speed_gbps(port: Resource) -> float | None:
    """What the port can do, else what it does now."""
    supported = port.raw("SupportedLinkCapabilities")
    capable = supported[0] if isinstance(supported, list) and supported else None
    part = Resource(port.uri, capable if isinstance(capable, dict) else {}, port.note)
    candidates = (
        port.number("MaxSpeedGbps"),
        _gbps(part.number("LinkSpeedMbps")),
        port.number("CurrentSpeedGbps"),
        _gbps(port.number("CurrentLinkSpeedMbps")),
    )
    return next((speed for speed in candidates if speed and 0 < speed <= _MAX_GBPS), None)


def _gbps(mbps: float | None) -> float | None:
    """Mbit/s in Gbit/s; BMCs write 0 where there is no link."""
    return mbps / 1000 if mbps else None


def _hpe_adapter(resource: Resource) -> _Adapter:
    adapter = _Adapter(resource)
    for index, port in enumerate(resource.objects("PhysicalPorts")):
        adapter.ports[f"{resource.uri}#{index}"] = _Port(
            str(index + 1), port.mac("MacAddress"), _gbps(port.number("SpeedMbps")), "ethernet"
        )
    return adapter


def _nic(adapter: _Adapter, seen: set[str]) -> list[Nic]:
    """The adapter with the ports whose MAC nobody else has; none if it repeats an adapter seen before."""
    resource = adapter.resource
    fresh = [port for port in adapter.ports.values() if port.mac is None or port.mac not in seen]
    if adapter.ports and not fresh:
        return []
    seen.update(port.mac for port in fresh if port.mac is not None)
    controllers = resource.objects("Controllers")
    firmware = [controller.text("FirmwarePackageVersion") for controller in controllers]
    labels = [controller.slot for controller in controllers if controller.raw("Location") is not None]
    slot = resource.slot if resource.slot != resource.id or not labels else labels[0]
    if isinstance(resource.raw("Location"), str):
        slot = resource.text("Location") or slot
    return [
        Nic(
            slot=slot,
            manufacturer=resource.text("Manufacturer"),
            model=resource.text("Model") or _telling_name(resource),
            firmware_version=next((text for text in firmware if text), None)
            or resource.text("Firmware", "Current", "VersionString"),
            ports=tuple(_model(port) for port in sorted(fresh, key=lambda port: natural_key(port.name))),
        )
    ]


def _telling_name(resource: Resource) -> str | None:
    name = resource.text("Name")
    return None if name is None or name == resource.id or _GENERIC_NAME.match(name) else name


def _model(port: _Port) -> NicPort:
    return NicPort.model_validate(
        {"name": port.name, "mac": port.mac, "speed_gbps": port.speed_gbps, "link": port.link}
    )


def _lone(interface: Resource, seen: set[str], known_ids: set[str]) -> list[Nic]:
    """An Ethernet interface that no adapter accounts for."""
    if quirks.is_bmc_link(interface) or interface.text("EthernetInterfaceType") == "Virtual":
        return []
    mac = interface.mac("PermanentMACAddress") or interface.mac("MACAddress")
    if mac in seen or (mac is None and interface.id in known_ids):
        return []
    if mac is None:
        interface.note(interface.uri, f"has no usable MAC address ({interface.raw('MACAddress')!r})")
    else:
        seen.add(mac)
    speed = _gbps(interface.number("SpeedMbps"))
    port = NicPort(name=interface.id, mac=mac, speed_gbps=speed or None, link="ethernet")
    return [Nic(slot=interface.id, model=None, ports=(port,))]
