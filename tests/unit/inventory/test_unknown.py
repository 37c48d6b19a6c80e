"""What the BMC does not tell is null, and named in ``problems`` with its URI and the power state of the host."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.unit.inventory.trees import CH, SYS, link, machine, report_of, with_members

from metalwright.model.report import HardwareReport

WORDS = {
    "cpus": "processor",
    "gpus": "GPUs",
    "nics": "network ports",
    "drives": "drives",
    "psus": "power supplies",
    "firmware": "firmware inventory",
    "memory": "memory",
}


def unnamed(report: HardwareReport) -> list[str]:
    """The parts that are null without a problem that names them, its URI and the power state."""
    null = [part for part in WORDS if part != "memory" and getattr(report, part) is None]
    null += ["memory"] if report.memory.dimms is None else []
    state = report.system.power_state or "unknown"
    told = [item.what for item in report.problems if item.uri.startswith("/redfish/v1")]
    said = [what for what in told if f"(power state {state})" in what]
    return [part for part in null if not any(WORDS[part] in what for what in said)]


@pytest.mark.parametrize("power", ["On", "Off", None, "Sleeping"])
def test_a_machine_that_tells_nothing_names_every_part_that_is_null(power: str | None) -> None:
    report = report_of(machine(PowerState=power))
    assert report.cpus is None
    assert report.psus is None
    assert unnamed(report) == []


FIELDS: list[tuple[str, str, dict[str, Any], str]] = [
    ("Processors", "1", {"ProcessorType": "CPU", "Manufacturer": "Intel"}, "model, cores"),
    ("Memory", "A1", {"PartNumber": "M321"}, "size_gib"),
    ("Processors", "GPU1", {"ProcessorType": "GPU"}, "model, memory_gib"),
]


@pytest.mark.parametrize(("place", "name", "body", "fields"), FIELDS)
def test_a_part_that_does_not_tell_what_counts_names_its_fields(
    place: str, name: str, body: dict[str, Any], fields: str
) -> None:
    report = report_of(with_members(machine(PowerState="Off"), SYS, place, {"Id": name, **body}))
    found = {item.uri: item.what for item in report.problems}
    assert found[f"{SYS}/{place}/{name}"] == f"{fields} unknown (power state Off)"


def test_ports_drives_and_supplies_name_theirs_too() -> None:
    tree = with_members(machine(), CH, "NetworkAdapters", {"Id": "N1", "Model": "CX7"})
    with_members(tree, f"{CH}/NetworkAdapters/N1", "Ports", {"Id": "1"})
    with_members(tree, CH, "Drives", {"Id": "D1", "Model": "PM9A3"})
    tree[CH]["Power"] = link(f"{CH}/Power")
    tree[f"{CH}/Power"] = {"PowerSupplies": [{"Name": "PSU 1", "Model": "PWS"}]}
    found = {item.uri.removeprefix(CH): item.what for item in report_of(tree).problems}
    assert found["/NetworkAdapters/N1/Ports/1"] == "speed_gbps, link unknown (power state On)"
    assert found["/Drives/D1"] == "serial, protocol, size_bytes unknown (power state On)"
    assert re.match("watts unknown", found["/Power#/PowerSupplies/0"])
