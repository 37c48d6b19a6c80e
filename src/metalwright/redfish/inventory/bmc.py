"""The BMC itself: its version and MAC addresses."""

from __future__ import annotations

from metalwright.model.report import BmcFacts
from metalwright.redfish.inventory import quirks
from metalwright.redfish.inventory.estate import Estate, Host
from metalwright.redfish.inventory.resource import Resource
from metalwright.redfish.inventory.walk import Walk


async def read_bmc(walk: Walk, estate: Estate, host: Host | None, address: str | None) -> BmcFacts:
    """The manager of a host (or, without host, the first manager)."""
    managers = host.managers if host is not None else estate.managers
    manager = managers[0] if managers else None
    return BmcFacts(
        address=address,
        manufacturer=manager.text("Manufacturer") if manager is not None else None,
        model=manager.text("Model") if manager is not None else None,
        firmware_version=await _firmware_version(walk, estate.root, manager),
        redfish_version=estate.root.text("RedfishVersion"),
        macs=await read_bmc_macs(walk, manager),
    )


async def read_bmc_macs(walk: Walk, manager: Resource | None) -> tuple[str, ...] | None:
    """MACs of the BMC's own network interfaces, without its USB link to the host and without VLANs."""
    listing = await walk.listing(manager.link("EthernetInterfaces") if manager is not None else None)
    if not listing.is_known:
        return None
    macs = [
        interface.mac("PermanentMACAddress") or interface.mac("MACAddress")
        for interface in listing.resources
        if not quirks.is_bmc_link(interface) and interface.text("EthernetInterfaceType") != "Virtual"
    ]
    return tuple(sorted({mac for mac in macs if mac is not None}))


async def _firmware_version(walk: Walk, root: Resource, manager: Resource | None) -> str | None:
    """The manager's own word, else the firmware inventory's: the item that the manager or its relation names."""
    version = manager.text("FirmwareVersion") if manager is not None else None
    if version is not None or manager is None:
        return version
    image = await walk.resource(manager.link("Links", "ActiveSoftwareImage"))
    if image is not None and image.text("Version") is not None:
        return image.text("Version")
    service = await walk.resource(root.link("UpdateService"))
    listing = await walk.listing(service.link("FirmwareInventory") if service is not None else None)
    for item in listing.resources:
        related = [target.rstrip("/") for target in item.links("RelatedItem")]
        if manager.uri.rstrip("/") in related or item.id.casefold() in ("bmc", manager.id.casefold()):
            return item.text("Version")
    walk.note(manager.uri, "has no FirmwareVersion, and the firmware inventory names none for it")
    return None
