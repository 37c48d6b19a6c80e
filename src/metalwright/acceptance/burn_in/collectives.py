"""GPUs together: an all-reduce over all of them, and NVIDIA's own diagnostics."""

from __future__ import annotations

from types import MappingProxyType

from metalwright.accelerators import dcgm, nccl_tests
from metalwright.acceptance.burn_in.measurement import FaultyError, Measurement, NoResultError, Situation, Variant

DCGM_LEVEL = 3


def read_all_reduce(text: str, situation: Situation) -> float:
    """GB/s of bus bandwidth, the tool's average over its sizes; every GPU takes part, every value is right."""
    run = nccl_tests.parse(text)
    if run.wrong or run.out_of_bounds:
        raise FaultyError(f"{run.wrong or run.out_of_bounds} values of the all-reduce were wrong")
    if run.errors:
        raise FaultyError(f"the all-reduce failed: {run.errors[0]}")
    if not run.has_worked or run.bus_gb_per_s is None:
        raise NoResultError("no data moved, or the output ends before its summary")
    if run.wrong is None:
        raise NoResultError("the values were not checked")
    if run.ranks != situation.gpus:
        raise NoResultError(f"{run.ranks or 'no'} of {situation.gpus} GPUs took part")
    return run.bus_gb_per_s


def read_dcgm(text: str, situation: Situation) -> float:
    """How many GPUs passed every test of ``dcgmi diag -j``: all of them, or it is no result."""
    run = dcgm.parse(text)
    if run.verdict == "FAIL":
        bad = next(result for result in run.results if result.status in ("FAIL", "WARN"))
        where = f" on GPU {', '.join(map(str, bad.gpus))}" if bad.gpus else ""
        raise FaultyError(f"dcgmi says {bad.status} in {bad.test}{where}: {'; '.join(bad.warnings)}".rstrip(": "))
    if run.failure is not None:
        raise NoResultError(f"dcgmi says: {run.failure.said}")
    passed = {gpu for result in run.results if result.status == "PASS" for gpu in result.gpus}
    if run.verdict != "PASS" or len(passed) != situation.gpus:
        left_out = len(run.results) - run.count("PASS")
        raise NoResultError(f"{len(passed)} of {situation.gpus} GPUs passed a test, {left_out} results are no pass")
    return float(len(passed))


def _all_reduce(situation: Situation) -> str:
    return f"all_reduce_perf -b 1G -e 8G -f 2 -c 1 -g {situation.gpus}"


def _dcgm(_situation: Situation) -> str:
    return f"dcgmi diag -r {DCGM_LEVEL} -j"


def _variant(package: str) -> Variant:
    return Variant("all_reduce_perf", package, _all_reduce, read_all_reduce, False)


COLLECTIVE_TESTS = {
    "nccl-all-reduce": Measurement(
        unit="GB/s",
        what="bus bandwidth of NCCL's or RCCL's all-reduce over all GPUs, 1 to 8 GiB, values checked",
        variants=MappingProxyType(
            {
                "nvidia": _variant("nccl-tests, built from its source"),
                "amd": _variant("rccl-tests, built from its source"),
            }
        ),
        seconds=120,
        grace_s=480,
        is_load=True,
        needs=frozenset({"gpus"}),
    ),
    "dcgm-diag": Measurement(
        unit="GPUs",
        what=f"GPUs that pass every test of NVIDIA's diagnostics, level {DCGM_LEVEL}",
        variants=MappingProxyType({"nvidia": Variant("dcgmi", "datacenter-gpu-manager", _dcgm, read_dcgm, False)}),
        seconds=900,
        grace_s=1800,
        is_load=True,
        needs=frozenset({"gpus"}),
    ),
}
