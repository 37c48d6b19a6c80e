"""A BIOS profile for a fleet of which one BMC in twenty misbehaves: who is right, who is named, what it costs.

    python -m bench.bios_fleet                 500 BMCs, 25 of them faulty in twenty different ways
    python -m bench.bios_fleet --count 100

One run of the real pyinfra over all of them. The good ones must have the profile in force, each faulty one must be
named with its own cause and next action (:mod:`bench.bios_faults`); anything else ends with exit 1. CPU and memory are
those of pyinfra with its connector, not of the simulator. The result goes to ``bench/results/bios-fleet-COUNT.json``.
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
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.bios_faults import FAULTS, SpoiltBios
from bench.fleet import Bmc, Fleet, running_fleet
from metalwright.secrets.sticker_file import Sticker
from metalwright.secrets.value import Secret
from metalwright.starter.site import create_site
from metalwright.workspace import open_workspace

RESULTS = Path(__file__).parent / "results"
WANTED = {"SR_IOVSupport": "Enabled", "Re_SizeBARSupport": "Enabled", "SNCSubNUMA": "Disable"}
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
    """What came out. ``right`` are good BMCs with the profile in force, ``wrong`` the other good ones.

    ``named`` are faulty ones with their own cause and next action, ``unexplained`` the others with what is missing;
    ``causes`` counts the named ones by what was wrong; ``accused`` are good ones that an error was printed about.
    """

    bmcs: int
    faulty: int
    right: int
    wrong: tuple[str, ...]
    named: int
    unexplained: tuple[str, ...]
    accused: tuple[str, ...]
    causes: Mapping[str, int]
    wait_s: int
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
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "bios_fleet.log").write_text(done.stderr, encoding="utf-8")
        faulty = {name: bad[_host(bmc)] for name, bmc in nodes.items() if _host(bmc) in bad}
        good = {name: bmc for name, bmc in nodes.items() if name not in faulty}
        said = by_node(done.stderr)
        wrong = [name for name, bmc in good.items() if not _is_right(fleet, bmc)]
        missing = {name: spoilt.missing(said.get(name, "")) for name, spoilt in faulty.items()}
        causes = Counter(spoilt.name for name, spoilt in faulty.items() if missing[name] is None)
        return Result(
            bmcs=count,
            faulty=len(faulty),
            right=len(good) - len(wrong),
            wrong=tuple(wrong),
            named=causes.total(),
            unexplained=tuple(f"{name} ({faulty[name].name}): {lack}" for name, lack in missing.items() if lack),
            accused=tuple(name for name in good if "hint:" in said.get(name, "")),
            causes=dict(causes),
            wait_s=wait_s,
            wall_s=round(wall_s, 1),
            cpu_s_per_bmc=round((usage.ru_utime + usage.ru_stime) / count, 3),
            peak_mib=round(usage.ru_maxrss / 1024, 1),
            requests_per_bmc=round((fleet.counters()["requests"] - before) / count, 1),
            load_before=round(load, 2),
        )


def _misbehave(fleet: Fleet, count: int) -> dict[str, SpoiltBios]:
    """Address → fault of the BMCs that misbehave, spread over the fleet."""
    step = len(fleet.bmcs) // count
    bad = {}
    for number in range(count):
        spoilt, address = FAULTS[number % len(FAULTS)], _host(fleet.bmcs[number * step])
        fleet.post(f"/bmcs/{address}/faults", spoilt.fault)
        bad[address] = spoilt
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


def by_node(text: str) -> dict[str, str]:
    """What was printed about each node; lines without a name go on with the last one."""
    said: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        found = re.match(r"\s*\[(\w+)\]", line)
        name = found[1] if found else name
        said.setdefault(name, []).append(line)
    return {name: "\n".join(lines) for name, lines in said.items()}


def main() -> int:
    """Print and keep the result as JSON; exit 1 unless every BMC is right or named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--faulty", type=int, help="how many misbehave; one in twenty")
    parser.add_argument("--wait-s", type=int, default=300, help="how long a good BMC may take to apply")
    options = parser.parse_args()
    result = measure(options.count, options.faulty or max(1, options.count // 20), options.wait_s)
    text = json.dumps(asdict(result), indent=2)
    (RESULTS / f"bios-fleet-{options.count}.json").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 1 if result.wrong or result.unexplained or result.accused else 0


if __name__ == "__main__":
    sys.exit(main())
