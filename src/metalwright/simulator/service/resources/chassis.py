"""The chassis with its power supplies and thermal subsystem."""

from __future__ import annotations

from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import CHASSIS, MANAGER, ROOT, SYSTEM
from metalwright.simulator.service.routes import Call, Route, link, listing

_OK = {"State": "Enabled", "Health": "OK"}
_SUPPLIES = ("PSU1", "PSU2")
_POWER = f"{CHASSIS}/PowerSubsystem"
_THERMAL = f"{CHASSIS}/ThermalSubsystem"


def routes() -> list[Route]:
    """One rack-mount chassis."""
    supplies = f"{_POWER}/PowerSupplies"
    return [
        listing(f"{ROOT}/Chassis", "Chassis", "Chassis", ["1"]),
        Route(CHASSIS, read=_chassis),
        Route(_POWER, read=_power),
        listing(supplies, "PowerSupply", "Power supplies", _SUPPLIES),
        Route(f"{supplies}/{{id}}", read=_supply),
        Route(_THERMAL, read=_thermal),
        Route(f"{_THERMAL}/ThermalMetrics", read=_thermal_metrics),
        Route(f"{CHASSIS}/EnvironmentMetrics", read=_environment),
    ]


def _chassis(call: Call) -> Json:
    spec = call.bmc.spec
    return {
        "@odata.id": CHASSIS,
        "@odata.type": "#Chassis.v1_25_0.Chassis",
        "Id": "1",
        "Name": "Chassis",
        "ChassisType": "RackMount",
        "Manufacturer": spec.manufacturer,
        "Model": spec.model,
        "SerialNumber": spec.serial,
        "PartNumber": spec.part_number,
        "PowerState": call.bmc.system.power_state,
        "Status": _OK,
        "PowerSubsystem": link(_POWER),
        "ThermalSubsystem": link(_THERMAL),
        "EnvironmentMetrics": link(f"{CHASSIS}/EnvironmentMetrics"),
        "NetworkAdapters": link(f"{CHASSIS}/NetworkAdapters"),
        "PCIeDevices": link(f"{CHASSIS}/PCIeDevices"),
        "Links": {"ComputerSystems": [link(SYSTEM)], "ManagedBy": [link(MANAGER)]},
    }


def _power(_call: Call) -> Json:
    return {
        "@odata.id": _POWER,
        "@odata.type": "#PowerSubsystem.v1_1_2.PowerSubsystem",
        "Id": "PowerSubsystem",
        "Name": "Power subsystem",
        "CapacityWatts": 1600,
        "Status": _OK,
        "PowerSupplies": link(f"{_POWER}/PowerSupplies"),
    }


def _environment(call: Call) -> Json:
    return {
        "@odata.id": f"{CHASSIS}/EnvironmentMetrics",
        "@odata.type": "#EnvironmentMetrics.v1_3_1.EnvironmentMetrics",
        "Id": "EnvironmentMetrics",
        "Name": "Environment",
        "PowerWatts": {"Reading": call.bmc.system.power_draw_w()},
    }


def _supply(call: Call) -> Json:
    number = call.params["id"]
    if number not in _SUPPLIES:
        raise refuse("ResourceMissingAtURI", call.path)
    return {
        "@odata.id": f"{_POWER}/PowerSupplies/{number}",
        "@odata.type": "#PowerSupply.v1_6_0.PowerSupply",
        "Id": number,
        "Name": f"Power supply {number}",
        "PowerSupplyType": "AC",
        "PowerCapacityWatts": 800,
        "Manufacturer": "metalwright",
        "Model": "LAB PSU 800",
        "SerialNumber": f"{call.bmc.spec.serial}-{number}",
        "FirmwareVersion": call.bmc.spec.firmware.get(number, "1.0.0"),
        "Status": _OK,
    }


def _thermal(_call: Call) -> Json:
    return {
        "@odata.id": _THERMAL,
        "@odata.type": "#ThermalSubsystem.v1_3_2.ThermalSubsystem",
        "Id": "ThermalSubsystem",
        "Name": "Thermal subsystem",
        "Status": _OK,
        "ThermalMetrics": link(f"{_THERMAL}/ThermalMetrics"),
    }


def _thermal_metrics(_call: Call) -> Json:
    return {
        "@odata.id": f"{_THERMAL}/ThermalMetrics",
        "@odata.type": "#ThermalMetrics.v1_3_1.ThermalMetrics",
        "Id": "ThermalMetrics",
        "Name": "Thermal metrics",
        "TemperatureSummaryCelsius": {"Intake": {"Reading": 22.0}},
    }
