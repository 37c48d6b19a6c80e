"""A small fleet for reviews, 38 GPU nodes in two racks and two plain boxes; and the kinds of change."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from metalwright.allocations import allocate_addresses
from metalwright.loading import release
from metalwright.model.review import ObservedNode, ObservedSnapshot
from metalwright.reviewing import Circumstances
from metalwright.starter.site import skeleton_root

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TODAY = NOW.date()
GIVEN = Circumstances(now=NOW)

SITE = """\
schema: 1
name: s1
domain: example.net
ntp: [10.0.0.1]
boot_server: {address_for_bmc: 10.0.0.2, address_for_node: 10.1.0.2}
admins: [{name: op, authorized_keys: [ssh-ed25519 AAAA]}]
limits: {parallel_nodes: 8}
"""
NETWORKS = """\
schema: 1
networks:
  - {name: oob, purpose: oob-management, vlan: 20, prefix: 10.0.0.0/24}
  - {name: hosts, purpose: host-management, vlan: 30, prefix: 10.1.0.0/24, gateway: 10.1.0.1}
"""
BLUEPRINT = """\
schema: 1
name: gpu
version: 1.0.0
class: {role: training, owner: infra, workloads: [general]}
hardware:
  system: {manufacturer: M, models: [X]}
  cpus: {count: 2}
  memory: {total_gib: 512}
  gpus: {count: 8, vendor: nvidia, model: H100}
  nics: [{role: host, count: 1}]
  drives: [{role: system, count: 1, min_bytes: 1000}]
power: {idle_w: 500, typical_w: 600, max_w: 700}
firmware: {bmc: ">=1.0"}
bios:
  registry: metalwright/lab-vm-1.0.0
  attributes: {SysProfile: Performance, SriovGlobalEnable: Enabled}
network: [{role: host, networks: [host-management]}]
image: {name: img, version: "1", file_sha256: "1111111111111111111111111111111111111111111111111111111111111111"}
software:
  container_runtime: {name: containerd, version: 1.6.20}
  agents: {node_exporter: 1.5.0}
policy: {labels: {tier: gold}}
acceptance: [{test: cpu-hash, floor: 20, unit: MB/s}, {test: power, record: true}]
rollback: {data_loss: scratch, minutes: 30}
"""
POLICIES = """\
schema: 1
roles: {hardware: [amina, li], on-call: [bo]}
policies:
  - {name: bios-needs-hardware, kind: approvals, sections: [BIOS], role: hardware, count: 1}
  - {name: one-first, kind: canary, nodes: 1}
  - {name: quiet-weeks, kind: freeze, start: 2026-12-20T00:00:00Z, end: 2027-01-07T00:00:00Z, why: holidays}
  - {name: few-removals, kind: removals, nodes: 1}
  - {name: half-the-fleet, kind: gpus-out, gpus: 128}
  - {name: on-call-rebuilds, kind: rebuilders, role: on-call}
