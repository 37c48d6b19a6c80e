"""What a BMC without a host is: a power shelf, a switch, a DPU of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from metalwright.model.rack import EquipmentKind
from metalwright.model.report import ChassisFacts, HardwareReport, SystemFacts
from metalwright.redfish.inventory.bmc import read_bmc
from metalwright.redfish.inventory.estate import Estate, Host
from metalwright.redfish.inventory.kinds import SystemKind, names_of
from metalwright.redfish.inventory.resource import Resource
from metalwright.redfish.inventory.systems import chassis_facts, system_facts
from metalwright.redfish.inventory.walk import Walk

_POWER_SHELF = re.compile(r"power[\s_-]?shelf", re.IGNORECASE)
_SWITCH = re.compile(r"nvswitch|(?<![a-z])switch(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True)
class Hostless:
    """A BMC that manages no host. The report has ``bmc``, ``system`` (maker, model, serial, UUID) and ``chassis``."""

    kind: EquipmentKind
    report: HardwareReport


async def read_hostless(walk: Walk, estate: Estate, address: str | None) -> Hostless:
    """Who a BMC without a host is. ``system`` stands for the whole: its UUID is the service root's where no other is.

    Raises: what ends a session (:class:`Walk`).
    """
    listing = await walk.listing(estate.root.link("Chassis"))
    system = estate.others[0] if estate.others else None
    stand_in = system or estate.root
    host = Host(stand_in, listing.resources, estate.managers)
    bmc = await read_bmc(walk, estate, host, address, with_inventory=False)
    chassis = chassis_facts(host)
    facts = system_facts(host) if system is not None else _shelf_facts(estate, chassis)
    if facts.uuid is None:
        facts = facts.model_copy(update={"uuid": estate.root.uuid("UUID")})
    report = HardwareReport(bmc=bmc, system=facts, chassis=chassis, problems=walk.problems)
    return Hostless(_kind(estate, listing.resources), report)


def _shelf_facts(estate: Estate, chassis: ChassisFacts) -> SystemFacts:
    name = estate.managers[0].id if estate.managers else "none"
    return SystemFacts(id=name, manufacturer=chassis.manufacturer, model=chassis.model)


def _kind(estate: Estate, chassis: Sequence[Resource]) -> EquipmentKind:
    """By what it says of itself; a shelf whose chassis holds power supplies and no system is one for power."""
    words = [name for item in (estate.root, *estate.others, *chassis) for name in names_of(item)]
    kinds: set[SystemKind] = set(estate.kinds.values())
    if "dpu" in kinds:
        return "dpu"
    if estate.root.link("PowerEquipment") is not None or any(map(_POWER_SHELF.search, words)):
        return "power-shelf"
    if any(map(_SWITCH.search, words)):
        return "switch"
    is_shelf = any((item.text("ChassisType") or "").casefold() == "shelf" and _has_power(item) for item in chassis)
    return "power-shelf" if is_shelf and not estate.others else "other"


def _has_power(chassis: Resource) -> bool:
    return chassis.link("PowerSubsystem") is not None or chassis.link("Power") is not None
