"""What the tools print becomes a number only when the work was done, by every part, without a fault."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.accelerators.texts import text

from metalwright.acceptance.burn_in.measurement import Measurement, Reading, Situation, conclude
from metalwright.acceptance.burn_in.tests import BURN_IN

OUTPUTS = Path(__file__).with_name("outputs")
RDMA = ("mlx5_0", "mlx5_1")


def situation(vendor: str = "nvidia") -> Situation:
    return Situation(seconds=1, vendor=vendor, gpus=2, peer="10.0.0.9", root_disk="nvme0n1", rdma_devices=RDMA)


def output(name: str) -> str:
    """What the tool printed; the first line of the file says where the text comes from."""
    return (OUTPUTS / name).read_text().partition("\n")[2]


def judged(name: str, text: str, *, rc: int = 0, stderr: str = "", vendor: str = "nvidia") -> Reading:
    variant = BURN_IN[name].variant(vendor)
    assert variant is not None
    return conclude(variant, situation(vendor), rc, text, stderr)


FIO = json.dumps(
    {
        "jobs": [
            {
                "error": 0,
                "read": {"total_ios": 1559, "io_bytes": 1634729984, "bw_bytes": 1631467049, "iops": 1555.888224},
                "write": {"total_ios": 0, "io_bytes": 0, "bw_bytes": 0, "iops": 0},
            }
        ]
    }
)
IPERF3 = json.dumps({"start": {}, "end": {"sum_received": {"bytes": 125000000, "bits_per_second": 9.4127e9}}})
STRESS_NG = """\
metrics:
    - stressor: cpu
      bogo-ops: 399
      bogo-ops-per-second-usr-sys-time: 2494.779096
      bogo-ops-per-second-real-time: 398.093771
