"""Present power supplies. PowerSubsystem is preferred; many BMCs describe the same supplies twice."""

from __future__ import annotations

from metalwright.model.report import Psu
from metalwright.redfish.inventory import quirks
from metalwright.redfish.inventory.estate import Host
from metalwright.redfish.inventory.resource import UNKNOWN, Resource
from metalwright.redfish.inventory.values import natural_key
from metalwright.redfish.inventory.walk import Walk, together


async def read_psus(walk: Walk, host: Host) -> tuple[Psu, ...] | None:
    """The supplies of the enclosing chassis; ``()`` where they list none, ``None`` where none says anything."""
    found = await together(_of_chassis(walk, item) for item in host.enclosing_chassis)
    known = [supplies for supplies in found if supplies is not None]
    if not known:
        walk.note((host.box or host.system).uri, f"no chassis describes its power supplies: {UNKNOWN}")
        return None
    unique: dict[str, Psu] = {}
    for psu in (psu for supplies in known for psu in supplies):
        unique.setdefault(psu.serial or f"{psu.slot} {psu.model} {len(unique)}", psu)
    return tuple(sorted(unique.values(), key=lambda psu: natural_key(psu.slot)))


async def _of_chassis(walk: Walk, chassis: Resource) -> list[Psu] | None:
    subsystem = await walk.resource(chassis.link("PowerSubsystem"))
    listing = await walk.listing(subsystem.link("PowerSupplies") if subsystem is not None else None)
    supplies = await present_supplies(walk, chassis)
    hidden = [Psu(slot=uri.rstrip("/").rpartition("/")[2]) for uri in listing.unreadable]
    return None if supplies is None else [*map(_psu, supplies), *hidden]


async def present_supplies(walk: Walk, chassis: Resource) -> tuple[Resource, ...] | None:
    """The power supplies in a chassis that can be read; ``None`` where it says nothing about any."""
    subsystem = await walk.resource(chassis.link("PowerSubsystem"))
    listing = await walk.listing(subsystem.link("PowerSupplies") if subsystem is not None else None)
    if listing.resources or listing.unreadable:
        return _present(listing.resources)
    power = await walk.resource(chassis.link("Power"))
    supplies = power.objects("PowerSupplies") if power is not None else ()
    if power is None or not isinstance(power.raw("PowerSupplies"), list):
        return () if listing.is_known else None
    if supplies and not any(_says_something(supply) or supply.is_absent for supply in supplies):
        walk.note(power.uri, f"{len(supplies)} power supplies are listed without any property: {UNKNOWN}")
        return None
    return _present(supplies)


def _present(supplies: tuple[Resource, ...]) -> tuple[Resource, ...]:
    return tuple(
        supply
        for supply in supplies
        if not supply.is_absent and _says_something(supply) and not quirks.is_dummy_power_supply(supply.text("Model"))
    )


def _says_something(supply: Resource) -> bool:
    return bool(
        supply.text("Model")
        or supply.identity("SerialNumber")
        or supply.identity("PartNumber")
        or supply.positive("PowerCapacityWatts")
        or supply.state == "enabled"
    )


def _psu(supply: Resource) -> Psu:
    supply.note_health()
    ratings = [item.positive("CapacityWatts") or 0 for item in supply.objects("InputRanges")]
    psu = Psu(
        slot=supply_slot(supply),
        manufacturer=supply.text("Manufacturer"),
        model=supply.text("Model"),
        watts=supply.positive("PowerCapacityWatts") or max(ratings, default=0) or None,
        serial=supply.identity("SerialNumber"),
    )
    supply.note_unknown(watts=psu.watts)
    return psu


def supply_slot(supply: Resource) -> str | None:
    """Supplies embedded in Power have no id of their own: a Name with a number in it, else their place in the list."""
    if "#" not in supply.uri:
        return supply.slot
    name = supply.text("Name")
    return name if name is not None and any(map(str.isdecimal, name)) else supply.text("MemberId") or name
