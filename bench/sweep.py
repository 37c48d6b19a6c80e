"""How fast a fleet is read: metalwright, DMTF's library and sushy over the same simulated BMCs, in one run.

    python -m bench.sweep                         64 BMCs, 50 ms an answer, 4 requests in flight
    python -m bench.sweep --count 2000 --only metalwright
    python -m bench.sweep --other-python .venv-bench/bin/python      an environment with bench/requirements.txt

Never a test: a machine that does something else as well is slower, so the ratios of one run are what counts. The
bound is the larger of reads ÷ in-flight × latency and the longest chain of reads that depend on each other (counted by
replaying metalwright's reads of one BMC in rounds).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.fleet import Fleet, running_fleet
from bench.readers import READERS, trace

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Result:
    """One reader over the fleet. ``bound_s`` is for its own number of reads and this latency."""

    reader: str
    bmcs: int
    failed: int
    wall_s: float
    bound_s: float
    wall_to_bound: float
    cpu_s_per_bmc: float
    simulator_cpu_s_per_bmc: float
    reads_per_bmc: float
    logins_per_bmc: float
    rss_mib: float
    sessions_left_open: int
    load_before: float


def measure(
    name: str, python: str, fleet: Fleet, paths: list[str], chain_s: float, options: argparse.Namespace
) -> Result:
    """Run one reader in a process of its own."""
    work = {"bmcs": [[bmc.url, bmc.user, bmc.password] for bmc in fleet.bmcs], "paths": paths}
    before, cpu_before, load = fleet.counters(), fleet.cpu_s(), os.getloadavg()[0]
    done = subprocess.run(
        [python, "-m", "bench.readers", name], input=json.dumps(work), stdout=subprocess.PIPE, text=True, check=True,
        cwd=ROOT,
    )  # fmt: skip
    told: dict[str, Any] = json.loads(done.stdout)
    time.sleep(0.5)
    after, count = fleet.counters(), len(fleet.bmcs)
    reads = (after["requests"] - before["requests"]) / count
    bound_s = max(reads / options.in_flight * options.latency_ms / 1000, chain_s)
    return Result(
        reader=name,
        bmcs=count,
        failed=told["failed"],
        wall_s=round(told["wall_s"], 2),
        bound_s=round(bound_s, 2),
        wall_to_bound=round(told["wall_s"] / bound_s, 2),
        cpu_s_per_bmc=round(told["cpu_s"] / count, 4),
        simulator_cpu_s_per_bmc=round((fleet.cpu_s() - cpu_before) / count, 4),
        reads_per_bmc=round(reads, 1),
        logins_per_bmc=round((after["logins"] - before["logins"]) / count, 2),
        rss_mib=round(told["rss_mib"]),
        sessions_left_open=after["open_sessions"],
        load_before=round(load, 1),
    )


def main() -> None:
    """Measure and print a table; ``--save NAME`` keeps it as bench/results/NAME.json."""
    options = _options()
    extra = ["--expand"] if options.expand else []
    with running_fleet(1, 0, 0, extra) as alone:
        only = alone.bmcs[0]
        paths, chain = trace((only.url, only.user, only.password))
    chain_s = chain * options.latency_ms / 1000
    results = []
    with running_fleet(options.count, options.latency_ms, options.in_flight, extra) as fleet:
        for name in options.only or READERS:
            python = options.other_python or sys.executable if name != "metalwright" else sys.executable
            result = measure(name, python, fleet, paths, chain_s, options)
            results.append(result)
            print(json.dumps(asdict(result)), flush=True)
    if options.save:
        RESULTS.mkdir(exist_ok=True)
        machine = {"cpus": os.cpu_count(), "python": sys.version.split()[0]}
        settings = {key: getattr(options, key) for key in ("count", "latency_ms", "in_flight", "expand")}
        told = {"chain": chain, "results": [asdict(result) for result in results]}
        body = {"schema": 1, "machine": machine, "settings": settings, **told}
        (RESULTS / f"{options.save}.json").write_text(json.dumps(body, indent=2) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--latency-ms", type=float, default=50)
    parser.add_argument("--in-flight", type=int, default=4)
    parser.add_argument("--expand", action="store_true", help="the BMCs offer $expand")
    parser.add_argument("--only", action="append", choices=list(READERS))
    parser.add_argument("--other-python", help="the interpreter for sushy and DMTF's library")
    parser.add_argument("--save", metavar="NAME")
    return parser.parse_args()


if __name__ == "__main__":
    main()
