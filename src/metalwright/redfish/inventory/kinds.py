"""What a ComputerSystem resource is: BMCs list baseboards, DPUs, switches and shelves as systems too. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from metalwright.redfish.inventory.quirks import is_tray_of_switches
from metalwright.redfish.inventory.resource import Resource

SystemKind = Literal["host", "baseboard", "dpu", "switch", "template"]

_DPU = re.compile(r"bluefield|smartnic|(?<![a-z])[di]pu(?![a-z])|octeon|pensando", re.IGNORECASE)
_BASEBOARD = re.compile(r"baseboard|(?<![a-z])(hgx|ubb)(?![a-z])", re.IGNORECASE)
_EQUIPMENT = re.compile(r"nvswitch|(?<![a-z])switch(?![a-z])|power[\s_-]?shelf", re.IGNORECASE)


def kinds_of(systems: Sequence[Resource], root: Resource, chassis: Sequence[Resource]) -> dict[str, SystemKind]:
    """The kind of every system of one BMC, by URI. ``chassis`` are those around a system that counts no parts.

    Templates, DPUs and switches are known by what they say of themselves. Among the others, the host is the one that
    can be set up and started; GPU baseboards (HGX, UBB) are named so, or offer neither beside one that does. A blade
    that is off and says little still has a reset action and stays a host.
    """
    kinds = {system.uri: _by_itself(system, root, chassis) for system in systems}
    rest = [system for system in systems if kinds[system.uri] is None]
    able = [system for system in rest if _is_controllable(system) and not _BASEBOARD.search(system.id)]
    for system in rest:
        if able:
            kinds[system.uri] = "host" if system in able else "baseboard"
        else:
            kinds[system.uri] = "baseboard" if _BASEBOARD.search(system.id) else "host"
    return {uri: kind or "host" for uri, kind in kinds.items()}


def _by_itself(system: Resource, root: Resource, chassis: Sequence[Resource]) -> SystemKind | None:
    if any(name.endswith("@Redfish.RequiredOnCreate") for name in system.body):
        return "template"
    names = names_of(system)
    if str(system.raw("SystemType")).casefold() == "dpu" or any(map(_DPU.search, names)):
        return "dpu"
    if any(map(_EQUIPMENT.search, names)):
        return "switch"
    if _BASEBOARD.search(system.id):
        return None
    if is_bare_and_off(system) and is_tray_of_switches([item.id for item in chassis]):
        return "switch"
    if not counts_nothing(system):
        return None
    is_in_equipment = any(_EQUIPMENT.search(name) for item in (root, *chassis) for name in names_of(item))
    is_equipment = not _has_set_up(system) or root.link("PowerEquipment") is not None or is_in_equipment
    return "switch" if is_equipment else None


def names_of(resource: Resource) -> tuple[str, ...]:
    """What a resource calls itself: id, model, name, product."""
    texts = (resource.text(name) for name in ("Model", "Name", "Product"))
    return (resource.id, *(text for text in texts if text is not None))


def _has_set_up(system: Resource) -> bool:
    return system.link("Bios") is not None or system.text("BiosVersion") is not None


def _is_controllable(system: Resource) -> bool:
    """Firmware set-up, or at least a boot choice or a reset: OpenBMC gives HGX baseboards none of them."""
    is_startable = isinstance(system.raw("Boot"), Mapping) or system.raw("Actions", "#ComputerSystem.Reset") is not None
    return _has_set_up(system) or is_startable


def is_bare_and_off(system: Resource) -> bool:
    """Whether a system that is off tells of no part, no firmware and no way to set firmware up.

    Every host of the captures has a ``Bios`` link, also the anonymous ``System_0`` of a GB200 compute tray.
    """
    is_off = str(system.raw("PowerState")).casefold() == "off"
    is_empty = not system.count("ProcessorSummary", "Count") and not system.number(
        "MemorySummary", "TotalSystemMemoryGiB"
    )
    return is_off and is_empty and not _has_set_up(system) and system.link("SecureBoot") is None


def counts_nothing(system: Resource) -> bool:
    """An NVLink switch tray and a power shelf count their processors and memory as none, though they are on."""
    if str(system.raw("PowerState")).casefold() == "off":
        return False
    no_memory = not system.number("MemorySummary", "TotalSystemMemoryGiB")
    return system.count("ProcessorSummary", "Count") == 0 and no_memory and system.raw("MemorySummary") is not None
