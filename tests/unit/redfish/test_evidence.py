"""What is kept of sensors, POST codes and log entries, in the shapes that BMCs have."""

from __future__ import annotations

from metalwright.redfish.event_logs import entry_of, order_of
from metalwright.redfish.evidence import readings_of, summary_of


def test_sensors_are_read_in_the_old_and_in_the_new_shape() -> None:
    thermal = {
        "Temperatures": [{"Name": "Inlet", "ReadingCelsius": 24, "Status": {"Health": "OK"}}, {"Name": "absent"}]
    }
    metrics = {"TemperatureReadingsCelsius": [{"DeviceName": "GPU 1", "Reading": 61.5}], "Id": "ThermalMetrics"}
    power = {"PowerControl": [{"Name": "System", "PowerConsumedWatts": 5400}], "Voltages": [None, "odd"]}
    assert list(readings_of(thermal)) == [{"name": "Inlet", "reading": 24, "unit": "Cel", "health": "OK"}]
    assert [(item["name"], item["reading"]) for item in readings_of(metrics)] == [("GPU 1", 61.5)]
    assert [(item["reading"], item["unit"]) for item in readings_of(power)] == [(5400, "W")]
    assert list(readings_of("text")) == []


def test_post_codes_are_found_where_makers_put_them_inside_the_system_itself() -> None:
    system = {"PowerState": "On", "Oem": {"Hpe": {"PostState": "InPost", "Links": {"PostLog": {"@odata.id": "/x"}}}}}
    assert summary_of(system)["post"] == {"PostState": "InPost"}
    assert summary_of({"Boot": "odd", "BootProgress": "odd", "Oem": None})["power"] is None


def test_entries_are_ordered_by_their_time_then_by_their_number() -> None:
    bodies = [
        {"Id": "10", "Created": "2026-01-01T00:00:00Z", "Message": "b"},
        {"Id": "9", "Created": "2026-01-01T00:00:00Z", "Message": " a\n\x00 "},
        {
            "Id": "1",
            "EventTimestamp": "2026-01-02T00:00:00Z",
            "Created": "2025-01-01T00:00:00Z",
            "Severity": "Critical",
        },
    ]
    entries = sorted((entry_of(body, "SEL") for body in bodies), key=order_of)
    assert [entry.id for entry in entries] == ["9", "10", "1"]
    assert entries[2].severity == "Critical"
