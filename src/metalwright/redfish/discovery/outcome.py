"""What a sweep means for the inventory: claimed, unclaimed, in conflict, missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from metalwright.errors import MetalwrightError
from metalwright.matching import Claim, Conflict, claim
from metalwright.matching.names import is_any_model, is_same_maker
from metalwright.model.base import is_filler
from metalwright.model.blueprint import Blueprint
from metalwright.model.rack import Node
from metalwright.model.report import HardwareReport
from metalwright.redfish.discovery.sighting import Sighting
from metalwright.redfish.pins import PinStore


class BmcAddressBook(Protocol):
    """Keeps the current address of a claimed BMC; the journal is one."""

    def record(self, node: str, address: str, port: int, when: datetime) -> None:
        """Remember that the BMC of ``node`` answered there."""
        ...


@dataclass(frozen=True)
class Claimed:
    """A machine that is a node, and where it was seen. ``is_first_pin``: its certificate was pinned just now."""

    claim: Claim
    sighting: Sighting
    is_first_pin: bool = False
    error: str | None = None


@dataclass(frozen=True)
class Unclaimed:
    """A machine that no node declares, with the text for a rack file."""

    report: HardwareReport
    sighting: Sighting
    yaml: str


@dataclass(frozen=True)
class Discovery:
    """Everything that a sweep found."""

    claimed: tuple[Claimed, ...]
    unclaimed: tuple[Unclaimed, ...]
    conflicts: tuple[Conflict, ...]
    missing: tuple[Node, ...]
    sightings: tuple[Sighting, ...]

    @property
    def failures(self) -> tuple[Sighting, ...]:
        """The BMCs that did not let themselves be read, and the named hosts without one."""
        return tuple(sighting for sighting in self.sightings if sighting.is_failure)


def conclude(nodes: Sequence[Node], blueprints: dict[str, Blueprint], sightings: Sequence[Sighting]) -> Discovery:
    """Claim what was sighted. Pure: nothing is recorded yet."""
    origin = {id(report): sighting for sighting in sightings for report in sighting.reports}
    outcome = claim(nodes, [report for sighting in sightings for report in sighting.reports])
    return Discovery(
        claimed=tuple(Claimed(item, origin[id(item.report)]) for item in outcome.claimed),
        unclaimed=tuple(
            Unclaimed(report, origin[id(report)], rack_yaml(report, blueprints)) for report in outcome.unclaimed
        ),
        conflicts=outcome.conflicts,
        missing=outcome.missing,
        sightings=tuple(sightings),
    )


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
    book.record(name, sighting.target.place.host, sighting.target.place.port, when)
    return Claimed(found.claim, sighting, is_first_pin=is_first)


def rack_yaml(report: HardwareReport, blueprints: dict[str, Blueprint]) -> str:
    """The lines for ``nodes:`` of a rack file: paste them, then choose name and unit."""
    keys = {
        "serial": report.system.serial if not is_filler(report.system.serial) else None,
        "uuid": report.system.uuid,
        "bmc_mac": (report.bmc.macs or (None,))[0],
    }
    given = {key: value for key, value in keys.items() if value is not None}
    fitting = fitting_blueprints(report, blueprints)
    lines = ["- name: NAME  # choose", "  unit: 1  # lowest unit in the rack"]
    lines += [f'  {key}: "{value}"' for key, value in given.items()]
    if len(given) < 2:
        lines.append("  # two identity keys are needed; the BMC gives fewer: read the stickers")
    described = " ".join(filter(None, (report.system.manufacturer, report.system.model))) or "this machine"
    choice = f"{fitting[-1]}" if fitting else f"NAME@VERSION  # no blueprint names {described}"
    lines.append(f"  blueprint: {choice}")
    return "\n".join(lines)


def fitting_blueprints(report: HardwareReport, blueprints: dict[str, Blueprint]) -> list[str]:
    """The refs of the blueprints that name this maker and model, oldest version first."""
    maker, model = report.system.manufacturer, report.system.model
    return sorted(
        (
            ref
            for ref, blueprint in blueprints.items()
            if maker is not None
            and model is not None
            and is_same_maker(blueprint.hardware.system.manufacturer, maker)
            and is_any_model(blueprint.hardware.system.models, model)
        ),
        key=_by_version,
    )


def _by_version(ref: str) -> tuple[str, tuple[int, ...]]:
    name, _, version = ref.partition("@")
    return name, tuple(int(part) for part in version.split("."))
