"""Samples in the text format that Prometheus and node_exporter's text files read. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

METRICS: Mapping[str, str] = {
    "metalwright_sweep_timestamp_seconds": "When the BMCs were last asked, by this machine's clock.",
    "metalwright_bmc_up": "1: the BMC answered and its sensors were read. 0: it did not.",
    "metalwright_bmc_login_refused": "1: the BMC refused its password and is not asked again.",
    "metalwright_bmc_temperature_celsius": "A temperature, °C.",
    "metalwright_bmc_temperature_limit_celsius": "The maker's critical limit of that sensor, °C.",
    "metalwright_bmc_inlet_celsius": "Where the air comes in, °C.",
    "metalwright_bmc_fan_rpm": "A fan, revolutions a minute.",
    "metalwright_bmc_fan_percent": "A fan, percent of its full speed.",
    "metalwright_bmc_fan_ok": "1: the BMC calls the fan well.",
    "metalwright_bmc_psu_ok": "1: the BMC calls the power supply well and it has input.",
    "metalwright_bmc_psus": "Power supplies that are there.",
    "metalwright_bmc_power_watts": "What the server takes, W.",
    "metalwright_bmc_event_log_entries": "Entries of the event logs by severity, among the newest that were read.",
    "metalwright_bmc_event_log_newest_timestamp_seconds": "The newest entry of a severity, by the BMC's clock.",
    "metalwright_node_state": "1 for the state in which the journal has the node.",
    "metalwright_certificate_expiry_timestamp_seconds": "When the acceptance certificate of the node ends.",
    "metalwright_node_gpus_expected": "GPUs that the blueprint has.",
    "metalwright_node_gpu_power_cap_watts": "Power cap of one GPU in the blueprint, W.",
    "metalwright_node_psus_expected": "Power supplies that the blueprint has.",
    "metalwright_node_power_limit_watts": "The most that the server takes, by its blueprint, W.",
    "metalwright_node_inlet_limit_celsius": "The warmest air that the blueprint allows, °C.",
}
"""Every metric that metalwright shows, all of them gauges, with its line of help."""


@dataclass(frozen=True)
class Sample:
    """One value; ``labels`` without those that scraping adds."""

    name: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


def exposition(samples: Iterable[Sample]) -> str:
    """The text format: metrics in the order of ``METRICS``, series by their labels.

    Raises KeyError for a metric that has no line of help.
    """
    by_name: dict[str, list[str]] = {name: [] for name in METRICS}
    for sample in samples:
        by_name[sample.name].append(f"{sample.name}{_labels(sample.labels)} {_value(sample.value)}")
    lines = []
    for name, series in by_name.items():
        if series:
            lines += [f"# HELP {name} {METRICS[name]}", f"# TYPE {name} gauge", *sorted(set(series))]
    return "".join(f"{line}\n" for line in lines)


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _value(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
