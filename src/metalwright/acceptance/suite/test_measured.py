"""The blueprint's own measured tests: value, unit and floor go into the certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from testinfra.host import Host

from metalwright.acceptance.readings import LSBLK, dd_mb_per_s, lsblk_disks, openssl_mb_per_s


def test_measured(host: Host, check: dict[str, Any], record_property: Callable[[str, Any], None]) -> None:
    value = MEASUREMENTS[check["id"]](host, record_property)
    if check["floor"] is not None:
        assert value is not None, "nothing was measured"
        assert value >= check["floor"], f"{value} {check['unit']} is under the floor of {check['floor']}"


def _cpu_hash(host: Host, record: Callable[[str, Any], None]) -> float:
    """Megabytes a second (10⁶) that one core hashes with SHA-256."""
    done = host.run("openssl speed -seconds 1 -bytes 16384 -mr sha256")
    value = openssl_mb_per_s(done.stdout + done.stderr)
    record("value", value)
    return value


def _disk_read(host: Host, record: Callable[[str, Any], None]) -> float:
    """Megabytes a second (10⁶) of a direct sequential read of at most 256 MiB; writes nothing."""
    root = next(disk for disk in lsblk_disks(host.check_output(LSBLK)) if disk.holds_root)
    done = host.run("dd if=%s of=/dev/null bs=4M count=64 iflag=direct", f"/dev/{root.name}")
    assert done.rc == 0, done.stderr
    value = dd_mb_per_s(done.stderr)
    record("value", value)
    return value


def _boot_id(host: Host, record: Callable[[str, Any], None]) -> None:
    record("text", host.check_output("cat /proc/sys/kernel/random/boot_id"))


MEASUREMENTS: dict[str, Callable[[Host, Callable[[str, Any], None]], float | None]] = {
    "cpu-hash": _cpu_hash,
    "disk-read": _disk_read,
    "boot-id": _boot_id,
}
