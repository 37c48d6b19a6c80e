"""The board, the clock and the mounts of the node, and what is at the other end of its cables."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from testinfra.host import Host

from metalwright.acceptance.isolation import probe_answers, probe_command, probe_limit_s, reached
from metalwright.acceptance.platform import (
    EDAC,
    FSTAB,
    FSTAB_ENTRIES,
    LLDP,
    MOUNTS,
    PCIE_LINKS,
    infiniband_neighbour,
    is_neighbour,
    lldp_neighbours,
    missing_mounts,
    mounts,
    numa_nodes,
    pcie_links,
    uncorrected_errors,
)
from metalwright.acceptance.readings import port_names, rdma_devices
from metalwright.zones import PROBE_MARK

Unknown = Callable[[str], Any]


def test_pcie(host: Host, check: dict[str, Any], unknown: Unknown) -> None:
    """Lanes and generation of the adapters of one role; InfiniBand adapters are known by their kind, not by MAC."""
    links = pcie_links(host.check_output(PCIE_LINKS))
    macs = set(check["macs"])
    if check["link"] == "infiniband":
        names = set(rdma_devices(host.run("ls /sys/class/infiniband").stdout))
        ours = [link for link in links if link.name in names]
    else:
        if not macs:
            unknown("the rack file names no port of this role")
        ours = [link for link in links if link.mac in macs]
    if len(ours) < check["count"] or any(link.lanes is None or link.generation is None for link in ours):
        unknown(f"the PCIe links of {len(ours)} of {check['count']} ports are told: {[link.name for link in ours]}")
    for link in ours:
        assert check["lanes"] is None or link.lanes == check["lanes"], f"{link.name}: {link.lanes} lanes"
        wanted = check["generation"]
        assert wanted is None or link.generation == wanted, f"{link.name}: PCIe generation {link.generation}"


def test_numa(host: Host, check: dict[str, Any], unknown: Unknown) -> None:
    found = numa_nodes(host.check_output("lscpu --json"))
    if found is None:
        unknown("lscpu does not tell the NUMA nodes")
    assert found == check["nodes"]


def test_memory_ecc(host: Host, unknown: Unknown, check: dict[str, Any]) -> None:
    """The kernel watches the memory controllers, and none saw an error that it could not correct."""
    read = host.run(EDAC)
    errors = uncorrected_errors(read.stdout)
    if read.rc != 0 or not errors:
        unknown("the kernel does not tell of every memory controller (EDAC): without it nobody sees an error")
    bad = {controller: count for controller, count in errors.items() if count > check["uncorrected"]}
    assert not bad, f"uncorrected errors since the boot: {bad}"


def test_mounts(host: Host, check: dict[str, Any]) -> None:
    """Everything in fstab is mounted, and the root file system can be written."""
    mounted = mounts(host.check_output(MOUNTS))
    entries = int(host.run(FSTAB_ENTRIES).stdout)
    wanted = mounts(host.check_output(FSTAB)) if entries else ()
    assert wanted or not entries, f"fstab has {entries} entries, findmnt shows none"
    assert missing_mounts(wanted, mounted) == ()
    root = [mount for mount in mounted if mount.target == "/"]
    assert root, "nothing is mounted on /"
    assert check["root_option"] in root[-1].options, f"/ is mounted with {sorted(root[-1].options)}"


def test_clock(host: Host, check: dict[str, Any]) -> None:
    """The node's clock against that of the machine that asks; the way there and back widens what is allowed."""
    began = time.time()
    node_s = float(host.check_output("date +%s.%N"))
    ended = time.time()
    limit_s = check["limit_s"]
    assert began - limit_s <= node_s <= ended + limit_s, (
        f"the node's clock is {node_s - (began + ended) / 2:+.1f} s off the controller's, allowed is {limit_s} s"
    )


@pytest.fixture(scope="session")
def neighbours(host: Host) -> dict[str, tuple[str, str | None]] | None:
    """What LLDP tells of the other ends; ``None`` when nothing listens for it."""
    done = host.run(LLDP)
    return lldp_neighbours(done.stdout) if done.rc == 0 and done.stdout.strip() else None


def test_cabling(
    host: Host, check: dict[str, Any], neighbours: dict[str, tuple[str, str | None]] | None, unknown: Unknown
) -> None:
    """The port is plugged into what the blueprint says."""
    if check["link"] == "infiniband":
        _infiniband(host, check, unknown)
        return
    if check["mac"] is None:
        unknown(f"the rack file does not name the port {check['id']}")
    if neighbours is None:
        unknown("lldpd does not run on the node: nobody tells what is at the other end")
        return
    names = port_names(host.check_output("ip -json -details link show"), [check["mac"]], None)
    seen = {name: neighbours[name] for name in names if name in neighbours}
    if not seen:
        unknown(f"no switch told its name on {', '.join(names) or check['mac']} so far")
    assert any(is_neighbour(check["to"], *found) for found in seen.values()), f"plugged into {seen}"


def _infiniband(host: Host, check: dict[str, Any], unknown: Unknown) -> None:
    devices = rdma_devices(host.run("ls /sys/class/infiniband").stdout)
    if check["index"] >= len(devices):
        unknown(f"the node has {len(devices)} RDMA devices, {check['id']} is one more")
    done = host.run("smpquery -C %s -D nodedesc 0,1", devices[check["index"]])
    if done.rc != 0:
        unknown(f"smpquery tells no neighbour (package infiniband-diags): {(done.stderr or done.stdout).strip()[:200]}")
    found = infiniband_neighbour(done.stdout)
    assert found is not None, done.stdout
    assert is_neighbour(check["to"], found, None), f"plugged into {found}"


def test_isolation(host: Host, check: dict[str, Any], unknown: Unknown) -> None:
    """From the workload address no BMC answers, past the node's own firewall: the network must not let it through.

    The same probe must reach the node itself, or it proves nothing.
    """
    control = f"{check['source']}:22"
    targets = [control, *check["targets"]]
    done = host.run(probe_command(check["source"], targets, mark=PROBE_MARK), timeout_s=probe_limit_s(targets))
    answers = probe_answers(done.stdout)
    if done.rc != 0 or set(answers) != set(targets):
        unknown(f"the probe from {check['source']} did not work: {done.stderr.strip()[:200] or json.dumps(answers)}")
    if control not in reached(answers):
        unknown(f"the probe does not even reach {control} from there: {answers[control]}")
    open_ways = [target for target in reached(answers) if target != control]
    assert not open_ways, f"BMCs answer on the workload network: {', '.join(open_ways)}"
