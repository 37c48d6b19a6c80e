"""The blueprint's own tests: what is measured, and when, goes into the results; floors are judged again afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from testinfra.host import Host

from metalwright.acceptance.burn_in.measurement import TOOL_PATH, Measurement, Situation, conclude
from metalwright.acceptance.burn_in.tests import BURN_IN
from metalwright.acceptance.readings import LSBLK, lsblk_disks, rdma_devices

BOOT_ID = "boot-id"
RDMA_DEVICES = "ls /sys/class/infiniband"


def test_measured(
    host: Host, check: dict[str, Any], record_property: Callable[[str, Any], None], unknown: Callable[[str], Any]
) -> None:
    if check["id"] == BOOT_ID:
        boot_id = host.check_output("cat /proc/sys/kernel/random/boot_id").strip()
        assert boot_id, "the node tells no boot id"
        record_property("text", boot_id)
        return
    _measure(host, check, record_property, unknown)


def _measure(
    host: Host, check: dict[str, Any], record: Callable[[str, Any], None], unknown: Callable[[str], Any]
) -> None:
    measurement = BURN_IN.get(check["id"])
    if measurement is None:
        unknown(f"there is no test named {check['id']}")
        return
    variant = measurement.variant(check["vendor"])
    if variant is None:
        unknown(f"no tool is known that does this with GPUs of {check['vendor'] or 'no maker'}")
        return
    if host.run(TOOL_PATH + "command -v %s", variant.tool).rc != 0:
        unknown(f"{variant.tool} is not on the node (package {variant.package})")
    situation = _situation(host, measurement, check, unknown)
    record("began", time.time())
    done = host.run(TOOL_PATH + variant.command(situation), timeout_s=measurement.limit_s(check["seconds"]))
    record("ended", time.time())
    reading = conclude(variant, situation, done.rc, done.stdout, done.stderr)
    if reading.value is not None:
        record("value", reading.value)
    if reading.verdict == "NOT-RUN":
        unknown(reading.why or "no result")
    assert reading.verdict == "PASS", reading.why
    if check["floor"] is not None:
        value = reading.value
        assert value is not None
        assert value >= check["floor"], f"{value} {check['unit']} is under the floor of {check['floor']}"


def _situation(host: Host, measurement: Measurement, check: dict[str, Any], unknown: Callable[[str], Any]) -> Situation:
    """What the command needs to know; NOT-RUN where the node or the site does not have it."""
    if "peer" in measurement.needs and check["peer"] is None:
        unknown("the site names no acceptance_peer")
    devices = rdma_devices(host.run(RDMA_DEVICES).stdout) if "rdma" in measurement.needs else ()
    if "rdma" in measurement.needs and not devices:
        unknown("the node has no RDMA device")
    if "rdma" in measurement.needs and len(devices) < check.get("infiniband_ports", 0):
        unknown(f"the node has {len(devices)} RDMA devices for {check['infiniband_ports']} InfiniBand ports")
    return Situation(
        seconds=check["seconds"] or measurement.seconds,
        vendor=check["vendor"],
        gpus=check["gpus"],
        peer=check["peer"],
        root_disk=_root_disk(host) if check["id"] == "disk-read" else None,
        rdma_devices=devices,
    )


def _root_disk(host: Host) -> str:
    disk = next((disk for disk in lsblk_disks(host.check_output(LSBLK)) if disk.holds_root), None)
    if disk is None:
        pytest.skip("no disk is known to hold the root file system")
    return disk.name