"""
GOOD = [
    ("cpu-hash", "+DT:sha256:1:16384\n+R:1:x\n+F:22:sha256:31457280.00\n", 31.5, "nvidia"),
    ("disk-read", "64+0 records in\n268435456 bytes (268 MB, 256 MiB) copied, 0.5 s, 537 MB/s\n", 536.9, "nvidia"),
    ("fio-read", FIO, 1631.5, "nvidia"),
    ("fio-randread", f"fio: a warning\n{FIO}", 1555.9, "nvidia"),
    ("iperf3", IPERF3, 9.413, "nvidia"),
    ("stress-cpu", STRESS_NG, 398.09, "nvidia"),
    ("gpu-burn", output("gpu_burn.txt"), 50900.0, "nvidia"),
    ("host-to-gpu", output("nvbandwidth.txt"), 54.87, "nvidia"),
    ("gpu-to-gpu", output("nvbandwidth.txt"), 388.4, "nvidia"),
    ("host-to-gpu", output("rocm_bandwidth_test.txt"), 55.7, "amd"),
    ("gpu-to-gpu", output("rocm_bandwidth_test.txt"), 48.69, "amd"),
    ("rdma-write", output("ib_write_bw.txt"), 391.05, "nvidia"),
    ("nccl-all-reduce", output("all_reduce_perf.txt"), 478.825, "nvidia"),
    ("nccl-all-reduce", output("all_reduce_perf.txt"), 478.825, "amd"),
    ("dcgm-diag", output("dcgmi.txt"), 2.0, "nvidia"),
]


@pytest.mark.parametrize(("name", "text", "value", "vendor"), GOOD)
def test_work_that_was_done_is_measured(name: str, text: str, value: float, vendor: str) -> None:
    assert judged(name, text, vendor=vendor) == Reading("PASS", value)


def test_outputs_that_others_captured_are_read() -> None:
    alone = Situation(seconds=1, gpus=1, rdma_devices=("mlx5_0",))
    for name, file, value in (("gpu-burn", "gpu_burn_one.txt", 3501), ("rdma-write", "ib_write_bw_one.txt", 98.02)):
        variant = BURN_IN[name].variant("nvidia")
        assert variant is not None
        assert conclude(variant, alone, 0, output(file), "") == Reading("PASS", value)
    dcgm = BURN_IN["dcgm-diag"].variant("nvidia")
    assert dcgm is not None
    assert conclude(dcgm, Situation(seconds=1, gpus=8), 0, text("dcgm-3-real"), "") == Reading("PASS", 8)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("gpu-burn", output("gpu_burn.txt").replace("GPU 1: OK", "GPU 1: FAULTY"), "gpu_burn says GPU 1: FAULTY"),
        ("gpu-burn", output("gpu_burn.txt").replace("errors: 0 - 0", "errors: 0 - 2 (WARNING!)", 1), "wrong results"),
        (
            "host-to-gpu",
            output("nvbandwidth.txt").replace("Passed", "Error", 1),
            "says host_to_device_memcpy_ce: Error",
        ),
        ("nccl-all-reduce", output("all_reduce_perf.txt").replace("481.81      0", "481.81      7"), "7 values"),
        ("nccl-all-reduce", output("all_reduce_perf.txt").replace("0 OK", "3 FAILED"), "3 values"),
        (
            "dcgm-diag",
            output("dcgmi.txt").replace('"1", "status": "Pass"', '"1", "status": "Fail"'),
            "FAIL in GPU Mem",
        ),
        ("fio-read", FIO.replace('"error": 0', '"error": 5'), "fio met error 5"),
    ],
)
def test_a_fault_that_the_tool_tells_fails_though_it_ended_well(name: str, text: str, why: str) -> None:
    found = judged(name, text)
    assert found.verdict == "FAIL"
    assert why in str(found.why)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("gpu-burn", output("gpu_burn.txt").replace("\tGPU 1: OK\n", ""), "1 of 2 GPUs"),
        ("gpu-burn", re.sub(r"\((50800|51000) ", "(0 ", output("gpu_burn.txt")), "rates of 1 of 2"),
        ("gpu-to-gpu", output("nvbandwidth.txt").replace('"388.40"', '"N/A"'), "1 of 2 GPUs"),
        ("gpu-to-gpu", output("nvbandwidth.txt").replace('["N/A", "390.12"], ', ""), "from 1 of 2 GPUs"),
        ("disk-read", "0+1 records in\n512 bytes (512 B, 0.5 KiB) copied, 0.5 s, 1 kB/s\n", "512 of 268435456 bytes"),
        ("host-to-gpu", output("nvbandwidth.txt").replace(', "54.87"', ""), "1 of 2 GPUs"),
        ("host-to-gpu", output("nvbandwidth.txt").replace('"54.87"', '"nan"'), "'nan' is given"),
        ("gpu-to-gpu", output("nvbandwidth.txt").replace('"388.40"', "NaN"), "nan is given"),
        ("gpu-to-gpu", output("nvbandwidth.txt").replace('"388.40"', '"inf"'), "'inf' is given"),
        ("rdma-write", output("ib_write_bw.txt").partition("391.05")[0], "1 of 2 RDMA devices"),
        ("nccl-all-reduce", output("all_reduce_perf.txt").replace("Rank  1", "Rank  0"), "1 of 2 GPUs"),
        ("nccl-all-reduce", output("all_reduce_perf.txt").partition("# Avg")[0], "before its summary"),
        ("nccl-all-reduce", output("all_reduce_perf.txt").replace(" 478.825", " 0"), "no data moved"),
        ("dcgm-diag", output("dcgmi.txt").replace('"1", "status": "Pass"', '"1", "status": "Skip"'), "no pass"),
        ("stress-cpu", STRESS_NG.replace("399", "0"), "did no operation"),
        ("stress-cpu", "metrics:\n", "0 stressors"),
        ("fio-write", FIO, "fio did no write"),
        ("iperf3", '{"end": {}, "error": "unable to connect to server"}', "unable to connect"),
        ("cpu-hash", "+F:22:sha256:0.00\n", "no work was done"),
        ("cpu-hash", "+F:22:sha256:nan\n", "no work was done"),
    ],
)
def test_work_that_was_not_done_is_no_result_though_the_tool_ended_well(name: str, text: str, why: str) -> None:
    found = judged(name, text)
    assert found.verdict == "NOT-RUN"
    assert why in str(found.why)


@pytest.mark.parametrize(("name", "text", "_value", "vendor"), GOOD)
@pytest.mark.parametrize(("rc", "verdict"), [(1, "FAIL"), (2, "FAIL"), (137, "FAIL"), (255, "FAIL"), (127, "NOT-RUN")])
def test_no_output_makes_a_wrong_exit_status_right(
    name: str, text: str, _value: float, vendor: str, rc: int, verdict: str
) -> None:
    assert judged(name, text, rc=rc, vendor=vendor).verdict == verdict


def test_a_tool_that_was_killed_says_by_which_signal() -> None:
    assert judged("stress-cpu", "", rc=137).why == "stress-ng was killed by signal 9"


@pytest.mark.parametrize("name", sorted(BURN_IN))
def test_silence_is_no_result(name: str) -> None:
    for vendor in BURN_IN[name].variants:
        found = judged(name, "", vendor=vendor)
        assert found.verdict == "NOT-RUN"
        assert "ended well and proves nothing" in str(found.why)


@settings(max_examples=300)
@given(
    case=st.sampled_from(GOOD),
    start=st.integers(0, 3000),
    length=st.integers(0, 400),
    put=st.one_of(st.sampled_from(["", "nan", "inf", "-1", "0", "FAULTY", "null", "[[", "N/A", "1e400"]), st.text()),
)
def test_no_damage_to_an_output_crashes_or_measures_what_is_no_number(
    case: tuple[str, str, float, str], start: int, length: int, put: str
) -> None:
    name, text, _, vendor = case
    found = judged(name, text[:start] + put + text[start + length :], vendor=vendor)
    assert found.verdict in ("PASS", "FAIL", "NOT-RUN")
    assert (found.verdict == "PASS") == (found.value is not None and 0 < found.value < float("inf"))


@given(text=st.text())
def test_no_text_at_all_is_taken_for_a_result(text: str) -> None:
    assert judged("gpu-burn", text).verdict != "PASS"


@pytest.mark.parametrize(("name", "test"), BURN_IN.items())
def test_every_command_is_a_line_that_a_shell_understands(name: str, test: Measurement) -> None:
    for vendor, variant in test.variants.items():
        line = variant.command(situation(vendor))
        assert variant.tool in line
        assert subprocess.run(["sh", "-n", "-c", line], capture_output=True, check=False).stderr == b""


def test_a_test_of_gpus_has_no_tool_for_an_unknown_maker() -> None:
    assert BURN_IN["host-to-gpu"].variant("intel") is None
    assert BURN_IN["host-to-gpu"].variant(None) is None
    assert BURN_IN["stress-cpu"].variant(None) is not None
