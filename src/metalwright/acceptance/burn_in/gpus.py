"""GPUs: arithmetic that is verified, and the paths between host and GPUs and from GPU to GPU."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from statistics import median
from types import MappingProxyType

from metalwright.acceptance.burn_in.measurement import FaultyError, Measurement, NoResultError, Situation, Variant

NVBANDWIDTH_PACKAGE = "nvbandwidth, built from its source"
_GPU_BURN_VERDICT = re.compile(r"^\s*GPU\s+(\d+):\s*(\S+)\s*$", re.MULTILINE)
_GPU_BURN_ERRORS = re.compile(r"errors:((?:\s*(?:-|\d+|\(WARNING!\)))+)")
_GPU_BURN_RATES = re.compile(r"\(([0-9.]+) Gflop/s\)")
_BANDWIDTH_ROW = re.compile(r"^\s*(\d+)\s+((?:N/A|[0-9.]+)(?:\s+(?:N/A|[0-9.]+))*)\s*$")


def read_gpu_burn(text: str, situation: Situation) -> float:
    """Gflop/s of the slowest GPU, by the median of its rounds; each GPU must be named and ``OK``, without an error.

    ``gpu_burn`` ends with 0 though a GPU is ``FAULTY``. One round is chance: some rounds are short.
    """
    verdicts = dict(_GPU_BURN_VERDICT.findall(text))
    bad = sorted(f"GPU {gpu}: {verdict}" for gpu, verdict in verdicts.items() if verdict != "OK")
    if bad or "FAULTY" in text:
        raise FaultyError(f"gpu_burn says {', '.join(bad) or 'FAULTY'}")
    wrong = [found for line in _GPU_BURN_ERRORS.findall(text) for found in re.findall(r"[1-9]\d*", line)]
    if wrong:
        raise FaultyError(f"gpu_burn found wrong results: {', '.join(wrong[:5])}")
    if len(verdicts) != situation.gpus or not verdicts:
        raise NoResultError(f"gpu_burn tested {len(verdicts)} of {situation.gpus} GPUs")
    rounds = [[float(rate) for rate in _GPU_BURN_RATES.findall(line)] for line in re.split(r"[\r\n]+", text)]
    whole = [rates for rates in rounds if len(rates) == situation.gpus]
    rates = [median(round_[gpu] for round_ in whole) for gpu in range(situation.gpus)] if whole else []
    if not rates or min(rates) <= 0:
        raise NoResultError(f"rates of {sum(rate > 0 for rate in rates)} of {situation.gpus} GPUs")
    return min(rates)


def nvbandwidth_reader(testcase: str, *, between_gpus: bool) -> Callable[[str, Situation], float]:
    """A reader of ``nvbandwidth -j``: GB/s of the slowest pair of this test case; every GPU must be in it."""

    def read(text: str, situation: Situation) -> float:
        case = _testcase(text, testcase)
        if case.get("status") != "Passed":
            raise FaultyError(f"nvbandwidth says {testcase}: {case.get('status')} {case.get('error') or ''}".rstrip())
        rows = case.get("bandwidth_matrix")
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise NoResultError("nvbandwidth gives no matrix")
        if between_gpus and len(rows) != situation.gpus:
            raise NoResultError(f"paths from {len(rows)} of {situation.gpus} GPUs were measured")
        return _slowest([[_cell(cell) for cell in row] for row in rows], situation.gpus)

    return read


def _testcase(text: str, name: str) -> dict[str, object]:
    try:
        cases = json.loads(text[max(text.find("{"), 0) :])["nvbandwidth"]["testcases"]
        case = next(case for case in cases if case["name"] == name)
    except (ValueError, KeyError, TypeError, StopIteration, RecursionError) as error:
        raise NoResultError(f"nvbandwidth gives no result of {name}") from error
    if not isinstance(case, dict):
        raise NoResultError(f"nvbandwidth gives no result of {name}")
    return case


def _cell(cell: object) -> float | None:
    """A number; ``None`` for the diagonal."""
    try:
        value = None if cell == "N/A" else float(str(cell))
    except ValueError as error:
        raise NoResultError(f"{cell!r} is given for a pair") from error
    if value is not None and not math.isfinite(value):  # the least of a matrix would hide it
        raise NoResultError(f"{cell!r} is given for a pair")
    return value


def _slowest(rows: list[list[float | None]], gpus: int) -> float:
    """The least number of a matrix in which every GPU is a column, measured at least once."""
    measured = {column for row in rows for column, cell in enumerate(row) if cell is not None}
    cells = [cell for row in rows for cell in row if cell is not None]
    if len(measured) != gpus or not cells:
        raise NoResultError(f"paths of {len(measured)} of {gpus} GPUs were measured")
    if len(rows) > 1 and len(cells) < gpus * (gpus - 1):
        raise NoResultError(f"{len(cells)} of {gpus * (gpus - 1)} paths were measured")
    return round(min(cells), 2)


def rocm_bandwidth_reader(*, between_gpus: bool) -> Callable[[str, Situation], float]:
    """A reader of ``rocm_bandwidth_test -a``'s unidirectional matrix (GB/s): devices are hosts first, then GPUs."""

    def read(text: str, situation: Situation) -> float:
        matrix = _rocm_matrix(text)
        hosts = len(matrix) - situation.gpus
        if hosts < 1 or any(len(row) != len(matrix) for row in matrix):
            raise NoResultError(f"a matrix of {len(matrix)} devices, expected {situation.gpus} GPUs and a host")
        sources = range(hosts, len(matrix)) if between_gpus else range(hosts)
        cells = [matrix[a][b] for a in sources for b in range(hosts, len(matrix)) if a != b]
        known = [cell for cell in cells if cell is not None]
        if not known or len(known) != len(cells):
            raise NoResultError(f"{len(known)} of {len(cells)} paths were measured")
        return round(min(known), 2)

    return read


