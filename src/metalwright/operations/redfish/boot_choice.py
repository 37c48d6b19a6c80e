"""Which boot target means what on this BMC, and what is wrong with a boot order. Pure.

Among what a platform taught (:mod:`metalwright.redfish.adaptations`) ``cd+TARGET`` says that a boot from TARGET started
the medium there, ``cd-TARGET`` that it did not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metalwright.model.boot import BootCapabilities

_DISK = re.compile(r"\b(disk|hdd|nvme|ssd)\b", re.IGNORECASE)
_VIRTUAL_CD = re.compile(r"virtual.*(cd|dvd|optical)|(cd|dvd)[ -]?rom.*virtual|usb.*(cd|dvd)", re.IGNORECASE)
_PARTITION = re.compile(r"\bHD\(\d+,GPT,([0-9A-Fa-f-]{36})")


@dataclass(frozen=True)
class Choice:
    """A target of the boot override, and the further properties that it needs."""

    target: str
    details: Mapping[str, str] = field(default_factory=dict)


def choose_target(seen: Mapping[str, Any], wanted: str, options: Sequence[Mapping[str, Any]] = ()) -> Choice | None:
    """Return the target for ``virtual-cd``, ``disk`` or ``pxe`` on the BMC of the fact BootOverride, or None.

    ``options`` (of the fact BootOptions) are the way out where the BMC allows no target of that kind.
    """
    allowed: Sequence[str] | None = seen["allowed"]
    targets = cd_targets(seen["behaviour"]) if wanted == "virtual-cd" else [{"disk": "Hdd", "pxe": "Pxe"}[wanted]]
    target = next((item for item in targets if allowed is None or item in allowed), None)
    if target is not None:
        return Choice(target)
    fitting = [] if wanted == "pxe" else [item for item in options if _is(item, wanted)]
    option = next((item for item in fitting if item["is_enabled"] is not False), None)
    if option is None:
        return None
    if "UefiBootNext" in (allowed or []):
        return Choice("UefiBootNext", {"BootNext": str(option["reference"])})
    if "UefiTarget" in (allowed or []) and option["path"]:
        return Choice("UefiTarget", {"UefiTargetBootSourceOverride": str(option["path"])})
    return None


def cd_slot(slots: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the slot to use: one for CDs, else one for DVDs, else one that does not say; a filled one last."""
    for kind in ("CD", "DVD", None):
        fitting = [slot for slot in slots if (kind in slot["types"] if kind else not slot["types"])]
        if fitting:
            return min(fitting, key=lambda slot: bool(slot["is_inserted"]))
    return None


def capabilities(
    seen: Mapping[str, Any], slots: Sequence[Mapping[str, Any]], attributes: Mapping[str, Any]
) -> BootCapabilities:
    """Return what the BMC of the fact BootOverride offers, by its virtual media and the attributes of its BIOS too."""
    makers_own = any(name in attributes for name in seen["behaviour"]["http_boot_attributes"])
    return BootCapabilities(
        has_virtual_cd=cd_slot(slots) is not None,
        takes_http_uri=seen["is_http_uri_shown"] or makers_own,
        targets=None if seen["allowed"] is None else frozenset(seen["allowed"]),
    )


def cd_targets(behaviour: Mapping[str, Any]) -> list[str]:
    """Return the targets that can mean the virtual CD: what started a medium on its platform first."""
    learned: Sequence[str] = behaviour["learned"]
    known: Sequence[str] = behaviour["virtual_cd_targets"]
    return sorted(known, key=lambda target: (f"cd-{target}" in learned) - (f"cd+{target}" in learned))


def find_problems(seen: Mapping[str, Any], forbidden: Sequence[str]) -> list[str]:
    """Return what is wrong with the boot order of the fact BootOptions, in words."""
    if seen["order"] is None:
        return []
    problems = []
    for place, option in enumerate(seen["options"]):
        label = f"{option['reference']} ({option['name']})"
        if option["is_enabled"] is False and _is(option, "disk"):
            problems.append(f"{label} is disabled")
        is_before_disk = any(_is(later, "disk") for later in seen["options"][place + 1 :])
        if _is_forbidden(option, forbidden) and is_before_disk:
            problems.append(f"{label} comes before the disk")
    return problems + _twins(seen["options"])


def _twins(options: Sequence[Mapping[str, Any]]) -> list[str]:
    """Options of one name that point to different partitions: all but one of them to one that is gone."""
    partitions: dict[str, dict[str, str]] = {}
    for option in options:
        found = _PARTITION.search(str(option["path"] or ""))
        if found is not None and option["name"]:
            partitions.setdefault(str(option["name"]), {})[str(option["reference"])] = found[1].lower()
    return [
        f"{', '.join(references)} are all called {name} and point to different partitions; an earlier system left some"
        for name, references in partitions.items()
        if len(set(references.values())) > 1
    ]


def repaired_order(seen: Mapping[str, Any], forbidden: Sequence[str]) -> list[str]:
    """Return the order with every forbidden entry at its end; all else stays as it is."""
    last = [str(option["reference"]) for option in seen["options"] if _is_forbidden(option, forbidden)]
    return [item for item in seen["order"] if item not in last] + [item for item in seen["order"] if item in last]


def _is(option: Mapping[str, Any], wanted: str) -> bool:
    name, alias = str(option["name"] or ""), option["alias"]
    if wanted == "disk":
        return alias == "Hdd" or (alias is None and _DISK.search(name) is not None)
    return _VIRTUAL_CD.search(name) is not None or alias in ("Cd", "UsbCd")


def _is_forbidden(option: Mapping[str, Any], forbidden: Sequence[str]) -> bool:
    name = str(option["name"] or "").casefold()
    return any(item.casefold() in name for item in forbidden)
