"""A site of simulated machines, each with a blueprint and misbehaviour of its own, for one pyinfra run over all."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.operations.redfish.site import FACTORY_PASSWORD, NETWORKS, SITE, LabSite, PyinfraRun

from metalwright.loading.locks import write_addresses
from metalwright.model.addresses import AddressLock, Allocation
from metalwright.simulator.running import RunningService, service_in_thread
from metalwright.simulator.service.traffic import Record
from metalwright.simulator.spec import BmcSpec, MachineSpec
from metalwright.starter.site import create_site, skeleton_root

SHORT_WAIT = ("--data", "bios_wait_s=2")
Misbehave = Callable[[RunningService], object]


@dataclass(frozen=True)
class Case:
    """One machine: the attributes that its blueprint declares, its maker, and how it misbehaves."""

    attributes: Mapping[str, Any]
    oem: str = ""
    misbehave: Misbehave | None = None


@dataclass
class Fleet:
    """The running site. ``runs`` are those of pyinfra so far, ``marks`` what each BMC had seen before each."""

    site: LabSite
    runs: list[PyinfraRun] = field(default_factory=list)
    marks: list[dict[str, int]] = field(default_factory=list)

    def run(self, *arguments: str) -> PyinfraRun:
        """Run the deploy of the BIOS once more, on every machine unless limited."""
        self.marks.append({name: machine.bmc.traffic.total for name, machine in self.site.machines.items()})
        done = self.site.pyinfra("inventory/bmcs.py", "deploys/bios.py", *arguments)
        self.runs.append(done)
        return done

    def said(self, node: str, run: int = -1) -> str:
        """What pyinfra printed about a machine."""
        return "\n".join(line for line in self.runs[run].text.splitlines() if f"[{node}]" in line)

    def writes(self, node: str, run: int | None = None) -> list[Record]:
        """The writes that a BMC saw, logins left out: of all runs, or of one."""
        begin = 0 if run is None else self.marks[run][node]
        is_last = run is None or run + 1 >= len(self.marks)
        end = None if is_last else self.marks[(run or 0) + 1][node]
        return [
            record
            for record in self.site.machines[node].bmc.traffic.records
            if record.method != "GET"
            and "/Sessions" not in record.path
            and record.number > begin
            and (end is None or record.number <= end)
        ]

    def steps(self, node: str, run: int | None = None) -> list[str]:
        """The writes in short: ``PATCH``, ``Reset``, ``POST Jobs`` …"""
        return [_short(record) for record in self.writes(node, run)]

    def patched(self, node: str, run: int | None = None) -> list[dict[str, Any]]:
        """The attributes of each PATCH of the settings."""
        return [record.body["Attributes"] for record in self.writes(node, run) if record.method == "PATCH"]

    def bios(self, node: str) -> Mapping[str, Any]:
        """What is in force."""
        return self.site.machines[node].system.state.bios

    def is_ok(self, node: str, run: int = -1) -> bool:
        """Whether the run ended well on the machine."""
        results = self.runs[run].results
        return node not in results["failed_hosts"] and not any(node in item["error"] for item in results["operations"])


def _short(record: Record) -> str:
    if record.path.endswith("ComputerSystem.Reset"):
        return "Reset"
    return record.method if record.method == "PATCH" else f"{record.method} {record.path.rsplit('/', 1)[-1]}"


@contextmanager
def fleet_of(root: Path, cases: Mapping[str, Case], prefix: str) -> Iterator[Fleet]:
    """Make the site and start the machines on ``prefix``.1, .2, …; their names are the keys of ``cases``."""
    with ExitStack() as stack:
        machines: dict[str, RunningService] = {}
        for index, (name, case) in enumerate(cases.items(), 1):
            machines[name] = stack.enter_context(service_in_thread(_spec(name, index, case), f"{prefix}.{index}"))
            if case.misbehave is not None:
                case.misbehave(machines[name])
        create_fleet_site(root, machines, {name: case.attributes for name, case in cases.items()}, prefix)
        yield Fleet(LabSite(root, machines, {"FACTORY_PASSWORD": FACTORY_PASSWORD}))


def create_fleet_site(
    root: Path, machines: Mapping[str, RunningService], attributes: Mapping[str, Mapping[str, Any]], prefix: str
) -> None:
    """A site repository in which each machine has a blueprint of its own name."""
    nodes = "".join(_node(service) for service in machines.values())
    rack = f"schema: 1\nname: rack-1\nsite: lab\nnodes:\n{nodes}"
    management = f"{prefix.rsplit('.', 1)[0]}.64"
    networks = NETWORKS.replace("127.83.64", management)
    create_site(root, inventory={"site.yaml": SITE, "networks.yaml": networks, "racks/rack-1.yaml": rack})
    for name, wanted in attributes.items():
        _write_blueprint(root, name, wanted)
    allocations = tuple(
        Allocation(address=f"{management}.{index}", network="oob", node=name) for index, name in enumerate(machines, 10)
    )
    write_addresses(root / "inventory" / "addresses.lock", AddressLock(allocations=allocations))


def _spec(name: str, index: int, case: Case) -> MachineSpec:
    bmc = BmcSpec.model_validate({"macs": (f"52:54:00:b1:00:{index:02x}",), "oem": case.oem})
    identity = str(uuid.UUID(int=0x62696F73000000000000000000000000 + index))
    return MachineSpec(name=name, serial=f"BIOS{index:04}", uuid=identity, bmc=bmc)


def _node(service: RunningService) -> str:
    spec, where = service.spec, urlsplit(service.url)
    return (
        f"  - name: {spec.name}\n    serial: {spec.serial}\n    uuid: {spec.uuid}\n"
        f'    bmc_mac: "{spec.bmc.macs[0]}"\n    blueprint: {spec.name}@1.0.0\n'
        f"    bmc_address: {where.hostname}\n    bmc_port: {where.port}\n"
    )


def _write_blueprint(root: Path, name: str, attributes: Mapping[str, Any]) -> None:
    text = (skeleton_root() / "blueprints/lab-vm/1.0.0.yaml").read_text(encoding="utf-8")
    begin, end = text.index("  attributes:\n"), text.index("\nboot:")
    lines = "".join(f"    {key}: {_yaml(value)}\n" for key, value in attributes.items())
    text = text[:begin] + "  attributes:\n" + lines + text[end:]
    path = root / "blueprints" / name / "1.0.0.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text.replace("name: lab-vm", f"name: {name}", 1), encoding="utf-8")


def _yaml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)