def _rocm_matrix(text: str) -> list[list[float | None]]:
    _, found, rest = text.partition("Unidirectional copy peak bandwidth GB/s")
    if not found:
        raise NoResultError("rocm_bandwidth_test gives no unidirectional matrix")
    rest = rest.partition("Bidirectional")[0]
    try:
        return [[_cell(cell) for cell in row[2].split()] for row in map(_BANDWIDTH_ROW.match, rest.splitlines()) if row]
    except ValueError as error:
        raise NoResultError(str(error)) from error


def _gpu_burn(situation: Situation) -> str:
    return f"gpu_burn {situation.seconds}"


def _nvbandwidth(testcase: str) -> Callable[[Situation], str]:
    return lambda _situation: f"nvbandwidth -t {testcase} -j"


def _rocm_bandwidth(_situation: Situation) -> str:
    return "rocm_bandwidth_test -a"


def _path_test(what: str, testcase: str, *, between_gpus: bool) -> Measurement:
    reader = rocm_bandwidth_reader(between_gpus=between_gpus)
    nvidia_reader = nvbandwidth_reader(testcase, between_gpus=between_gpus)
    variants = {
        "nvidia": Variant("nvbandwidth", NVBANDWIDTH_PACKAGE, _nvbandwidth(testcase), nvidia_reader, False),
        "amd": Variant("rocm_bandwidth_test", "rocm-bandwidth-test", _rocm_bandwidth, reader, False),
    }
    needs = MappingProxyType(variants)
    return Measurement(unit="GB/s", what=what, variants=needs, seconds=60, grace_s=240, needs=frozenset({"gpus"}))


GPU_TESTS = {
    "gpu-burn": Measurement(
        unit="Gflop/s",
        what="matrix products on every GPU at once in most of its memory, compared; the slowest GPU counts",
        variants=MappingProxyType(
            {"nvidia": Variant("gpu_burn", "gpu-burn, built from its source", _gpu_burn, read_gpu_burn, False)}
        ),
        seconds=300,
        is_load=True,
        needs=frozenset({"gpus"}),
    ),
    "host-to-gpu": _path_test(
        "copies from host memory to each GPU; the slowest counts", "host_to_device_memcpy_ce", between_gpus=False
    ),
    "gpu-to-gpu": _path_test(
        "copies between each pair of GPUs; the slowest counts", "device_to_device_memcpy_read_ce", between_gpus=True
    ),
}
