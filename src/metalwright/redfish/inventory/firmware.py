"""The firmware inventory: enumerated, never guessed by id."""

from __future__ import annotations

from metalwright.model.report import FirmwareItem
from metalwright.redfish.inventory import quirks
from metalwright.redfish.inventory.resource import UNKNOWN, Resource
from metalwright.redfish.inventory.values import natural_key
from metalwright.redfish.inventory.walk import Walk


async def read_firmware(walk: Walk, root: Resource) -> tuple[FirmwareItem, ...] | None:
    """Every running version that the update service lists; ``None`` if it lists nothing readable."""
    service = await walk.resource(root.link("UpdateService"))
    listing = await walk.listing(service.link("FirmwareInventory") if service is not None else None)
    if not listing.is_known:
        walk.note((service or root).uri, f"lists no firmware inventory: {UNKNOWN}")
        return None
    items = [
        FirmwareItem(id=resource.id, name=resource.text("Name"), version=resource.text("Version"))
        for resource in listing.present
        if not quirks.is_not_running_firmware(resource.id)
    ]
    return tuple(sorted(_once(items), key=lambda item: natural_key(item.id)))


def _once(items: list[FirmwareItem]) -> list[FirmwareItem]:
    """iDRAC lists what runs as ``Current-X`` and again as ``Installed-X``."""
    installed = {item.id.removeprefix("Installed-") for item in items if item.id.startswith("Installed-")}
    return [
        item for item in items if item.id.removeprefix("Current-") not in installed or item.id.startswith("Installed-")
    ]
