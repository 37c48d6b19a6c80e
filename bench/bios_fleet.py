"""A BIOS profile for a fleet of which one BMC in twenty misbehaves: who is right, who is named, what it costs.

    python -m bench.bios_fleet                 500 BMCs, 25 of them faulty in twenty different ways
    python -m bench.bios_fleet --count 100

One run of the real pyinfra over all of them. The good ones must have the profile in force, each faulty one must be
named with cause and next action; anything else ends with exit 1. CPU and memory are those of pyinfra with its
connector, not of the simulator.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.fleet import Bmc, Fleet, running_fleet
from metalwright.secrets.sticker_file import Sticker
from metalwright.secrets.value import Secret
from metalwright.starter.site import create_site
from metalwright.workspace import open_workspace

WANTED = {"SR_IOVSupport": "Enabled", "Re_SizeBARSupport": "Enabled", "SNCSubNUMA": "Disable"}
SETTINGS, BIOS, RESET = r"/Bios/SD$", r"/Bios$", r"ComputerSystem\.Reset$"
_REGISTRY = r"BiosAttributeRegistry.*\.json$"


def _rule(method: str | None, path: str, **do: Any) -> dict[str, Any]:
    return {"name": "rule", "method": method, "path": path, "do": do}


FAULTS: tuple[dict[str, Any], ...] = (
    {"name": "unreachable"},
    {"name": "handshake-closed"},
    {"name": "connection-silent"},
    _rule("POST", r"/Sessions$", status=503, message="Base.1.18.SessionLimitExceeded"),
    _rule("POST", r"/Sessions$", status=401, message="Base.1.18.NoValidSession"),
    _rule("GET", BIOS, status=500),
    _rule("GET", BIOS, status=404),
    _rule("GET", BIOS, status=200, body="<html>busy</html>", content_type="text/html"),
    _rule("GET", BIOS, edit=[{"at": "/Attributes", "drop": True}]),
    _rule("GET", SETTINGS, status=404),
    _rule("PATCH", SETTINGS, status=503),
    _rule("PATCH", SETTINGS, status=400, message="IDRAC.2.8.SYS011"),
    _rule("PATCH", SETTINGS, status=403, message="Base.1.18.InsufficientPrivilege"),
    _rule("PATCH", SETTINGS, request=[{"at": "/Attributes/SR_IOVSupport", "drop": True}]),
    _rule("PATCH", SETTINGS, close="before"),
    {"name": "bios-ignored"},
    {"name": "reset-ignored"},
    _rule("POST", RESET, status=400, message="Base.1.18.ActionParameterNotSupported"),
    _rule("GET", r"/Systems/[^/]+$", edit=[{"at": "/SerialNumber", "set": "ANOTHER"}, {"at": "/UUID", "drop": True}]),
    _rule("GET", _REGISTRY, edit=[{"at": "/RegistryEntries/Attributes/*/ReadOnly", "set": True}]),
)
"""Twenty ways to misbehave."""

_SITE = """\
schema: 1
name: fleet
domain: fleet.example
ntp: [10.0.0.1]
redfish: {connect_timeout_s: 10, read_timeout_s: 60}
boot_server: {address_for_bmc: 127.94.0.1, address_for_node: 127.94.0.1}
limits: {parallel_nodes: 500}
admins: [{name: op, authorized_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGHcvJ2rfQg1Ynn3xZ0tLlVV0V1GfC7G8gRr op]}]
"""
_NETWORKS = """\
schema: 1
networks:
  - {name: oob, purpose: oob-management, prefix: 127.94.64.0/18}
  - {name: hosts, purpose: host-management, prefix: 10.1.0.0/16}
