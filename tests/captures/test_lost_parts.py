"""A part that a captured machine lost, or that is another one now, never passes the blueprint of the whole machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.captures.blueprints import blueprint_of, node_of
from tests.captures.conftest import load
from tests.captures.test_mutations import DamagedTree, read

from metalwright.errors import BmcRefusedError, RedfishError
from metalwright.matching import match
from metalwright.model.report import HardwareReport
from metalwright.redfish.inventory import read_reports

Harm = Literal["gone", "error", "absent", "exchanged"]
NUMBERS = ("CapacityMiB", "CapacityBytes", "PowerCapacityWatts", "TotalCores")
NAMES = {"Model": "NVIDIA T4", "Name": "NVIDIA T4", "PartNumber": "1EB8-000-A1"}
"""What another part in the same place would say: half of every number, and the name of another GPU."""

SEEN_ELSEWHERE = {("dell-r750", "gpus"): "PCIe device 23-0 shows the GPU too, without a serial number"}


@dataclass(frozen=True)
class Part:
    """One part of a machine: the resource that is it, or every object with its serial number."""

    uri: str | None = None
    serial: str | None = None

    def is_it(self, body: Mapping[str, Any], uri: str | None) -> bool:
        if self.serial is not None:
            return str(body.get("SerialNumber", "")).strip() == self.serial
        return uri is not None and uri.rstrip("/") == self.uri


class RobbedTree:
    """Serves a captured tree in which one part is gone or another one, wherever the BMC describes it."""

    def __init__(self, machine: str, part: Part, harm: Harm) -> None:
        self._tree, self._part, self._harm = load(machine), part, harm

    async def get(self, path: str) -> Mapping[str, Any]:
        body = dict(await self._tree.get(path))
        if not self._part.is_it(body, path):
            harmed = self._inside(body)
            assert isinstance(harmed, dict)
            return harmed
        if self._harm == "gone":
            raise BmcRefusedError("there is no such resource", where=f"GET {path}", status=404)
        return {"error": {"code": "Base.1.8.InternalError"}} if self._harm == "error" else self._other(body)

    def _inside(self, value: Any) -> Any:
        """Embedded objects of the part (power supplies, devices of SimpleStorage) are harmed too."""
        if isinstance(value, list):
            return [self._inside(item) for item in value]
        if not isinstance(value, dict):
            return value
        return self._other(value) if self._part.is_it(value, None) else {k: self._inside(v) for k, v in value.items()}

    def _other(self, body: Mapping[str, Any]) -> dict[str, Any]:
        if self._harm == "exchanged":
            smaller = {name: body[name] // 2 for name in NUMBERS if isinstance(body.get(name), int)}
            renamed = {name: value for name, value in NAMES.items() if name in body}
            return {**body, **smaller, **renamed, "SerialNumber": "OTHER7"}
        return {"@odata.id": body.get("@odata.id"), "Status": {"State": "Absent"}}


@cache
def whole(machine: str) -> tuple[HardwareReport, ...]:
    return tuple(asyncio.run(read_reports(load(machine))))


@cache
def parts_of(machine: str, system: str) -> tuple[Part, ...]:
    """The sockets and modules of a host by URI; its GPUs, drives and power supplies by serial number."""
    report = next(item for item in whole(machine) if item.system.id == system)
    found: list[Part] = []
    wanted: dict[str, Callable[[dict[str, Any]], bool]] = {"Processors": is_socket, "Memory": is_module}
    for name, is_part in wanted.items():
        listing = body_of(machine, f"/redfish/v1/Systems/{system}/{name}")
        uris = [member["@odata.id"].rstrip("/") for member in listing.get("Members", [])]
        found += [Part(uri=uri) for uri in uris if is_part(body_of(machine, uri))]
    rated = [psu for psu in report.psus or () if psu.watts is not None]
    gpus = report.gpus or () if (machine, "gpus") not in SEEN_ELSEWHERE else ()
    serials = [*(gpu.serial for gpu in gpus), *(d.serial for d in report.drives or ()), *(psu.serial for psu in rated)]
    return (*found, *(Part(serial=serial) for serial in serials if serial is not None))


def body_of(machine: str, uri: str) -> dict[str, Any]:
    try:
        return dict(asyncio.run(load(machine).get(uri)))
    except RedfishError:
        return {}


def is_socket(body: dict[str, Any]) -> bool:
    return body.get("ProcessorType") == "CPU" and "TotalCores" in body and not is_absent(body)


def is_module(body: dict[str, Any]) -> bool:
    return bool(body.get("CapacityMiB")) and not is_absent(body)


def is_absent(body: dict[str, Any]) -> bool:
    return (body.get("Status") or {}).get("State") == "Absent"


def codes(whole_report: HardwareReport, report: HardwareReport) -> set[str]:
    findings = match(blueprint_of(whole_report), report, node_of(whole_report)).findings
    return {finding.code for finding in findings}


def check(machine: str, system: str, part: Part, harm: Harm) -> None:
    before = next(item for item in whole(machine) if item.system.id == system)
    after = next(r for r in asyncio.run(read_reports(RobbedTree(machine, part, harm))) if r.system.id == system)
    new = codes(before, after) - codes(before, before)
    assert new, f"{part} is {harm}, and nothing new is found"
    if harm == "error":  # a supply inside another answer cannot answer an error: it is absent there
        known = {code for code in new if not code.startswith("unknown-")} - {"system-disk", "psu-count"}
        assert known == set(), f"{part} cannot be read, and that is told as a contradiction"


@given(data=st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_part_that_is_lost_or_exchanged_is_always_found(
    machine: str, host_truth: dict[str, Any], data: st.DataObject
) -> None:
    system = host_truth["uri"].rstrip("/").rpartition("/")[2]
    parts = parts_of(machine, system)
    assert parts
    check(machine, system, data.draw(st.sampled_from(parts)), data.draw(st.sampled_from(get_args(Harm))))


@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_around_it_never_hides_a_lost_part(
    machine: str, host_truth: dict[str, Any], data: st.DataObject, seed: int
) -> None:
    system = host_truth["uri"].rstrip("/").rpartition("/")[2]
    part, harm = data.draw(st.sampled_from(parts_of(machine, system))), data.draw(st.sampled_from(get_args(Harm)))
    before = next(item for item in whole(machine) if item.system.id == system)
    for report in read(DamagedTree(RobbedTree(machine, part, harm), seed, 0.02)) or ():
        if report.system.id == system:
            assert match(blueprint_of(before), report, node_of(before)).verdict != "PASS"
