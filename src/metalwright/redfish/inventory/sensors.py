"""Temperatures, fans, power supplies and power of each host, from the old resources or from the new subsystems.

Thermal and Power tell everything in one read each and are preferred; BMCs that dropped them have ThermalSubsystem,
PowerSubsystem and EnvironmentMetrics, those without ThermalMetrics a collection of sensors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from metalwright.model.report import HardwareReport
from metalwright.model.sensors import Fan, MachineSensors, PowerSupply, Temperature
from metalwright.redfish.inventory.estate import Host, read_estate
from metalwright.redfish.inventory.psus import present_supplies, supply_slot
from metalwright.redfish.inventory.reader import Reader
from metalwright.redfish.inventory.report import host_report
from metalwright.redfish.inventory.resource import Resource
from metalwright.redfish.inventory.walk import Walk, together

T = TypeVar("T", Temperature, Fan, PowerSupply)
READ_BUDGET = 400
"""Reads of one pass over a BMC."""

_INLET = ("intake", "roominlet")
_INLET_NAME = re.compile(r"inlet|intake|ambient", re.IGNORECASE)
_OTHER_INLET = re.compile(r"p/s|psu|power|gpu|cpu|dimm|nic|drive|hsc|retimer|vr", re.IGNORECASE)
_OFF_STATES = ("absent", "disabled")


async def read_sensors(
    reader: Reader, address: str | None = None, read_budget: int = READ_BUDGET
) -> list[tuple[HardwareReport, MachineSensors]]:
    """For each host of the BMC who it is, and what its sensors say.

    Raises:
        BmcAuthError, BmcCertificateError, BmcUnreachableError, BmcAnswerError: as :func:`read_reports`.
    """
    with Walk(reader, read_budget) as walk:
        estate = await read_estate(walk)
        reports = await together(host_report(walk, estate, host, address, ()) for host in estate.hosts)
        sensors = await together(_of_host(walk, host) for host in estate.hosts)
        return list(zip(reports, sensors, strict=True))


async def _of_host(walk: Walk, host: Host) -> MachineSensors:
    found = await together(_of_chassis(walk, chassis, is_off=host.is_off) for chassis in host.enclosing_chassis)
    told = [sensors for sensors in found if sensors.psus is not None]
    return MachineSensors(
        temperatures=_with_inlet(_once(item for sensors in found for item in sensors.temperatures)),
        fans=_once(item for sensors in found for item in sensors.fans),
        psus=_once(item for sensors in told for item in sensors.psus or ()) if told else None,
        power_w=next((sensors.power_w for sensors in found if sensors.power_w is not None), None),
        problems=tuple(f"{problem.uri}: {problem.what}" for problem in walk.problems),
    )


def _once(items: Iterable[T]) -> tuple[T, ...]:
    unique: dict[str, T] = {}
    for item in items:
        unique.setdefault(item.name, item)
    return tuple(unique.values())


async def _of_chassis(walk: Walk, chassis: Resource, *, is_off: bool) -> MachineSensors:
    thermal, power = await together(walk.resource(chassis.link(name)) for name in ("Thermal", "Power"))
    temperatures = _legacy_temperatures(thermal) if thermal is not None else ()
    fans = _legacy_fans(thermal) if thermal is not None else ()
    subsystem = await walk.resource(chassis.link("ThermalSubsystem")) if not (temperatures and fans) else None
    supplies = await present_supplies(walk, chassis)
    return MachineSensors(
        temperatures=temperatures or await _temperatures(walk, chassis, subsystem),
        fans=fans or await _fans(walk, subsystem),
        psus=tuple(map(_supply, supplies)) if supplies is not None else None,
        power_w=_watts(power, is_off) if power is not None else await _environment_watts(walk, chassis, is_off),
    )


def _legacy_temperatures(thermal: Resource) -> tuple[Temperature, ...]:
    found = []
    for item in thermal.objects("Temperatures"):
        celsius = item.number("ReadingCelsius")
        if celsius is not None and item.state not in _OFF_STATES:
            limit = item.number("UpperThresholdCritical") or item.number("UpperThresholdFatal")
            found.append(Temperature(_name(item), celsius, limit, _is_inlet(item)))
    return tuple(found)


async def _temperatures(walk: Walk, chassis: Resource, subsystem: Resource | None) -> tuple[Temperature, ...]:
    metrics = await walk.resource(subsystem.link("ThermalMetrics")) if subsystem is not None else None
    found = []
    for item in metrics.objects("TemperatureReadingsCelsius") if metrics is not None else ():
        celsius = item.number("Reading")
        if celsius is not None:
            source = (item.text("DataSourceUri") or "").rstrip("/").rpartition("/")[2]
            name = item.text("DeviceName") or source or _name(item)
            found.append(Temperature(name, celsius, None, _is_inlet(item)))
    summary = metrics.part("TemperatureSummaryCelsius", "Intake").number("Reading") if metrics is not None else None
    if summary is not None and not any(item.is_inlet for item in found):
        found.append(Temperature("Intake", summary, None, is_inlet=True))
    return tuple(found) or await _sensor_temperatures(walk, chassis)


async def _sensor_temperatures(walk: Walk, chassis: Resource) -> tuple[Temperature, ...]:
    listing = await walk.listing(chassis.link("Sensors"))
    found = []
    for item in listing.present:
        celsius = item.number("Reading")
        if item.text("ReadingType") == "Temperature" and celsius is not None and item.state not in _OFF_STATES:
            limit = item.part("Thresholds", "UpperCritical").number("Reading")
            found.append(Temperature(_name(item), celsius, limit, _is_inlet(item)))
    return tuple(found)


def _legacy_fans(thermal: Resource) -> tuple[Fan, ...]:
    found = []
    for item in thermal.objects("Fans"):
        if item.state in _OFF_STATES:
            continue
        reading, unit = item.number("Reading"), (item.text("ReadingUnits") or "RPM").casefold()
        rpm, percent = (None, reading) if unit == "percent" else (reading, None)
        found.append(Fan(_name(item), rpm, percent, _is_fan_ok(item, reading)))
    return tuple(found)


async def _fans(walk: Walk, subsystem: Resource | None) -> tuple[Fan, ...]:
    listing = await walk.listing(subsystem.link("Fans") if subsystem is not None else None)
    found = []
    for item in listing.present:
        if item.state in _OFF_STATES:
            continue
        speed = item.part("SpeedPercent")
        rpm, percent = speed.number("SpeedRPM"), speed.number("Reading")
        found.append(Fan(_name(item), rpm, percent, _is_fan_ok(item, rpm if rpm is not None else percent)))
    return tuple(found)


def _is_fan_ok(item: Resource, speed: float | None) -> bool | None:
    """A fan that is switched on and stands still is not well, whatever its health says."""
    if speed == 0 and item.state == "enabled":
        return False
    return _is_healthy(item)


def _supply(item: Resource) -> PowerSupply:
    return PowerSupply(supply_slot(item) or item.id, _is_supply_ok(item))


def _is_supply_ok(item: Resource) -> bool | None:
    if (item.text("LineInputStatus") or "Normal").casefold() in ("lossofinput", "outofrange"):
        return False
    if item.state == "unavailableoffline":
        return False
    return _is_healthy(item)


def _is_healthy(item: Resource) -> bool | None:
    health = (item.text("Status", "Health") or "").casefold()
    return {"ok": True, "warning": False, "critical": False}.get(health)


def _watts(power: Resource, is_off: bool) -> float | None:
    for item in power.objects("PowerControl"):
        watts = _plausible(item.number("PowerConsumedWatts"), is_off)
        if watts is not None:
            return watts
    return None


async def _environment_watts(walk: Walk, chassis: Resource, is_off: bool) -> float | None:
    metrics = await walk.resource(chassis.link("EnvironmentMetrics"))
    return _plausible(metrics.part("PowerWatts").number("Reading"), is_off) if metrics is not None else None


def _plausible(watts: float | None, is_off: bool) -> float | None:
    """A running server takes some power: zero is how some BMCs write *unknown*."""
    return watts if watts is not None and (watts > 0 or (watts == 0 and is_off)) else None


def _is_inlet(item: Resource) -> bool:
    return (item.text("PhysicalContext") or "").casefold() in _INLET


def _with_inlet(temperatures: tuple[Temperature, ...]) -> tuple[Temperature, ...]:
    """The same with at most one inlet: the coolest whose name says so, else the only one that the BMC calls intake.

    Some BMCs call every sensor an intake, and power supplies have inlets of their own.
    """
    named = [item for item in temperatures if _INLET_NAME.search(item.name) and not _OTHER_INLET.search(item.name)]
    called = [item for item in temperatures if item.is_inlet]
    chosen = min(named, key=lambda item: item.celsius) if named else called[0] if len(called) == 1 else None
    return tuple(replace(item, is_inlet=item is chosen) for item in temperatures)


def _name(item: Resource) -> str:
    return item.text("Name") or item.text("FanName") or item.text("DeviceName") or item.text("MemberId") or item.id
