"""Network: the clock, TCP to a peer, and RDMA writes to a peer from every RDMA device."""

from __future__ import annotations

import json
import re
import shlex

from metalwright.acceptance.burn_in.measurement import (
    FaultyError,
    Measurement,
    NoResultError,
    Situation,
    Variant,
    only,
)
from metalwright.acceptance.platform import TRACKING, tracking

CLOCK_ERROR_S = 0.1
_PERFTEST_ROW = re.compile(r"^\s*(\d+)\s+(\d+)\s+([0-9.]+)\s+([0-9.]+)\s+([0-9.]+)\s*$")


def read_iperf3(text: str, _situation: Situation) -> float:
    """10⁹ bits a second that the peer received, from ``iperf3 --json``.

    iperf3 prints an ``error`` inside JSON and ends with 0 when it cannot connect.
    """
    try:
        found = json.loads(text)
        error = found.get("error")
        received = found["end"]["sum_received"]
        bits_per_s, size = float(received["bits_per_second"]), float(received["bytes"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        said = _iperf3_error(text)
        raise NoResultError(said or f"no JSON of iperf3 in {text.strip()[:200]!r}") from problem
    if error:
        raise NoResultError(str(error))
    if size <= 0:
        raise NoResultError("the peer received nothing")
    return round(bits_per_s / 1e9, 3)


def _iperf3_error(text: str) -> str | None:
    found = re.search(r'"error"\s*:\s*"([^"]*)"', text)
    return f"iperf3 says: {found[1]}" if found else None


def read_perftest(text: str, situation: Situation) -> float:
    """Average Gbit/s from ``ib_write_bw --report_gbits``, the lowest of all devices; each must have a result."""
    rates = [float(found[4]) for found in map(_PERFTEST_ROW.match, text.splitlines()) if found and int(found[2]) > 0]
    if len(rates) != len(situation.rdma_devices) or not rates:
        raise NoResultError(f"results of {len(rates)} of {len(situation.rdma_devices)} RDMA devices")
    return round(min(rates), 2)


def read_tracking(text: str, _situation: Situation) -> float:
    """How far, in ms, the clock can be from true time by what chrony knows; it must follow a server."""
    found = tracking(text)
    if found is None or found.error_s is None:
        raise NoResultError(f"no tracking of chrony in {text.strip()[:200]!r}")
    if not found.is_synchronised:
        raise FaultyError("chrony follows no server: the clock is not synchronised")
    if found.error_s > CLOCK_ERROR_S:
        raise FaultyError(f"the clock can be {found.error_s * 1000:.0f} ms off, allowed are {CLOCK_ERROR_S * 1000:.0f}")
    return round(found.error_s * 1000, 4)


def _chronyc(_situation: Situation) -> str:
    return TRACKING


def _iperf3(situation: Situation) -> str:
    return f"iperf3 --client {shlex.quote(situation.peer or '')} --time {situation.seconds} --json"


def _ib_write_bw(situation: Situation) -> str:
    """One device after the other; the first that fails ends the test with its status."""
    peer = shlex.quote(situation.peer or "")
    calls = [
        f"ib_write_bw --ib-dev={shlex.quote(device)} --duration={situation.seconds} --report_gbits {peer}"
        for device in situation.rdma_devices
    ]
    return " && ".join(calls) or "exit 0"


NETWORK_TESTS = {
    "time-sync": Measurement(
        unit="ms",
        what="how far the clock can be from true time by what chrony knows; 100 ms at most, and it follows a server",
        variants=only(Variant("chronyc", "chrony", _chronyc, read_tracking)),
        seconds=5,
    ),
    "iperf3": Measurement(
        unit="Gbit/s",
        what="TCP to the site's acceptance peer, as the peer received it",
        variants=only(Variant("iperf3", "iperf3", _iperf3, read_iperf3)),
        seconds=10,
        needs=frozenset({"peer"}),
    ),
    "rdma-write": Measurement(
        unit="Gbit/s",
        what="RDMA writes to the site's acceptance peer; the slowest RDMA device counts",
        variants=only(Variant("ib_write_bw", "perftest", _ib_write_bw, read_perftest)),
        seconds=10,
        grace_s=300,
        needs=frozenset({"peer", "rdma"}),
    ),
}
