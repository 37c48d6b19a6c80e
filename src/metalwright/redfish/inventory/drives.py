"""Present drives, each once, wherever the BMC describes them: Storage, chassis, SimpleStorage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from metalwright.model.report import CANNOT_SEE, Drive
from metalwright.redfish.inventory import quirks
from metalwright.redfish.inventory.estate import Host
from metalwright.redfish.inventory.resource import UNKNOWN, Resource
from metalwright.redfish.inventory.values import natural_key
from metalwright.redfish.inventory.walk import Listing, Walk, together

_PROTOCOLS = {"nvme": "NVMe", "pcie": "NVMe", "sata": "SATA", "sas": "SAS", "virtio": "VIRTIO"}
"""A drive on PCIe speaks NVMe (iDRAC writes *PCIe*)."""

_NVME = re.compile(r"nvme", re.IGNORECASE)


@dataclass
class _Found:
    """What one place said. ``is_known`` is false where it said nothing usable about drives."""

    drives: list[Drive]
    is_known: bool


async def read_drives(walk: Walk, host: Host) -> tuple[Drive, ...] | None:
    """The drives of the host; ``()`` where storage is listed and holds none, ``None`` where nothing is known.

    Storage and chassis are read both: backplanes list drives that no controller names. SimpleStorage counts only
    where neither of them names a drive.
    """
    is_known = False
    if not _has_storage(host):
        silence = f"has no storage resource: drives {UNKNOWN}" if host.is_off else f"{CANNOT_SEE} drives"
        walk.note(host.system.uri, silence)
        return None if host.is_off else ()
    for place in (_from_storage_and_chassis, _from_simple_storage):
        found = await place(walk, host)
        if found.drives:
            return tuple(sorted(_once(found.drives), key=lambda drive: natural_key(drive.slot)))
        is_known = is_known or found.is_known
    if is_known and not host.is_off:
        return ()
    walk.note(host.system.uri, f"says nothing of its drives: {UNKNOWN}")
    return None


async def _from_storage_and_chassis(walk: Walk, host: Host) -> _Found:
    storage, chassis = await together([_from_storage(walk, host), _from_chassis(walk, host)])
    if not storage.drives:
        return _Found(chassis.drives, storage.is_known)
    serials = {drive.serial for drive in storage.drives}
    if None in serials:
        return storage
    more = [drive for drive in chassis.drives if drive.serial is not None and drive.serial not in serials]
    return _Found([*storage.drives, *more], storage.is_known)


def _has_storage(host: Host) -> bool:
    links = [host.system.link("Storage"), host.system.link("SimpleStorage")]
    for chassis in host.chassis:
        links += [chassis.link("Drives"), *chassis.links("Links", "Drives")]
    return any(link is not None for link in links)


async def _from_storage(walk: Walk, host: Host) -> _Found:
    units = await walk.listing(host.system.link("Storage"))
    targets: list[str] = []
    for unit in units.present:
        targets += unit.links("Drives") if isinstance(unit.raw("Drives"), list) else ()
    collections = [unit.link("Drives") for unit in units.present if not isinstance(unit.raw("Drives"), list)]
    listings = await together([walk.linked(targets), *(walk.listing(link) for link in collections if link is not None)])
    drives = [drive for listing in listings for drive in _drives(listing)]
    if units.present and all(_NVME.search(unit.id) or _speaks_nvme(unit) for unit in units.present):
        drives = [drive.model_copy(update={"protocol": drive.protocol or "NVMe"}) for drive in drives]
    return _Found(
        drives, is_known=units.is_known and all(listing.is_known and not listing.gone for listing in listings)
    )


def _speaks_nvme(unit: Resource) -> bool:
    controllers = unit.objects("StorageControllers")
    protocols = [item for controller in controllers for item in _list(controller, "SupportedDeviceProtocols")]
    return protocols == ["NVMe"]


def _list(resource: Resource, name: str) -> list[object]:
    value = resource.raw(name)
    return value if isinstance(value, list) else []


async def _from_chassis(walk: Walk, host: Host) -> _Found:
    targets = [target for chassis in host.chassis for target in chassis.links("Links", "Drives")]
    listings = await together([walk.linked(targets), *(walk.listing(item.link("Drives")) for item in host.chassis)])
    return _Found([drive for listing in listings for drive in _drives(listing)], is_known=False)


async def _from_simple_storage(walk: Walk, host: Host) -> _Found:
    units = await walk.listing(host.system.link("SimpleStorage"))
    devices = [(unit, device) for unit in units.present for device in unit.objects("Devices")]
    drives = [_device(unit, device) for unit, device in devices if _is_device(device)]
    return _Found(drives, is_known=units.is_known)


def _is_device(device: Resource) -> bool:
    names = (device.text("Name"), device.text("Model"), device.text("Manufacturer"))
    if device.is_absent or quirks.is_virtual_media(*names) or quirks.is_backplane(*names[:2]):
        return False
    return device.text("Model") is not None or device.positive("CapacityBytes") is not None or device.state == "enabled"


def _device(unit: Resource, device: Resource) -> Drive:
    name = device.text("Name")
    is_nvme = any(_NVME.search(text) for text in (name or "", unit.text("Name") or ""))
    drive = Drive(
        slot=name,
        manufacturer=device.text("Manufacturer"),
        model=device.text("Model"),
        protocol="NVMe" if is_nvme else None,
        size_bytes=device.positive("CapacityBytes"),
    )
    device.note_unknown(serial=None, protocol=drive.protocol, size_bytes=drive.size_bytes)
    return drive


def _drives(listing: Listing) -> list[Drive]:
    drives = [_drive(resource) for resource in listing.present if _is_drive(resource)]
    return [*drives, *(Drive(slot=uri.rstrip("/").rpartition("/")[2]) for uri in listing.unreadable)]


def _is_drive(resource: Resource) -> bool:
    names = (resource.text("Name"), resource.text("Model"), resource.text("Manufacturer"), resource.id)
    if quirks.is_virtual_media(*names):
        return False
    if resource.text("Model") or resource.identity("SerialNumber") or resource.positive("CapacityBytes"):
        return True
    resource.note(resource.uri, "names no model, serial number or capacity: not counted as a drive")
    return False


def _drive(resource: Resource) -> Drive:
    resource.note_health()
    protocol = resource.text("Protocol")
    drive = Drive(
        slot=resource.slot,
        manufacturer=resource.text("Manufacturer"),
        model=resource.text("Model"),
        serial=resource.identity("SerialNumber"),
        protocol=_PROTOCOLS.get(protocol.casefold(), protocol) if protocol is not None else None,
        media=resource.text("MediaType"),
        size_bytes=resource.positive("CapacityBytes"),
    )
    resource.note_unknown(serial=drive.serial, protocol=drive.protocol, size_bytes=drive.size_bytes)
    return drive


def _once(drives: Sequence[Drive]) -> list[Drive]:
    """One entry a serial number: the same drive is often listed below Systems and below Chassis."""
    unique: dict[object, Drive] = {}
    for index, drive in enumerate(drives):
        key = drive.serial if drive.serial is not None else (index, drive.slot)
        unique.setdefault(key, drive)
    return list(unique.values())
