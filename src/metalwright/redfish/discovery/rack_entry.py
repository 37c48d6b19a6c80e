"""The text for a rack file that makes an unclaimed machine a node: its identity and the class that fits best."""

from __future__ import annotations

from collections.abc import Collection
from difflib import SequenceMatcher

from metalwright.matching.names import is_any_model, is_same_maker
from metalwright.model.base import is_filler
from metalwright.model.blueprint import Blueprint
from metalwright.model.report import HardwareReport
from metalwright.redfish.inventory import Hostless

_ALIKE = 0.5
"""Models less alike than this are not worth naming."""


def rack_yaml(
    report: HardwareReport,
    blueprints: dict[str, Blueprint],
    *,
    lease_mac: str | None = None,
    repeated: Collection[str] = (),
) -> str:
    """The lines for ``nodes:`` of a rack file: paste them, then choose name and unit.

    ``lease_mac`` is what DHCP knows of the BMC, for one that does not tell its own. Fillers and ``repeated`` values
    (``serial ABC123``) are left out: they would claim other machines, too.
    """
    lines = ["- name: NAME  # choose", "  unit: 1  # lowest unit in the rack"]
    lines += _identity_lines(report, report.system.serial, lease_mac, repeated)
    return "\n".join([*lines, *_blueprint_lines(report, blueprints)])


def equipment_yaml(found: Hostless, *, lease_mac: str | None = None, repeated: Collection[str] = ()) -> str:
    """The lines for ``equipment:`` of a rack file, for a BMC without a host; otherwise as :func:`rack_yaml`."""
    report = found.report
    lines = ["# under equipment:", "- name: NAME  # choose", f"  kind: {found.kind}"]
    serial = report.system.serial or report.chassis.serial
    return "\n".join([*lines, *_identity_lines(report, serial, lease_mac, repeated)])


def _identity_lines(
    report: HardwareReport, serial: str | None, lease_mac: str | None, repeated: Collection[str]
) -> list[str]:
    told = (report.bmc.macs or (None,))[0]
    given = {"serial": serial, "uuid": report.system.uuid, "bmc_mac": told or lease_mac}
    lines: list[str] = []
    shared = [key for key, value in given.items() if value is not None and f"{key} {value.casefold()}" in repeated]
    usable = {key: value for key, value in given.items() if not is_filler(value) and key not in shared}
    for key, value in usable.items():
        origin = "  # from the DHCP lease" if key == "bmc_mac" and told is None else ""
        lines.append(f'  {key}: "{value}"{origin}')
    lines += [f"  # {key} {given[key]} is left out: several machines show it" for key in shared]
    if len(usable) < 2:
        lines.append(f"  # {_why_so_few(report)}")
    return lines


def _why_so_few(report: HardwareReport) -> str:
    if report.system.power_state == "Off" and report.system.serial is None:
        return "two identity keys are needed; this host is off: switch it on once, then discover it again with --fresh"
    return "two identity keys are needed; the BMC gives fewer: read the stickers"


def _blueprint_lines(report: HardwareReport, blueprints: dict[str, Blueprint]) -> list[str]:
    fitting = fitting_blueprints(report, blueprints)
    if fitting:
        newest = list({ref.partition("@")[0]: ref for ref in fitting}.values())
        also = f"  # or {', '.join(newest[:-1])}: the same server model" if len(newest) > 1 else ""
        return [f"  blueprint: {newest[-1]}{also}"]
    described = " ".join(filter(None, (report.system.manufacturer, report.system.model))) or "this machine"
    nearest = _nearest(report, blueprints)
    hint = f"; the nearest is {nearest}" if nearest is not None else ""
    return [f"  blueprint: NAME@VERSION  # no blueprint names {described}{hint}"]


def fitting_blueprints(report: HardwareReport, blueprints: dict[str, Blueprint]) -> list[str]:
    """The refs of the blueprints that name this maker and model, oldest version first."""
    model = report.system.model
    of_maker = _of_maker(report, blueprints)
    return sorted(
        (
            ref
            for ref, blueprint in of_maker.items()
            if model is not None and is_any_model(blueprint.hardware.system.models, model)
        ),
        key=_by_version,
    )


def _of_maker(report: HardwareReport, blueprints: dict[str, Blueprint]) -> dict[str, Blueprint]:
    maker = report.system.manufacturer
    return {
        ref: blueprint
        for ref, blueprint in blueprints.items()
        if maker is not None and is_same_maker(blueprint.hardware.system.manufacturer, maker)
    }


def _nearest(report: HardwareReport, blueprints: dict[str, Blueprint]) -> str | None:
    """The newest blueprint of the same maker whose model is spelled most alike."""
    model = (report.system.model or "").casefold()
    ranked = [
        (max(SequenceMatcher(None, model, name.casefold()).ratio() for name in names), _by_version(ref), ref)
        for ref, blueprint in _of_maker(report, blueprints).items()
        if (names := blueprint.hardware.system.models)
    ]
    best = max(ranked, default=None)
    return best[2] if best is not None and best[0] >= _ALIKE else None


def _by_version(ref: str) -> tuple[str, tuple[int, ...]]:
    name, _, version = ref.partition("@")
    return name, tuple(int(part) for part in version.split("."))
