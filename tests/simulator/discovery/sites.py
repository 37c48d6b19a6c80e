"""A small site on disk, and the command line run over it: in this process, or in one of its own as a person would."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ruamel.yaml import YAML

from metalwright.cli.app import run
from metalwright.simulator.running import RunningService
from metalwright.simulator.spec import BmcSpec, DiskSpec, MachineSpec

GIB = 1024**3
PREFIX = "127.85.0.0/16"
SECRET_WORDS = ("factory-secret", "wrong-secret")

BLUEPRINT: dict[str, Any] = {
    "schema": 1,
    "name": "lab-vm",
    "version": "1.0.0",
    "class": {"role": "lab", "owner": "lab", "why": "tests"},
    "hardware": {
        "system": {"manufacturer": "metalwright", "models": ["Lab VM"]},
        "cpus": {"count": 1},
        "memory": {"total_gib": 1},
        "nics": [{"role": "host", "count": 1, "link": "ethernet"}],
        "drives": [{"role": "system", "count": 1, "min_bytes": GIB, "protocol": "NVMe"}],
    },
    "image": {"name": "debian-12", "version": "1", "file_sha256": "0" * 63 + "1"},
    "acceptance": [{"test": "cpu-hash", "record": True}],
}


def machine(number: int, **changes: Any) -> MachineSpec:
    """A memory machine with its own serial, UUID and MACs."""
    values = {
        "name": f"lab-{number}",
        "serial": f"LAB{number:04d}X",
        "uuid": f"6d657461-6c77-4269-8000-00000000000{number}",
        "memory_mib": 1024,
        "disks": (DiskSpec(serial=f"DISK{number}X", size_bytes=2 * GIB),),
        "bmc": BmcSpec(macs=(f"52:54:00:bc:00:0{number}",)),
    }
    return MachineSpec.model_validate({**values, **changes})


def node_of(spec: MachineSpec, **changes: Any) -> dict[str, Any]:
    """The rack file's entry of a machine."""
    values = {"name": spec.name, "serial": spec.serial, "uuid": spec.uuid, "blueprint": "lab-vm@1.0.0"}
    return {**values, "bmc_mac": spec.bmc.macs[0], **changes}


@dataclass(frozen=True)
class Run:
    """What one command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.out, self.err
        return json.loads(self.out)


@dataclass(frozen=True)
class SiteOnDisk:
    """A site repository in a temporary folder."""

    root: Path

    def run(self, *words: str, factory: str = "factory-secret", **environment: str) -> Run:
        """Run ``metalwright`` on this site; no secret may be in what it prints."""
        return run_cli("--site", str(self.root), *words, FACTORY=factory, **environment)


def run_cli(*words: str, **environment: str) -> Run:
    """Run ``metalwright`` here, with only these METALWRIGHT variables."""
    out, err = io.StringIO(), io.StringIO()
    with patch.dict(os.environ, environment_of(environment), clear=True), redirect_stdout(out), redirect_stderr(err):
        code = run(list(words))
    return _without_secrets(Run(code, out.getvalue(), err.getvalue()))


def run_process(*words: str, **environment: str) -> Run:
    """As :func:`run_cli`, in a process of its own."""
    command = [sys.executable, "-m", "metalwright.cli", *words]
    settings: dict[str, Any] = {"env": environment_of(environment), "timeout": 100, "stdin": subprocess.DEVNULL}
    done = subprocess.run(command, capture_output=True, text=True, **settings)
    return _without_secrets(Run(done.returncode, done.stdout, done.stderr))


def environment_of(variables: dict[str, str]) -> dict[str, str]:
    """This environment without METALWRIGHT variables, and with those given."""
    return {key: value for key, value in os.environ.items() if not key.startswith("METALWRIGHT")} | variables


def _without_secrets(run: Run) -> Run:
    for word in SECRET_WORDS:
        assert word not in run.out + run.err
    return run


def make_site(root: Path, nodes: Sequence[dict[str, Any]], port: int = 443, **redfish: Any) -> SiteOnDisk:
    """Write the files of a site with one rack; without nodes, one that is nowhere to be found stands in it.

    ``redfish`` replaces settings of that name.
    """
    nodes = nodes or [node_of(machine(9), name="lab-9", state="spare")]
    site = {
        "schema": 1,
        "name": "lab",
        "domain": "lab.test",
        "ntp": ["127.0.0.1"],
        "factory_credentials": [{"user": "admin", "password": "env:FACTORY"}],
        "redfish": {"port": port, "connect_timeout_s": 5, "read_timeout_s": 10, "bmc_deadline_s": 60, **redfish},
        "boot_server": {"address_for_bmc": "127.0.0.1", "address_for_node": "10.1.0.2"},
        "admins": [{"name": "operator", "authorized_keys": ["ssh-ed25519 AAAA test"]}],
    }
    networks = [
        {"name": "oob", "purpose": "oob-management", "prefix": PREFIX},
        {"name": "hosts", "purpose": "host-management", "prefix": "10.1.0.0/24"},
    ]
    files: dict[str, Any] = {
        "inventory/site.yaml": site,
        "inventory/networks.yaml": {"schema": 1, "networks": networks},
        "inventory/racks/r1.yaml": {"schema": 1, "name": "r1", "site": "lab", "nodes": list(nodes)},
        "blueprints/lab-vm/1.0.0.yaml": BLUEPRINT,
    }
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        YAML().dump(content, path)
    return SiteOnDisk(root)


def logins_at(service: RunningService) -> list[str]:
    """The logins that a BMC saw, by its own log: ``LoginSucceeded`` and ``LoginRefused`` in order."""
    return [event.kind for event in service.system.log.entries if event.kind.startswith("Login")]


def port_of(service: RunningService) -> int:
    """The port that the BMC listens on."""
    return int(service.url.rpartition(":")[2])