"""


@dataclass(frozen=True)
class Result:
    """What came out. ``unexplained`` are faulty BMCs without cause or next action, ``wrong`` good ones not right."""

    bmcs: int
    faulty: int
    right: int
    wrong: tuple[str, ...]
    named: int
    unexplained: tuple[str, ...]
    wall_s: float
    cpu_s_per_bmc: float
    peak_mib: float
    requests_per_bmc: float
    load_before: float


def make_site(root: Path, fleet: Fleet, truths: Mapping[str, Any]) -> dict[str, Bmc]:
    """Write the site; returns the BMC of each node."""
    nodes = {f"n{number:04d}": bmc for number, bmc in enumerate(fleet.bmcs, 1)}
    lines = [f"  - {{name: {name}, {_identity(bmc, truths)}, blueprint: fleet@1.0.0}}" for name, bmc in nodes.items()]
    rack = "schema: 1\nname: r1\nsite: fleet\nnodes:\n" + "\n".join(lines) + "\n"
    create_site(root, inventory={"site.yaml": _SITE, "networks.yaml": _NETWORKS, "racks/r1.yaml": rack})
    text = (root / "blueprints/lab-vm/1.0.0.yaml").read_text(encoding="utf-8")
    begin = text.index("\nbios:")
    end = text.index("\n\n", begin)
    wanted = "".join(f"    {name}: {value}\n" for name, value in WANTED.items())
    text = f"{text[:begin]}\nbios:\n  registry: fleet/none\n  attributes:\n{wanted}{text[end:]}"
    path = root / "blueprints/fleet/1.0.0.yaml"
    path.parent.mkdir()
    path.write_text(text.replace("name: lab-vm", "name: fleet", 1), encoding="utf-8")
    with open_workspace(root) as site:
        site.bmc_credentials.stickers.add(_sticker(bmc, truths) for bmc in fleet.bmcs)
    return nodes


def _sticker(bmc: Bmc, truths: Mapping[str, Any]) -> Sticker:
    system = truths[_host(bmc)][0]["system"]
    return Sticker(serial=system["serial"], mac=None, user=bmc.user, password=Secret(bmc.password))


def _identity(bmc: Bmc, truths: Mapping[str, Any]) -> str:
    host, _, port = bmc.url.removeprefix("https://").partition(":")
    system = truths[host][0]["system"]
    return f"serial: {system['serial']}, uuid: {system['uuid']}, bmc_address: {host}, bmc_port: {port}"


def measure(count: int, faulty_count: int, wait_s: int) -> Result:
    """Run it once."""
    with tempfile.TemporaryDirectory() as folder, running_fleet(count, 0, 0) as fleet:
        bad = _misbehave(fleet, faulty_count)
        truths = {_host(bmc): fleet.get(f"/bmcs/{_host(bmc)}/truth") for bmc in fleet.bmcs}
        nodes = make_site(Path(folder) / "site", fleet, truths)
        load, before, begun = os.getloadavg()[0], fleet.counters()["requests"], time.monotonic()
        done = _pyinfra(Path(folder) / "site", wait_s)
        wall_s = time.monotonic() - begun
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        (Path(__file__).parent / "results").mkdir(exist_ok=True)
        (Path(__file__).parent / "results/bios_fleet.log").write_text(done.stderr, encoding="utf-8")
        faulty = [name for name, bmc in nodes.items() if _host(bmc) in bad]
        wrong = [name for name, bmc in nodes.items() if name not in faulty and not _is_right(fleet, bmc)]
        unexplained = [name for name in faulty if not _is_explained(done.stderr, name)]
        return Result(
            bmcs=count,
            faulty=len(faulty),
            right=count - len(faulty) - len(wrong),
            wrong=tuple(wrong),
            named=len(faulty) - len(unexplained),
            unexplained=tuple(unexplained),
            wall_s=round(wall_s, 1),
            cpu_s_per_bmc=round((usage.ru_utime + usage.ru_stime) / count, 3),
            peak_mib=round(usage.ru_maxrss / 1024, 1),
            requests_per_bmc=round((fleet.counters()["requests"] - before) / count, 1),
            load_before=round(load, 2),
        )


def _misbehave(fleet: Fleet, count: int) -> dict[str, str]:
    """Address → fault of the BMCs that misbehave, spread over the fleet."""
    step = len(fleet.bmcs) // count
    bad = {}
    for number in range(count):
        fault, address = FAULTS[number % len(FAULTS)], _host(fleet.bmcs[number * step])
        fleet.post(f"/bmcs/{address}/faults", fault)
        bad[address] = fault["name"]
    return bad


def _pyinfra(site: Path, wait_s: int) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("pyinfra")), "-y", "--json", "--data", f"bios_wait_s={wait_s}"]
    return subprocess.run(
        [*command, "inventory/bmcs.py", "deploys/bios.py"],
        cwd=site,
        env={**os.environ, "PYINFRA_PROGRESS": "off"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _host(bmc: Bmc) -> str:
    return bmc.url.removeprefix("https://").partition(":")[0]


def _is_right(fleet: Fleet, bmc: Bmc) -> bool:
    bios = fleet.get(f"/bmcs/{_host(bmc)}")["bios"]
    return all(bios.get(name) == value for name, value in WANTED.items())


def _is_explained(text: str, node: str) -> bool:
    """Whether the node has an error with a cause and a next action; lines without a name go on with the last one."""
    said, is_here = [], False
    for line in text.splitlines():
        is_here = f"[{node}]" in line if line.lstrip().startswith("[") else is_here
        said += [line] if is_here else []
    whole = "\n".join(said)
    return "hint:" in whole and re.search(r"unexpected \w+Error", whole) is None


def main() -> int:
    """Print the result as JSON; exit 1 unless every BMC is right or named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--faulty", type=int, help="how many misbehave; one in twenty")
    parser.add_argument("--wait-s", type=int, default=20)
    options = parser.parse_args()
    result = measure(options.count, options.faulty or max(1, options.count // 20), options.wait_s)
    print(json.dumps(asdict(result), indent=2))
    return 1 if result.wrong or result.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
