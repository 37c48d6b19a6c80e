"""What the operating system sees of the machine. What it cannot see is unknown, not right."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

from metalwright.acceptance.readings import SeenDisk, cpu_sockets, disks_of_role, infiniband_ports, physical_ports

MEMORY_SHARE = 0.9
"""Firmware, the kernel and crash reservations keep some of the installed memory from ``MemTotal``."""


def test_cpus(host: Host, check: dict[str, Any], unknown: Any) -> None:
    sockets = cpu_sockets(host.check_output("lscpu --json"))
    if sockets.count is None:
        unknown("lscpu does not tell the sockets")
    assert sockets.count == check["count"]
    if check["cores"] is not None:
        if sockets.cores is None:
            unknown("lscpu does not tell the cores of a socket")
        assert sockets.cores == check["cores"]


def test_memory(host: Host, check: dict[str, Any]) -> None:
    total_kib = int(host.check_output("awk '/^MemTotal:/ {print $2}' /proc/meminfo"))
    total_gib = total_kib / 1024**2
    assert MEMORY_SHARE * check["total_gib"] <= total_gib <= check["total_gib"] * 1.02, f"{total_gib:.2f} GiB"


def test_drives(check: dict[str, Any], disks: tuple[SeenDisk, ...]) -> None:
    fitting = disks_of_role(disks, check)
    assert len(fitting) >= check["count"], f"{len(fitting)} of {[disk.to_json() for disk in disks]} fit"
    fixed = [disk.name for disk in disks if not disk.is_removable]
    assert len(fixed) >= check["total"], f"all roles together need {check['total']} drives, there are {fixed}"


def test_system_disk(check: dict[str, Any], disks: tuple[SeenDisk, ...], unknown: Any) -> None:
    """The root file system is on the disk that the inventory names."""
    root = next(disk for disk in disks if disk.holds_root)
    for key in ("serial", "wwn"):
        if check[key] is not None:
            if getattr(root, key) is None:
                unknown(f"the disk under / tells no {key}")
            assert getattr(root, key) == check[key]


def test_nics(host: Host, check: dict[str, Any], unknown: Any) -> None:
    """InfiniBand ports are known by their kind: their addresses are no MACs."""
    if check["link"] == "infiniband":
        speeds = list(infiniband_ports(host.check_output(INFINIBAND_PORTS)))
        assert len(speeds) >= check["total"], f"{len(speeds)} InfiniBand ports: {speeds}"
    else:
        found = physical_ports(host.check_output(PORTS))
        assert len(found) >= check["total"], f"{len(found)} physical ports: {found}"
        assert set(check["macs"]) <= set(found), f"ports {found}"
        speeds = [found[mac] for mac in check["macs"]] or list(found.values())
    if check["speed_gbps"] is not None:
        if None in speeds:
            unknown("a port tells no speed")
        assert sum(speed == check["speed_gbps"] for speed in speeds) >= check["count"], f"speeds {speeds}"


def test_gpus(host: Host, check: dict[str, Any]) -> None:
    """Display and 3D controllers of the vendor on the PCI bus; whether they work is for the blueprint's own tests."""
    vendor = {"nvidia": "0x10de", "amd": "0x1002", "intel": "0x8086"}[check["vendor"]]
    found = host.check_output(PCI_CLASSES).split("\n")
    assert sum(line in (f"{vendor} 0x030200", f"{vendor} 0x030000") for line in found) == check["count"]


PORTS = (
    "cd /sys/class/net && for d in */device; do n=${d%%/device}; [ -e $d/physfn ] ||"
    " echo $(cat $n/address) $(cat $n/speed 2>&1); done"
)
INFINIBAND_PORTS = (
    "cd /sys/class/infiniband && for p in */ports/*; do [ -e ${p%%/*}/device/physfn ] ||"
    " echo $(cat $p/link_layer $p/state $p/rate); done"
)
"""Virtual functions are left out: they are no ports."""
PCI_CLASSES = "cd /sys/bus/pci/devices && for d in *; do echo $(cat $d/vendor $d/class); done"
