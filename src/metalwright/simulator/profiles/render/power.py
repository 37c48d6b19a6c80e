"""Power supplies, fans, temperatures: the old resources Power and Thermal, the new subsystems, and sensors."""

from __future__ import annotations

from metalwright.simulator.profiles.book import ABSENT, OK, ROOT
from metalwright.simulator.profiles.machine import Psus
from metalwright.simulator.profiles.render.frame import Frame, Json, numbered


def write(frame: Frame) -> None:
    """What the style has; the collection of chassis is complete then."""
    book, path = frame.book, frame.chassis
    if "legacy" in frame.style.power:
        _legacy_power(frame)
        _legacy_thermal(frame)
        book.put(path, Power=book.link(f"{path}/Power"), Thermal=book.link(f"{path}/Thermal"))
    if "subsystem" in frame.style.power:
        _sensors(frame)
        _power_subsystem(frame)
        _thermal_subsystem(frame)
        links = {name: book.link(f"{path}/{name}") for name in ("PowerSubsystem", "ThermalSubsystem", "Sensors")}
        book.put(path, **links, EnvironmentMetrics=book.link(f"{path}/EnvironmentMetrics"))
    book.collect(f"{ROOT}/Chassis", "Chassis", [path, *frame.more_chassis])


def psu_serial(number: int) -> str:
    """The serial of a power supply."""
    return f"PS{{{{code}}}}{number:02d}"


def _supply(frame: Frame, psus: Psus, number: int) -> Json:
    if number > psus.count:
        return {"Name": numbered(frame.style.psu_name, number), "Status": ABSENT}
    return {
        "Name": numbered(frame.style.psu_name, number),
        "Manufacturer": psus.manufacturer,
        "Model": psus.model,
        "SerialNumber": psu_serial(number),
        "PartNumber": f"{psus.model}-A",
        "FirmwareVersion": "1.01",
        "PowerSupplyType": "AC",
        "PowerCapacityWatts": psus.watts,
        "LineInputVoltageType": "AC240V",
        "Status": OK,
    }


def _legacy_power(frame: Frame) -> None:
    psus, path = frame.data.psus, f"{frame.chassis}/Power"
    supplies = []
    for number in range(1, psus.count + psus.absent + 1) if psus else ():
        body: Json = {
            "@odata.id": f"{path}{frame.style.slash}#/PowerSupplies/{number - 1}",
            "MemberId": str(number - 1),
        }
        supplies.append({**body, **_supply(frame, psus, number)} if psus else body)
    voltages = [
        {
            "@odata.id": f"{path}{frame.style.slash}#/Voltages/{number}",
            "MemberId": str(number),
            "Name": f"Voltage {number}",
            "SensorNumber": number,
            "ReadingVolts": 12.0,
            "UpperThresholdCritical": 13.2,
            "LowerThresholdCritical": 10.8,
            "PhysicalContext": "SystemBoard",
            "Status": OK,
        }
        for number in range(frame.data.voltages)
    ]
    control = {
        "@odata.id": f"{path}{frame.style.slash}#/PowerControl/0",
        "MemberId": "0",
        "Name": "System power control",
        "PowerConsumedWatts": 900,
        "PowerCapacityWatts": psus.watts * psus.count if psus else 0,
        "Status": OK,
    }
    whole: Json = {
        "PowerControl": [control],
        "PowerControl@odata.count": 1,
        "Voltages": voltages,
        "Voltages@odata.count": len(voltages),
        "PowerSupplies": supplies,
        "PowerSupplies@odata.count": len(supplies),
    }
    frame.book.add(path, "Power", "Power", whole)


def _legacy_thermal(frame: Frame) -> None:
    path, data = f"{frame.chassis}/Thermal", frame.data
    fans = [
        {
            "@odata.id": f"{path}{frame.style.slash}#/Fans/{number - 1}",
            "MemberId": str(number - 1),
            "Name": numbered(frame.style.fan, number),
            "Reading": 6000 + 100 * number,
            "ReadingUnits": "RPM",
            "LowerThresholdCritical": 500,
            "Status": OK,
        }
        for number in range(1, data.fans + 1)
    ]
    temperatures = [
        {
            "@odata.id": f"{path}{frame.style.slash}#/Temperatures/{number}",
            "MemberId": str(number),
            "Name": f"Temperature {number}",
            "SensorNumber": number,
            "ReadingCelsius": 22 + number,
            "UpperThresholdCritical": 95,
            "PhysicalContext": "Intake" if number == 0 else "SystemBoard",
            "Status": OK,
        }
        for number in range(data.temperatures)
    ]
    body = {
        "Fans": fans,
        "Fans@odata.count": len(fans),
        "Temperatures": temperatures,
        "Temperatures@odata.count": len(temperatures),
    }
    frame.book.add(path, "Thermal", "Thermal", body)


