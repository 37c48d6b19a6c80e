"""The BMC itself: its version and MAC addresses."""

from __future__ import annotations

from metalwright.model.report import BmcFacts
from metalwright.redfish.inventory import quirks
from metalwright.redfish.inventory.estate import Estate, Host
from metalwright.redfish.inventory.resource import Resource
from metalwright.redfish.inventory.walk import Walk


async def read_bmc(
    walk: Walk, estate: Estate, host: Host, address: str | None, with_inventory: bool = True
) -> BmcFacts:
    """The manager of a host. ``with_inventory`` lets the firmware inventory tell a version that the manager omits."""
    manager = host.managers[0] if host.managers else None
    version = manager.text("FirmwareVersion") if manager is not None else None
    if version is None and manager is not None and with_inventory:
        version = await _listed_version(walk, estate.root, manager)
    return BmcFacts(
        address=address,
        manufacturer=manager.text("Manufacturer") if manager is not None else None,
        model=manager.text("Model") if manager is not None else None,
        firmware_version=version,
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


async def _listed_version(walk: Walk, root: Resource, manager: Resource) -> str | None:
    """What the firmware inventory says of the manager: the item that it links to, that relates to it or is named so."""
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
