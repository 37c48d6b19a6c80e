"""Twelve kinds of wrong server, word for word as the technician reads them; the texts stand in wrong_servers.txt."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.unit.matching.machines import BLUEPRINT, NODE, REPORT, node_with, report_with

from metalwright.cli.match_text import print_match
from metalwright.matching import match
from metalwright.model.finding import MatchResult
from metalwright.model.rack import Node
from metalwright.model.report import HardwareReport, MemoryFacts, NicPort

SNAPSHOTS = Path(__file__).with_name("wrong_servers.txt")
DIMMS, GPUS, CPUS = REPORT.memory.dimms or (), REPORT.gpus or (), REPORT.cpus or ()
NICS, DRIVES, PSUS = REPORT.nics or (), REPORT.drives or (), REPORT.psus or ()
FABRIC_MACS = [f"94:6d:ae:00:00:0{n}" for n in range(8)]


def changed(parts: tuple[Any, ...], index: int, **values: Any) -> tuple[Any, ...]:
    return (*parts[:index], parts[index].model_copy(update=values), *parts[index + 1 :])


def without(parts: tuple[Any, ...], index: int) -> tuple[Any, ...]:
    return (*parts[:index], *parts[index + 1 :])


def memory(dimms: tuple[Any, ...]) -> MemoryFacts:
    return MemoryFacts(total_gib=sum(dimm.size_gib for dimm in dimms), dimms=dimms)


def port(speed_gbps: float, link: str, mac: str | None = None) -> tuple[NicPort, ...]:
    return (NicPort.model_validate({"name": "1", "mac": mac, "speed_gbps": speed_gbps, "link": link}),)


def system(**values: Any) -> HardwareReport:
    return report_with(system=REPORT.system.model_copy(update=values))


def with_macs() -> HardwareReport:
    """The fabric cards with MACs of their own, and a host card that nobody declared."""
    fabric = tuple(
        nic.model_copy(update={"ports": port(400, "infiniband", mac)})
        for nic, mac in zip(NICS[:8], FABRIC_MACS, strict=True)
    )
    host = [NicPort(name=str(n), mac=f"3c:ec:ef:00:00:0{n}", speed_gbps=10, link="ethernet") for n in (1, 2)]
    return report_with(nics=(*fabric, NICS[8].model_copy(update={"ports": tuple(host)})))


WRONG: Mapping[str, HardwareReport] = {
    "a DIMM is missing": report_with(memory=memory(without(DIMMS, 4))),
    "a DIMM of another size": report_with(memory=memory(changed(DIMMS, 4, size_gib=32.0, part_number="M393A4"))),
    "7 of 8 GPUs": report_with(gpus=GPUS[:7]),
    "a GPU of another model": report_with(gpus=changed(GPUS, 2, model="NVIDIA A100 SXM4 80GB")),
    "a NIC that is too slow": report_with(nics=changed(NICS, 3, model="CX6", ports=port(200, "infiniband"))),
    "a NIC in the wrong mode": report_with(nics=changed(NICS, 3, ports=port(400, "ethernet"))),
    "a NIC is missing": report_with(nics=without(NICS, 3)),
    "another NIC than the declared one": with_macs(),
    "a drive is missing": report_with(drives=without(DRIVES, 4)),
    "a drive that is too small": report_with(drives=changed(DRIVES, 4, size_bytes=3_840_755_982_336, model="PM9A3")),
    "a drive of another protocol": report_with(drives=changed(DRIVES, 4, protocol="SATA", model="PM893")),
    "a power supply is missing": report_with(psus=without(PSUS, 3)),
    "another CPU model": report_with(cpus=changed(CPUS, 1, model="Intel(R) Xeon(R) Platinum 8468", cores=48)),
    "cores are switched off": report_with(cpus=changed(CPUS, 1, enabled_cores=16)),
    "another system model": system(model="SYS-421GE-TNRT"),
    "another serial number": system(serial="OTHER77"),
    "the host is off": system(power_state="Off").model_copy(
        update={"cpus": None, "memory": MemoryFacts(), "gpus": None, "nics": None, "drives": None}
    ),
    "the BMC shows no power supplies": report_with(psus=None),
}


def node(name: str) -> Node:
    declared = ({"mac": f"7c:c2:55:00:00:0{n}", "role": "host"} for n in (1, 2))
    return node_with(ports=tuple(declared)) if name == "another NIC than the declared one" else NODE


def result(name: str) -> MatchResult:
    return match(BLUEPRINT, WRONG[name], node(name))


def told(name: str) -> str:
    out = io.StringIO()
    print_match(Console(file=out, width=120), result(name))
    return out.getvalue()


def snapshots() -> dict[str, str]:
    blocks = re.split(r"^# (.+)\n", SNAPSHOTS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {name: text.rstrip("\n") + "\n" for name, text in zip(blocks[::2], blocks[1::2], strict=True)}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_server_is_told_word_for_word(name: str) -> None:
    assert told(name) == snapshots()[name]


@pytest.mark.parametrize("name", WRONG)
def test_no_wrong_server_passes_and_every_finding_says_what_to_do(name: str) -> None:
    found = result(name)
    assert found.verdict == ("DEFERRED" if name.startswith("the ") else "FAIL")
    assert all(item.expected and item.found and item.hint and item.source for item in found.findings)


def test_one_wrong_part_is_one_finding() -> None:
    counts = {name: len(result(name).findings) for name in WRONG if name != "the host is off"}
    assert {name: count for name, count in counts.items() if count != 1} == {"another NIC than the declared one": 2}