def _sensors(frame: Frame) -> None:
    data, psus = frame.data, frame.data.psus
    for number in range(1, data.temperatures + 1):
        reading = {"ReadingType": "Temperature", "ReadingUnits": "Cel", "Reading": 21.0 + number}
        add_sensor(frame, f"Temp_{number}", {**reading, "Thresholds": {"UpperCritical": {"Reading": 95.0}}})
    for number in range(1, data.voltages + 1):
        add_sensor(frame, f"Volt_{number}", {"ReadingType": "Voltage", "ReadingUnits": "V", "Reading": 12.0})
    for number in range(1, data.fans + 1):
        add_sensor(
            frame, f"Fan_{number}_Speed", {"ReadingType": "Rotational", "ReadingUnits": "{rev}/min", "Reading": 6000.0}
        )
    for number in range(1, (psus.count if psus else 0) + 1):
        for name, kind, unit, value in (
            ("Input_Power", "Power", "W", 420.0),
            ("Output_Power", "Power", "W", 400.0),
            ("Input_Voltage", "Voltage", "V", 230.0),
            ("Temp", "Temperature", "Cel", 35.0),
        ):
            body = {"ReadingType": kind, "ReadingUnits": unit, "Reading": value}
            add_sensor(frame, f"PSU_{number}_{name}", body)
    add_sensor(frame, "Total_Power", {"ReadingType": "Power", "ReadingUnits": "W", "Reading": 900.0})
    frame.book.collect(f"{frame.chassis}/Sensors", "Sensor", frame.sensors)


def add_sensor(frame: Frame, name: str, body: Json) -> str:
    """One sensor of the chassis; its path."""
    path = frame.book.add(f"{frame.chassis}/Sensors/{name}", "Sensor", name.replace("_", " "), {**body, "Status": OK})
    frame.sensors.append(path)
    return path


def _power_subsystem(frame: Frame) -> None:
    book, psus = frame.book, frame.data.psus
    path = f"{frame.chassis}/PowerSubsystem"
    members = []
    for number in range(1, psus.count + psus.absent + 1) if psus else ():
        place = f"{path}/PowerSupplies/{numbered(frame.style.psu, number)}"
        body = _supply(frame, psus, number) if psus else {}
        body.pop("LineInputVoltageType", None)
        name = str(body.pop("Name"))
        if psus is not None and number <= psus.count:
            body["Metrics"] = book.link(f"{place}/Metrics")
            book.add(f"{place}/Metrics", "PowerSupplyMetrics", f"Metrics of {name}", _supply_metrics(frame, number))
        members.append(book.add(place, "PowerSupply", name, body))
    book.collect(f"{path}/PowerSupplies", "PowerSupply", members)
    capacity = psus.watts * psus.count if psus else 0
    body = {"CapacityWatts": capacity, "Status": OK, "PowerSupplies": book.link(f"{path}/PowerSupplies")}
    book.add(path, "PowerSubsystem", "Power subsystem", body)
    source = {"DataSourceUri": f"{frame.chassis}/Sensors/Total_Power", "Reading": 900.0}
    book.add(f"{frame.chassis}/EnvironmentMetrics", "EnvironmentMetrics", "Environment", {"PowerWatts": source})


def _supply_metrics(frame: Frame, number: int) -> Json:
    sensors = f"{frame.chassis}/Sensors/PSU_{number}"
    return {
        "InputPowerWatts": {"DataSourceUri": f"{sensors}_Input_Power", "Reading": 420.0},
        "OutputPowerWatts": {"DataSourceUri": f"{sensors}_Output_Power", "Reading": 400.0},
        "InputVoltage": {"DataSourceUri": f"{sensors}_Input_Voltage", "Reading": 230.0},
        "TemperatureCelsius": {"DataSourceUri": f"{sensors}_Temp", "Reading": 35.0},
        "Status": OK,
    }


def _thermal_subsystem(frame: Frame) -> None:
    book, path = frame.book, f"{frame.chassis}/ThermalSubsystem"
    fans = []
    for number in range(1, frame.data.fans + 1):
        speed = {"SpeedRPM": 6000.0, "DataSourceUri": f"{frame.chassis}/Sensors/Fan_{number}_Speed"}
        name = numbered(frame.style.fan, number)
        fans.append(book.add(f"{path}/Fans/{number}", "Fan", name, {"SpeedPercent": speed, "Status": OK}))
    book.collect(f"{path}/Fans", "Fan", fans)
    readings = [
        {"DataSourceUri": f"{frame.chassis}/Sensors/Temp_{number}", "Reading": 21.0 + number}
        for number in range(1, frame.data.temperatures + 1)
    ]
    metrics = {"TemperatureReadingsCelsius": readings, "TemperatureReadingsCelsius@odata.count": len(readings)}
    book.add(f"{path}/ThermalMetrics", "ThermalMetrics", "Thermal metrics", metrics)
    links = {"Fans": book.link(f"{path}/Fans"), "ThermalMetrics": book.link(f"{path}/ThermalMetrics")}
    book.add(path, "ThermalSubsystem", "Thermal subsystem", {"Status": OK, **links})
