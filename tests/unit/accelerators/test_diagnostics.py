"""DCGM, NCCL's tests and the kernel log: a skip, zero work or a cut-off run is never a success."""

from __future__ import annotations

import json

import pytest
from tests.accelerators.texts import text

from metalwright.accelerators import dcgm, nccl_tests, xid
from metalwright.accelerators.data import rows_of
from metalwright.accelerators.dcgm import DcgmResult


def test_dcgm_3_is_read_past_its_warning() -> None:
    found = dcgm.parse(text("dcgm-3-real"))
    assert (found.version, found.failure, found.verdict) == ("3.1.0", None, "PASS")
    assert found.count("PASS") == len(found.results) == 9 + 8
    assert found.results[0].gpus == tuple(range(8))
    assert found.results[-1] == DcgmResult(category="Custom", test="software", gpus=(7,), status="PASS")


def test_dcgm_4_names_the_gpu_that_failed_and_why() -> None:
    found = dcgm.parse(text("dcgm-4-fail"))
    assert (found.version, found.driver_version, found.verdict) == ("4.2.3", "580.95.05", "FAIL")
    failed = [result for result in found.results if result.status == "FAIL"]
    assert failed == [
        DcgmResult(
            category="Hardware", test="memory", gpus=(1,), status="FAIL", warnings=("A DBE was found on GPU 1.",)
        )
    ]


@pytest.mark.parametrize("status", ["Skip", "SKIPPED", "NotRun", "", "Passed?", None, 3])
def test_a_test_that_did_not_run_is_no_pass(status: object) -> None:
    results = [{"gpu_ids": "0", "status": "Pass"}, {"gpu_ids": "1", "status": status}]
    tests = [{"name": "memory", "results": results}]
    document = {"DCGM GPU Diagnostic": {"test_categories": [{"category": "Hardware", "tests": tests}]}}
    assert dcgm.parse(json.dumps(document)).verdict == "NOT-RUN"


@pytest.mark.parametrize("name", ["dcgm-4-skip", "dcgm-no-engine"])
def test_nothing_run_is_not_run(name: str) -> None:
    assert dcgm.parse(text(name)).verdict == "NOT-RUN"


def test_no_results_say_why() -> None:
    failure = dcgm.parse(text("dcgm-no-engine")).failure
    assert failure is not None
    assert failure.said.startswith("Error: unable to establish a connection")


@pytest.mark.parametrize(
    ("name", "average", "peak", "rows", "wrong"),
    [
        ("nccl-h100-2-nodes", 450.404, 467.28, 10, 0),
        ("nccl-h200-node", 476.967, 476.98, 2, 0),
        ("nccl-v100-old", 4.22207, 9.40, 4, None),
    ],
)
def test_real_runs_are_read(name: str, average: float, peak: float, rows: int, wrong: int | None) -> None:
    found = nccl_tests.parse(text(name))
    assert (found.bus_gb_per_s, found.peak_gb_per_s, len(found.transfers), found.wrong) == (average, peak, rows, wrong)
    assert found.has_worked


def test_the_library_and_the_ranks_are_read() -> None:
    found = nccl_tests.parse(text("nccl-h200-node"))
    assert (found.library_version, found.ranks) == ("2.19.3+cuda12.2", 5)
    assert found.transfers[0].model_dump() == {
        "size_bytes": 8589934592,
        "placement": "out-of-place",
        "time_us": 31517.0,
        "algorithm_gb_per_s": 272.55,
        "bus_gb_per_s": 476.96,
        "wrong": 0,
    }


@pytest.mark.parametrize("name", ["nccl-zero-work", "nccl-wrong", "nccl-failed"])
def test_no_work_wrong_values_and_failures_have_not_worked(name: str) -> None:
    assert not nccl_tests.parse(text(name)).has_worked


def test_a_run_that_was_cut_off_has_not_worked() -> None:
    whole = text("nccl-h100-2-nodes")
    assert not nccl_tests.parse(whole[: whole.index("# Out of bounds")]).has_worked
    assert not nccl_tests.parse(whole.replace("450.404", "nan")).has_worked


def test_a_failure_says_which() -> None:
    assert nccl_tests.parse(text("nccl-failed")).errors[0].startswith("node1: Test NCCL failure common.cu:1005")


def test_a_fallen_gpu_counts_once_however_often_the_log_says_it() -> None:
    (event,) = xid.events(text("kernel-log-xid-79"))
    assert (event.address, event.code, event.severity, event.action) == ("0000:10:00.0", 79, "critical", "reboot")


def test_old_drivers_words_are_read() -> None:
    fault, fallen = xid.events(text("kernel-log-xid-old"))
    assert (fault.code, fault.address, fault.action) == (31, "0000:01:00.0", "restart-workload")
    assert (fallen.code, fallen.known is not None) == (79, True)


def test_every_code_that_ends_a_gpu_s_service_has_a_meaning_and_an_action() -> None:
    found = xid.events(text("kernel-log-xid-63")) + xid.events(text("kernel-log-xids"))
    assert [(event.kind, event.code, event.action) for event in found] == [
        ("Xid", 63, "reset-gpu"),
        ("Xid", 48, "reset-gpu"),
        ("Xid", 64, "replace"),
        ("Xid", 74, "reset-gpu"),
        ("Xid", 94, "restart-workload"),
        ("Xid", 95, "reset-gpu"),
        ("Xid", 9999, "replace"),
        ("Xid", 43, "restart-workload"),
        ("SXid", 11001, "replace"),
    ]


def test_an_unknown_code_is_a_warning_and_a_fatal_one_of_a_switch_critical() -> None:
    by_code = {event.code: event for event in xid.events(text("kernel-log-xids"))}
    assert (by_code[9999].known, by_code[9999].severity) == (None, "warning")
    assert by_code[11001].severity == "critical"


def test_every_row_of_the_table_has_a_meaning_and_a_source() -> None:
    rows = xid.meanings().values()
    assert {48, 63, 64, 74, 79, 94, 95} <= set(xid.meanings())
    assert all(row.source.startswith("https://") and row.meaning for row in rows)
    assert len(rows) == len(rows_of("xid", "xid"))


def test_every_row_of_the_table_was_read_at_its_source() -> None:
    assert [row.code for row in xid.meanings().values() if not row.is_read] == []
