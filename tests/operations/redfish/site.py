"""A site of simulated machines, and the real pyinfra as a child process on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from metalwright.loading.locks import write_addresses
from metalwright.loading.repository import load_site
from metalwright.model.addresses import AddressLock, Allocation
from metalwright.simulator.running import RunningService, service_in_thread
from metalwright.simulator.spec import BmcSpec, MachineSpec
from metalwright.starter.site import create_site
from metalwright.workspace import Workspace, workspace_at

FACTORY_PASSWORD = "factory-secret"
SITE = """schema: 1
name: lab
domain: lab.test
ntp: [ntp.lab.test]
factory_credentials: [{user: admin, password: "env:FACTORY_PASSWORD"}]
redfish: {connect_timeout_s: 5, read_timeout_s: 20}
boot_server: {address_for_bmc: 127.83.9.1, address_for_node: 127.83.9.1}
admins:
  - name: operator
    authorized_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKHNcCyfQaIsYvj5Vs28P/uiJ5XBlQSJVoZP3faZZXyS replace-me]
"""
NETWORKS = """schema: 1
networks:
  - {name: oob, purpose: oob-management, prefix: 127.83.64.0/24}
  - {name: hosts, purpose: host-management, prefix: 10.99.0.0/24, gateway: 10.99.0.1}
"""


@dataclass
class PyinfraRun:
    """One finished pyinfra process."""

    code: int
    stdout: str
    stderr: str

    @property
    def text(self) -> str:
        """Everything that it printed."""
        return self.stdout + self.stderr

    @property
    def results(self) -> dict[str, Any]:
        """The results of a ``--json`` run."""
        results: dict[str, Any] = json.loads(self.stdout.strip().splitlines()[-1])["results"]
        return results

    @property
    def changed(self) -> set[str]:
        """Names of the operations that changed a host."""
        return {item["name"].split(" | ")[-1] for item in self.results["operations"] if item["success"]}


@dataclass
class LabSite:
    """A site repository whose nodes are simulated machines."""

    root: Path
    machines: dict[str, RunningService]
    environment: dict[str, str]

    def pyinfra(self, *arguments: str, **environment: str) -> PyinfraRun:
        """Run pyinfra in the site, never reading from a terminal."""
        return run_pyinfra(self.root, arguments, {**self.environment, **environment})

    def deploy(self, name: str, *arguments: str, **environment: str) -> PyinfraRun:
        """Run a deploy of the site with ``-y --json``."""
        return self.pyinfra("-y", "--json", "inventory/bmcs.py", f"deploys/{name}.py", *arguments, **environment)

    def workspace(self) -> Workspace:
        """What the connector opens, opened here."""
        os.environ.setdefault("FACTORY_PASSWORD", FACTORY_PASSWORD)
        return workspace_at(self.root, load_site(self.root))

    def grant(self, node: str) -> None:
        """Give the node a grant for the image that its blueprint pins."""
        workspace = self.workspace()
        image, valid_for = workspace.blueprint(node).image.file_sha256, timedelta(hours=1)
        with workspace.journal as journal:
            journal.grants.make(node, image_sha256=image, plan="test", how="typed", valid_for=valid_for)

    def writes(self, node: str) -> list[str]:
        """``METHOD path`` of the writes that the machine's BMC saw, sessions left out."""
        events = self.machines[node].system.log.of_kind("Request")
        return [f"{event.args[0]} {event.args[1]}" for event in events if "/Sessions" not in event.args[1]]

    def open_sessions(self) -> int:
        """Sessions that are open on all BMCs."""
        return sum(len(machine.bmc.gate.sessions) for machine in self.machines.values())


def run_pyinfra(cwd: Path, arguments: tuple[str, ...], environment: Mapping[str, str]) -> PyinfraRun:
    """Run pyinfra to its end."""
    program = Path(sys.executable).with_name("pyinfra")
    done = subprocess.run(
        [str(program), *arguments],
        cwd=cwd,
        env={**os.environ, "PYINFRA_PROGRESS": "off", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return PyinfraRun(done.returncode, done.stdout, done.stderr)


def spec_of(index: int, *, bmc_changes: Mapping[str, Any] | None = None, **changes: Any) -> MachineSpec:
    """The machine of node ``lab-<index>``."""
    bmc = BmcSpec(macs=(f"52:54:00:bc:00:0{index}",), **(bmc_changes or {}))
    return MachineSpec(
        name=f"lab-{index}",
        serial=f"LAB000{index}",
        uuid=str(uuid.UUID(int=0x6D6574616C6C000000000000000000 + index)),
        bmc=bmc,
        **changes,
    )


@contextmanager
def lab_site(
    root: Path, count: int, octet: int, *, prefix: str = "127.83", site: str = "", **changes: Any
) -> Iterator[LabSite]:
    """A site of ``count`` machines in memory whose BMCs listen on <prefix>.<octet>.0/24.

    ``site`` are further lines of its ``site.yaml``.
    """
    with ExitStack() as stack:
        machines = {}
        nodes = []
        for index in range(1, count + 1):
            spec = spec_of(index, **changes)
            service = stack.enter_context(service_in_thread(spec, f"{prefix}.{octet}.{index}"))
            machines[spec.name] = service
            nodes.append(_node_lines(spec, service))
        networks = NETWORKS.replace("127.83.64.", f"{prefix}.64.")
        create_site(
            root, inventory={"site.yaml": SITE + site, "networks.yaml": networks, "racks/rack-1.yaml": _rack(nodes)}
        )
        allocations = [
            Allocation(address=f"{prefix}.64.{octet + index}", network="oob", node=f"lab-{index}")
            for index in range(1, count + 1)
        ]
        write_addresses(root / "inventory" / "addresses.lock", AddressLock(allocations=tuple(allocations)))
        yield LabSite(root, machines, {"FACTORY_PASSWORD": FACTORY_PASSWORD})


def _rack(nodes: list[str]) -> str:
    return "schema: 1\nname: rack-1\nsite: lab\nnodes:\n" + "".join(nodes)


def _node_lines(spec: MachineSpec, service: RunningService) -> str:
    where = urlsplit(service.url)
    return (
        f"  - name: {spec.name}\n    serial: {spec.serial}\n    uuid: {spec.uuid}\n"
        f'    bmc_mac: "{spec.bmc.macs[0]}"\n    blueprint: lab-vm@1.0.0\n'
        f"    bmc_address: {where.hostname}\n    bmc_port: {where.port}\n"
    )