"""
GPU_NODES = 38


def write_fleet(root: Path) -> None:
    """The state that every change begins from; a valid site without warnings."""
    _write(root, "inventory/site.yaml", SITE)
    _write(root, "inventory/networks.yaml", NETWORKS)
    for rack in ("a01", "a02"):
        _write(root, f"inventory/racks/{rack}.yaml", _rack(rack))
    _write(root, "blueprints/gpu/1.0.0.yaml", BLUEPRINT)
    box = BLUEPRINT.replace("name: gpu", "name: box").replace("  gpus: {count: 8, vendor: nvidia, model: H100}\n", "")
    _write(root, "blueprints/box/1.0.0.yaml", box)
    skeleton = skeleton_root()
    for path in [*skeleton.glob("templates/[dsn]*/*.j2"), *skeleton.glob("blueprints/registries/**/*.json")]:
        _write(root, str(path.relative_to(skeleton)), path.read_text(encoding="utf-8"))
    release(root, ["gpu@1.0.0", "box@1.0.0"])
    allocate_addresses(root, TODAY)


def _rack(name: str) -> str:
    first = 0 if name == "a01" else 19
    gpus = "".join(
        f"  - {{name: g{number:02d}, unit: {number - first + 1}, serial: G-{number:02d}, "
        f"bmc_mac: 52:54:00:00:00:{number:02x}, blueprint: gpu@1.0.0}}\n"
        for number in range(first, first + 19)
    )
    box = (
        f"  - {{name: box-{name}, unit: 40, serial: B-{name}, bmc_mac: 52:54:00:00:01:0{name[-1]}, "
        "blueprint: box@1.0.0}\n"
    )
    feeds = "feeds: [{name: a, volts: 230, breaker_a: 80}, {name: b, volts: 230, breaker_a: 80}]\ncooling_kw: 15\n"
    return f"schema: 1\nname: {name}\nsite: s1\nheight_u: 42\n{feeds}nodes:\n{gpus}{box}"


def _write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def edit(root: Path, name: str, old: str, new: str) -> None:
    """Replace a text that must be there, everywhere in a file."""
    path = root / name
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{old!r} is not in {name}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def new_version(root: Path, version: str, *edits: tuple[str, str], name: str = "gpu", nodes: int = GPU_NODES) -> None:
    """A released version with these edits; the first ``nodes`` GPU nodes move to it."""
    source = (root / f"blueprints/{name}/1.0.0.yaml").read_text(encoding="utf-8")
    text = source.replace("version: 1.0.0", f"version: {version}", 1)
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    _write(root, f"blueprints/{name}/{version}.yaml", text)
    release(root, [f"{name}@{version}"])
    for rack in ("a01", "a02"):
        path = root / f"inventory/racks/{rack}.yaml"
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        moved = [
            line.replace(f"{name}@1.0.0", f"{name}@{version}")
            if (number := re.search(r"name: g(\d\d)", line)) and int(number[1]) < nodes
            else line
            for line in lines
        ]
        path.write_text("".join(moved), encoding="utf-8")


@dataclass(frozen=True)
class Kind:
    """One kind of change: its file name, its title in the reference, what it edits, and what is known beside it."""

    name: str
    title: str
    change: Callable[[Path], None]
    given: Circumstances = GIVEN
    before: Callable[[Path], None] | None = None


def _policies(root: Path) -> None:
    _write(root, "inventory/policies.yaml", POLICIES)


def _bios(root: Path) -> None:
    new_version(root, "1.1.0", ("SysProfile: Performance", "SysProfile: Balanced"))


def _drop(root: Path, *nodes: str) -> None:
    for rack in ("a01", "a02"):
        path = root / f"inventory/racks/{rack}.yaml"
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not any(f"name: {node}," in line for node in nodes)))
    allocate_addresses(root, TODAY)


def _work_network(root: Path) -> None:
    """The GPU nodes join a workload network, with a VLAN of its own on their ports."""
    networks = root / "inventory/networks.yaml"
    line = "  - {name: work, purpose: workload, vlan: 40, prefix: 10.2.0.0/24}\n"
    networks.write_text(networks.read_text(encoding="utf-8") + line, encoding="utf-8")
    edit(root, "blueprints/gpu/1.0.0.yaml", "networks: [host-management]", "networks: [host-management, workload]")
    release(root, ["gpu@1.0.0"], replace=True)
    allocate_addresses(root, TODAY)


def _renumber(root: Path) -> None:
    """Every address of the network is given anew: the lock is written without those of the old prefix."""
    edit(root, "inventory/networks.yaml", "10.1.0.", "10.9.0.")
    lock = root / "inventory/addresses.lock"
    kept = (line for line in lock.read_text(encoding="utf-8").splitlines(keepends=True) if "10.1.0." not in line)
    lock.write_text("".join(kept), encoding="utf-8")
    allocate_addresses(root, TODAY)


def _set_aside(root: Path) -> None:
    """One node for repair, one for good, and one is gone."""
    edit(root, "inventory/racks/a01.yaml", "G-05, bmc_mac", "G-05, state: quarantined, bmc_mac")
    edit(root, "inventory/racks/a01.yaml", "G-06, bmc_mac", "G-06, state: retired, bmc_mac")
    _drop(root, "g07")


def _unreleased(root: Path) -> None:
    """The first two nodes move to a version that no lock holds."""
    _bios(root)
    lock = root / "blueprints/blueprints.lock"
    kept = (line for line in lock.read_text(encoding="utf-8").splitlines(keepends=True) if "gpu@1.1.0" not in line)
    lock.write_text("".join(kept), encoding="utf-8")


def _image(root: Path) -> None:
    new_version(root, "1.1.0", ('version: "1"', 'version: "2"'), ("1" * 64, "2" * 64), nodes=2)


def _rack_edit(old: str, new: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        edit(root, "inventory/racks/a01.yaml", old, new)
        allocate_addresses(root, date(2026, 11, 30))

    return change


def _new_node(root: Path) -> None:
    path = root / "inventory/racks/a02.yaml"
    line = "  - {name: g99, unit: 30, serial: G-99, bmc_mac: 52:54:00:00:02:01, blueprint: gpu@1.0.0}\n"
    path.write_text(path.read_text(encoding="utf-8") + line)
    allocate_addresses(root, TODAY)


def _cords(root: Path) -> None:
    """Rack a01 on two feeds with three phases, its servers on the phases in turn."""
    path = root / "inventory/racks/a01.yaml"
    text = path.read_text(encoding="utf-8").replace("volts: 230, breaker_a: 80", "volts: 400, phases: 3, breaker_a: 32")
    lines = []
    for number, line in enumerate(text.splitlines(keepends=True)):
        cords = ", ".join(f"{{feed: {feed}, phase: L{number % 3 + 1}}}" for feed in "ab")
        lines.append(line.replace("blueprint:", f"cords: [{cords}], blueprint:"))
    path.write_text("".join(lines), encoding="utf-8")


_KERNEL = "software:\n  kernel_args: [iommu=pt]\n  sysctl: {vm.swappiness: 10}\n"
_ADMIN = "admins: [{name: amina, authorized_keys: [ssh-ed25519 BBBB]}, "
SNAPSHOT = ObservedSnapshot(
    taken=datetime(2026, 11, 30, 9, 30, tzinfo=UTC),
    nodes=(ObservedNode(node="g00", state="ready", minutes=34), ObservedNode(node="g01", state="held")),
)

KINDS = (
    Kind("nothing", "Nothing that a node would notice", lambda root: _write(root, "README.md", "text")),
    Kind("agent", "An agent's version", lambda root: new_version(root, "1.0.1", ("1.5.0", "1.5.1"))),
    Kind(
        "kernel",
        "A kernel argument and a setting",
        lambda root: new_version(root, "1.1.0", ("software:\n", _KERNEL), nodes=1),
    ),
    Kind("runtime", "The container runtime", lambda root: new_version(root, "1.1.0", ("1.6.20", "1.7.28"), nodes=1)),
    Kind("bios", "A BIOS attribute on 38 nodes", _bios),
    Kind(
        "bios-refused",
        "A BIOS attribute that the registry refuses",
        lambda root: new_version(root, "1.1.0", ("SysProfile: Performance", "SysProfile: Fast"), nodes=1),
    ),
    Kind("image", "An image, with a snapshot of the fleet", _image, Circumstances(now=NOW, observed=SNAPSHOT)),
    Kind("firmware", "A firmware constraint", lambda root: new_version(root, "1.1.0", (">=1.0", ">=1.4"), nodes=1)),
    Kind(
        "hardware",
        "Other hardware, as a minor version",
        lambda root: new_version(root, "1.1.0", ("count: 8, vendor", "count: 4, vendor"), nodes=1),
    ),
    Kind("floor", "A lower floor", lambda root: new_version(root, "2.0.0", ("floor: 20", "floor: 10"), nodes=1)),
    Kind("overlap", "Networks that overlap", lambda root: edit(root, "inventory/networks.yaml", "10.1.0.", "10.0.0.")),
    Kind(
        "vlan-change",
        "A VLAN of running nodes",
        lambda root: edit(root, "inventory/networks.yaml", "vlan: 40", "vlan: 41"),
        before=_work_network,
    ),
    Kind(
        "prefix",
        "A wider prefix",
        lambda root: edit(root, "inventory/networks.yaml", "10.1.0.0/24", "10.1.0.0/23"),
    ),
    Kind("renumbered", "Another prefix, every address anew", _renumber),
    Kind("vlan", "A VLAN out of range", lambda root: edit(root, "inventory/networks.yaml", "vlan: 30", "vlan: 4095")),
    Kind("gateway", "A gateway", lambda root: edit(root, "inventory/networks.yaml", "10.1.0.1}", "10.1.0.254}")),
    Kind("new-node", "A node more", _new_node),
    Kind("removed", "Five nodes fewer", lambda root: _drop(root, "g00", "g01", "g02", "g03", "g04")),
    Kind("renamed", "Another name for a machine", _rack_edit("name: g05,", "name: train-5,")),
    Kind("set-aside", "Nodes that leave service", _set_aside),
    Kind("unreleased", "A version that was not released", _unreleased),
    Kind("board", "A replaced board", _rack_edit("serial: G-03", "serial: G-03-NEW")),
    Kind("state", "A node held back", _rack_edit("G-05, bmc_mac", "G-05, state: held, bmc_mac")),
    Kind("power", "A rack that cannot feed the change", _rack_edit("breaker_a: 80}, {", "breaker_a: 20}, {")),
    Kind("template", "A template", lambda root: edit(root, "templates/seed/sshd.conf.j2", "no", "yes")),
    Kind(
        "node-template",
        "A template of running nodes",
        lambda root: edit(root, "templates/node/sshd.conf.j2", "RootLogin no", "RootLogin prohibit-password"),
    ),
    Kind("admin", "A person more", lambda root: edit(root, "inventory/site.yaml", "admins: [", _ADMIN)),
    Kind(
        "phase",
        "Cords on one phase",
        _rack_edit("phase: L2", "phase: L1"),
        before=_cords,
    ),
    Kind(
        "cooling",
        "A rack that cannot be cooled",
        _rack_edit("cooling_kw: 15", "cooling_kw: 10"),
    ),
    Kind("site", "A name server", lambda root: edit(root, "inventory/site.yaml", "ntp:", "dns: [10.0.0.53]\nntp:")),
    Kind("released", "A released file", lambda root: edit(root, "blueprints/gpu/1.0.0.yaml", "infra", "others")),
    Kind("policies", "A site with policies", _bios, before=_policies),
    Kind(
        "approved",
        "The same with an approval",
        _bios,
        Circumstances(now=NOW, approved_by=("amina", "stranger")),
        before=_policies,
    ),
)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fleet as it stands before a change; tests copy it."""
    root = tmp_path_factory.mktemp("fleet")
    write_fleet(root)
    return root
