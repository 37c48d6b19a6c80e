"""What is known of nodes, as samples: from their blueprints, the journal, their certificates and their sensors. Pure.

What is not known has no sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from metalwright.model.blueprint import Blueprint
from metalwright.model.sensors import MachineSensors
from metalwright.monitoring.exposition import Sample

SEVERITIES = ("critical", "warning", "ok")


def blueprint_samples(labels: Mapping[str, str], blueprint: Blueprint) -> Iterator[Sample]:
    """What the blueprint expects of a node, for alerts to compare with."""
    hardware, power = blueprint.hardware, blueprint.power
    values = {
        "metalwright_node_gpus_expected": hardware.gpus.count if hardware.gpus else None,
        "metalwright_node_psus_expected": hardware.psus.count if hardware.psus else None,
        "metalwright_node_gpu_power_cap_watts": blueprint.policy.power_cap_w,
        "metalwright_node_power_limit_watts": power.max_w if power else None,
        "metalwright_node_inlet_limit_celsius": power.inlet_max_c if power else None,
    }
    return (Sample(name, value, labels) for name, value in values.items() if value is not None)


def state_sample(labels: Mapping[str, str], state: str) -> Sample:
    """Where the journal has the node."""
    return Sample("metalwright_node_state", 1, {**labels, "state": state})


def certificate_sample(labels: Mapping[str, str], expires: datetime) -> Sample:
    """Until when the node counts as accepted."""
    return Sample("metalwright_certificate_expiry_timestamp_seconds", expires.timestamp(), labels)


def sensor_samples(labels: Mapping[str, str], sensors: MachineSensors) -> Iterator[Sample]:
    """What the sensors of a machine say."""
    for item in sensors.temperatures:
        own = {**labels, "sensor": item.name}
        yield Sample("metalwright_bmc_temperature_celsius", item.celsius, own)
        if item.limit_c is not None:
            yield Sample("metalwright_bmc_temperature_limit_celsius", item.limit_c, own)
        if item.is_inlet:
            yield Sample("metalwright_bmc_inlet_celsius", item.celsius, own)
    for fan in sensors.fans:
        own = {**labels, "fan": fan.name}
        values = {"rpm": fan.rpm, "percent": fan.percent, "ok": fan.is_ok}
        yield from (
            Sample(f"metalwright_bmc_fan_{key}", value, own) for key, value in values.items() if value is not None
        )
    if sensors.psus is not None:
        yield Sample("metalwright_bmc_psus", len(sensors.psus), labels)
    for psu in sensors.psus or ():
        if psu.is_ok is not None:
            yield Sample("metalwright_bmc_psu_ok", psu.is_ok, {**labels, "psu": psu.name})
    if sensors.power_w is not None:
        yield Sample("metalwright_bmc_power_watts", sensors.power_w, labels)


def event_samples(labels: Mapping[str, str], entries: Iterable[tuple[str, datetime | None]]) -> Iterator[Sample]:
    """Counts of event log entries (severity, time) by severity, and the newest of each that tells its time.

    A log that could be read and holds nothing of a severity counts zero of it.
    """
    listed = [(severity.casefold(), at) for severity, at in entries]
    for severity in SEVERITIES:
        own = {**labels, "severity": severity}
        times = [at for name, at in listed if name == severity and at is not None]
        count = sum(name == severity for name, _ in listed)
        yield Sample("metalwright_bmc_event_log_entries", count, own)
        if times:
            yield Sample("metalwright_bmc_event_log_newest_timestamp_seconds", max(times).timestamp(), own)
