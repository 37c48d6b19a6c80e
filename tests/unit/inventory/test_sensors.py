"""Sensors from the old resources and the new ones; what a BMC does not tell is unknown, never zero and never well."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.inventory.trees import CH, Tree, link, machine, with_members

from metalwright.model.sensors import Fan, MachineSensors, PowerSupply, Temperature
from metalwright.redfish.inventory import CapturedTree
from metalwright.redfish.inventory.sensors import read_sensors

OK = {"State": "Enabled", "Health": "OK"}


def sensors_of(tree: Tree) -> MachineSensors:
    ((_, sensors),) = asyncio.run(read_sensors(CapturedTree(tree)))
    return sensors


def legacy(*, thermal: dict[str, Any] | None = None, power: dict[str, Any] | None = None, **system: Any) -> Tree:
    tree = machine(**system)
    for name, body in (("Thermal", thermal), ("Power", power)):
        if body is not None:
            tree[CH] = {**tree[CH], name: link(f"{CH}/{name}")}
            tree[f"{CH}/{name}"] = body
    return tree


def test_thermal_tells_temperatures_with_limits_and_fans() -> None:
    found = sensors_of(
        legacy(
            thermal={
                "Temperatures": [
                    {"Name": "Inlet Temp", "ReadingCelsius": 21, "UpperThresholdCritical": 42, "Status": OK},
                    {"Name": "P/S 1 Inlet", "ReadingCelsius": 19, "Status": OK},
                    {"Name": "CPU2", "ReadingCelsius": None, "Status": {"State": "Absent"}},
                    {"Name": "DIMM", "ReadingCelsius": 0, "Status": {"State": "Disabled"}},
                ],
                "Fans": [
                    {"Name": "FAN1", "Reading": 6000, "ReadingUnits": "RPM", "Status": OK},
                    {"Name": "FAN2", "Reading": 40, "ReadingUnits": "Percent", "Status": {"Health": "Critical"}},
                ],
            }
        )
    )
    assert found.temperatures == (Temperature("Inlet Temp", 21, 42, is_inlet=True), Temperature("P/S 1 Inlet", 19))
    assert found.fans == (Fan("FAN1", rpm=6000, is_ok=True), Fan("FAN2", percent=40, is_ok=False))


@pytest.mark.parametrize(
    ("status", "reading", "is_ok"),
    [
        (OK, 0, False),
        ({"State": "Enabled"}, 5000, None),
        ({}, None, None),
        ({"Health": "Warning"}, 5000, False),
    ],
)
def test_a_fan_is_well_only_where_the_bmc_says_so_and_it_turns(status: Any, reading: Any, is_ok: bool | None) -> None:
    (fan,) = sensors_of(legacy(thermal={"Fans": [{"Name": "F", "Reading": reading, "Status": status}]})).fans
    assert fan.is_ok is is_ok


@pytest.mark.parametrize(
    ("supply", "is_ok"),
    [
        ({"Status": OK}, True),
        ({"Status": OK, "LineInputStatus": "LossOfInput"}, False),
        ({"Status": {"State": "UnavailableOffline", "Health": "OK"}}, False),
        ({"Status": {"State": "Enabled"}}, None),
    ],
)
def test_a_power_supply_without_input_is_not_well(supply: dict[str, Any], is_ok: bool | None) -> None:
    power = {"PowerSupplies": [{"MemberId": "0", "Model": "PS-1", "PowerCapacityWatts": 2000, **supply}]}
    assert sensors_of(legacy(power=power)).psus == (PowerSupply("0", is_ok),)


def test_empty_slots_are_no_supplies_and_a_silent_bmc_knows_of_none() -> None:
    absent = {"MemberId": "1", "Status": {"State": "Absent"}}
    assert sensors_of(legacy(power={"PowerSupplies": [absent]})).psus == ()
    assert sensors_of(legacy()).psus is None


@pytest.mark.parametrize(("state", "watts", "expected"), [("On", 0, None), ("Off", 0, 0), ("On", 612, 612)])
def test_a_running_server_that_takes_nothing_is_one_that_does_not_tell(state: str, watts: int, expected: Any) -> None:
    tree = legacy(power={"PowerControl": [{"PowerConsumedWatts": watts}]}, PowerState=state)
    assert sensors_of(tree).power_w == expected


def test_the_new_subsystems_tell_the_same() -> None:
    tree = machine()
    tree[CH] = {**tree[CH], **{name: link(f"{CH}/{name}") for name in ("ThermalSubsystem", "EnvironmentMetrics")}}
    tree[f"{CH}/EnvironmentMetrics"] = {"PowerWatts": {"Reading": 900.0}}
    tree[f"{CH}/ThermalSubsystem"] = {"ThermalMetrics": link(f"{CH}/ThermalSubsystem/ThermalMetrics")}
    tree[f"{CH}/ThermalSubsystem/ThermalMetrics"] = {
        "TemperatureReadingsCelsius": [{"DataSourceUri": f"{CH}/Sensors/CPU_1", "Reading": 61.5}],
        "TemperatureSummaryCelsius": {"Intake": {"Reading": 22.0}},
    }
    fan = {"Id": "1", "Name": "Fan 1", "SpeedPercent": {"Reading": 30, "SpeedRPM": 6000.0}, "Status": OK}
    with_members(tree, f"{CH}/ThermalSubsystem", "Fans", fan)
    found = sensors_of(tree)
    assert found.temperatures == (Temperature("CPU_1", 61.5), Temperature("Intake", 22.0, is_inlet=True))
    assert found.fans == (Fan("Fan 1", rpm=6000, percent=30, is_ok=True),)
    assert found.power_w == 900


def test_sensors_are_asked_where_nothing_else_tells_temperatures() -> None:
    body = {"ReadingType": "Temperature", "Reading": 44, "Thresholds": {"UpperCritical": {"Reading": 95}}, "Status": OK}
    tree = with_members(machine(), CH, "Sensors", {"Id": "1", "Name": "CPU", **body}, {"Id": "2", "Reading": 12})
    assert sensors_of(tree).temperatures == (Temperature("CPU", 44, 95),)


def test_where_every_sensor_is_called_an_intake_none_is() -> None:
    rows = [{"Name": name, "ReadingCelsius": 40, "PhysicalContext": "Intake"} for name in ("CPU0_TEMP", "CPU1_TEMP")]
    assert not any(item.is_inlet for item in sensors_of(legacy(thermal={"Temperatures": rows})).temperatures)


ODD = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(ODD, ODD, ODD)
def test_whatever_a_bmc_answers_is_no_crash(temperatures: Any, fans: Any, control: Any) -> None:
    row = {"Name": "x", "ReadingCelsius": temperatures, "UpperThresholdCritical": fans, "Status": control}
    found = sensors_of(
        legacy(
            thermal={"Temperatures": [row, temperatures], "Fans": [{"Reading": fans, "Status": control}, fans]},
            power={"PowerControl": [control, {"PowerConsumedWatts": control}], "PowerSupplies": [control]},
        )
    )
    assert all(isinstance(item.celsius, float | int) for item in found.temperatures)
