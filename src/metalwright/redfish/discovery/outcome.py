"""What a sweep means for the inventory: claimed, unclaimed, in conflict, missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from metalwright.errors import MetalwrightError
from metalwright.matching import Claim, Conflict, claim
from metalwright.model.blueprint import Blueprint
from metalwright.model.rack import Equipment, Racked
from metalwright.model.report import HardwareReport
from metalwright.redfish.discovery.rack_entry import equipment_yaml, rack_yaml
from metalwright.redfish.discovery.sighting import Sighting
from metalwright.redfish.pins import PinStore


class BmcAddressBook(Protocol):
    """Keeps the current address of a claimed BMC; the journal is one."""

    def record(self, node: str, address: str, port: int, when: datetime) -> None:
        """Remember that the BMC of ``node`` answered there."""
        ...


@dataclass(frozen=True)
class Claimed:
    """A node or equipment, and where it was seen. ``is_first_pin``: its certificate was pinned just now."""

    claim: Claim
    sighting: Sighting
    is_first_pin: bool = False
    error: str | None = None

    @property
    def is_equipment(self) -> bool:
        """Whether its BMC manages no host."""
        return self.sighting.hostless is not None


@dataclass(frozen=True)
class Unclaimed:
    """A machine that no rack file declares, with the text for a rack file."""

    report: HardwareReport
    sighting: Sighting
    yaml: str


@dataclass(frozen=True)
class Discovery:
    """Everything that a sweep found."""

    claimed: tuple[Claimed, ...]
    unclaimed: tuple[Unclaimed, ...]
    conflicts: tuple[Conflict, ...]
    missing: tuple[Racked, ...]
    sightings: tuple[Sighting, ...]
    not_swept: tuple[Racked, ...] = ()
    """Nodes that were not found, at addresses that nobody looked at: nothing is said of them."""
    repeated: frozenset[str] = frozenset()
    """Identity values that several machines show: ``serial ABC123``."""

    @property
    def failures(self) -> tuple[Sighting, ...]:
        """The BMCs that did not let themselves be read, and the named hosts without one."""
        return tuple(sighting for sighting in self.sightings if sighting.is_failure)


NO_HOST = "its BMC manages no host system, and the rack file declares a node: equipment stands under `equipment:`"
A_HOST = "its BMC manages a host system, and the rack file declares equipment: servers stand under `nodes:`"


def conclude(racked: Sequence[Racked], blueprints: dict[str, Blueprint], sightings: Sequence[Sighting]) -> Discovery:
    """Claim what was sighted for nodes and equipment. Pure: nothing is recorded yet."""
    origin = {id(report): sighting for sighting in sightings for report in sighting.machines}
    outcome = claim(racked, [report for sighting in sightings for report in sighting.machines])
    claimed = [Claimed(item, origin[id(item.report)]) for item in outcome.claimed]
    wrong = [item for item in claimed if item.is_equipment is not isinstance(item.claim.node, Equipment)]
    return Discovery(
        claimed=tuple(item for item in claimed if item not in wrong),
        unclaimed=tuple(
            Unclaimed(report, origin[id(report)], _yaml(report, origin[id(report)], blueprints, outcome.repeated))
            for report in outcome.unclaimed
        ),
        conflicts=(
            *outcome.conflicts,
            *(
                Conflict(item.claim.report, (item.claim.node,), NO_HOST if item.is_equipment else A_HOST)
                for item in wrong
            ),
        ),
        missing=outcome.missing,
        sightings=tuple(sightings),
        repeated=outcome.repeated,
    )


def _yaml(
    report: HardwareReport, sighting: Sighting, blueprints: dict[str, Blueprint], repeated: frozenset[str]
) -> str:
    if sighting.hostless is not None:
        return equipment_yaml(sighting.hostless, lease_mac=sighting.target.mac, repeated=repeated)
    return rack_yaml(report, blueprints, lease_mac=sighting.target.mac, repeated=repeated)


def record(found: Claimed, pins: PinStore, book: BmcAddressBook, when: datetime) -> Claimed:
    """Pin the certificate of a claimed BMC at first use and remember its address.

    A certificate that differs from the pinned one is an error of this machine: its address is not recorded, and the
    login of the node was not sent to it.
    """
    name, sighting = found.claim.node.name, found.sighting
    is_first = False
    try:
        if sighting.fingerprint is not None:
            is_first = pins.get(name) is None
            pins.record(name, sighting.fingerprint)
    except MetalwrightError as error:
        return Claimed(found.claim, sighting, error=f"{error.what}: pinned {error.expected}, shown {error.found}")
    book.record(name, sighting.target.place.host, sighting.target.place.port, sighting.read_at or when)
    return Claimed(found.claim, sighting, is_first_pin=is_first)
