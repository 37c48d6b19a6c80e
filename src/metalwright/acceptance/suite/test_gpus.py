"""Every GPU as its driver sees it, and what the driver wrote to the kernel log since the boot."""

from __future__ import annotations

from typing import Any

import pytest
from testinfra.host import Host

from metalwright.accelerators import xid
from metalwright.accelerators.gpu import GpuReading
from metalwright.acceptance.burn_in.measurement import COMMAND_NOT_FOUND, TOOL_PATH
from metalwright.acceptance.gpu_health import (
    RAS,
    RAS_COUNTS,
    READERS,
    XID,
    UnknownError,
    gpu_fault,
    kernel_log_fault,
    ras_fault,
    with_status,
)
from metalwright.errors import SshTimeoutError


@pytest.fixture(scope="session")
def readings() -> dict[str, GpuReading | SshTimeoutError]:
    """What the tools said, by maker, or that they hang; each is asked once, so that a hang takes its time once."""
    return {}


def test_gpu_health(
    host: Host, check: dict[str, Any], readings: dict[str, GpuReading | SshTimeoutError], unknown: Any
) -> None:
    try:
        if check["id"] == XID:
            log = host.run(xid.QUERY)
            if log.rc != 0:
                unknown(f"the kernel log cannot be read: {log.stderr.strip()[:200]}")
            fault = kernel_log_fault(log.stdout)
        elif check["id"] == RAS:
            counts = host.run(RAS_COUNTS)
            if counts.rc != 0:
                unknown(f"the driver's error counts cannot be read: {counts.stderr.strip()[:200]}")
            fault = ras_fault(counts.stdout, check["count"])
        else:
            fault = gpu_fault(check, _reading(host, check["vendor"], readings, unknown))
    except UnknownError as error:
        unknown(str(error))
    assert fault is None, fault


def _reading(host: Host, vendor: str, readings: dict[str, GpuReading | SshTimeoutError], unknown: Any) -> GpuReading:
    """The tool's answer; a tool that failed is a reading with a failure, one that is not there no reading.

    Raises:
        SshTimeoutError: the tool hangs.
    """
    if vendor not in readings:
        command, parse = READERS[vendor]
        try:
            done = host.run(TOOL_PATH + command)
        except SshTimeoutError as hang:
            readings[vendor] = hang
            raise
        if done.rc == COMMAND_NOT_FOUND:
            unknown(f"{command.partition(' ')[0]} is not on the node")
        readings[vendor] = with_status(parse(done.stdout if done.stdout.strip() else done.stderr), done.rc)
    found = readings[vendor]
    if isinstance(found, SshTimeoutError):
        raise found
    return found
