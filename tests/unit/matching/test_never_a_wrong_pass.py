"""A report that differs in anything that the blueprint demands never passes, whatever else is in it."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.matching.machines import BLUEPRINT, NODE, REPORT, node_with

from metalwright.matching import match
from metalwright.model.report import HardwareReport, MemoryFacts

DEMANDED: dict[str, dict[str, Any]] = {
    "cpus": {"model": "Xeon Gold 6430", "cores": 16, "enabled_cores": 8},
    "dimms": {"size_gib": 32.0},
    "gpus": {"model": "NVIDIA H200", "manufacturer": "AMD", "memory_gib": 141},
    "nics": {"ports": ()},
    "drives": {"size_bytes": 480 * 10**9, "protocol": "SATA"},
    "psus": {"watts": 1600},
}
"""For each part, properties that the blueprint demands, with a value that contradicts it."""

MAY_BE_UNKNOWN = {"enabled_cores", "manufacturer", "ports"}
"""What says nothing when it is missing: the blueprint's demand is met by another property."""


def parts_of(report: HardwareReport, name: str) -> tuple[Any, ...]:
    return (report.memory.dimms if name == "dimms" else getattr(report, name)) or ()


def with_parts(report: HardwareReport, name: str, parts: tuple[Any, ...] | None) -> HardwareReport:
    if name != "dimms":
        return report.model_copy(update={name: parts})
    sizes = [dimm.size_gib for dimm in parts or ()]
    total = sum(sizes) if parts and None not in sizes else report.memory.total_gib
    return report.model_copy(update={"memory": MemoryFacts(total_gib=total, dimms=parts)})


@st.composite
def harmed(draw: st.DrawFn) -> HardwareReport:
    """The right report with one to three parts lost, hidden, unknown or exchanged."""
    report = REPORT
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(sorted(DEMANDED)))
        parts = parts_of(report, name)
        if not parts:
            continue
        index = draw(st.integers(0, len(parts) - 1))
        report = with_parts(report, name, harm(draw, name, parts, index))
    return report


def harm(draw: st.DrawFn, name: str, parts: tuple[Any, ...], index: int) -> tuple[Any, ...] | None:
    kind = draw(st.sampled_from(["lost", "hidden", "unknown", "exchanged", "whole list"]))
    before, part, after = parts[:index], parts[index], parts[index + 1 :]
    if kind == "whole list":
        return None
    if kind == "lost":
        return (*before, *after)
    if kind == "hidden":
        return (*before, type(part)(slot=part.slot), *after)
    field = draw(st.sampled_from(sorted(DEMANDED[name])))
    is_unknown = kind == "unknown" and field not in MAY_BE_UNKNOWN
    return (*before, part.model_copy(update={field: None if is_unknown else DEMANDED[name][field]}), *after)


@given(harmed())
@settings(max_examples=150, deadline=None)
def test_a_harmed_machine_never_passes(report: HardwareReport) -> None:
    found = match(BLUEPRINT, report, NODE)
    assert found.verdict != "PASS"
    assert all(finding.hint and finding.source for finding in found.findings)


@given(harmed(), st.sampled_from([{"serial": "SYS1"}, {"wwn": "0x5000"}]))
@settings(max_examples=50, deadline=None)
def test_a_system_disk_named_in_the_rack_file_changes_nothing_about_it(
    report: HardwareReport, disk: dict[str, str]
) -> None:
    assert match(BLUEPRINT, report, node_with(system_disk=disk)).verdict != "PASS"


def test_the_unharmed_machine_passes() -> None:
    assert match(BLUEPRINT, REPORT, NODE).verdict == "PASS"
