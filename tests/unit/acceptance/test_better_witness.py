"""What the BMC left open is settled by the firmware's table and the GPU driver, or stays open."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.desired import blueprint, node, site, stamp
from tests.loopback_ssh import LoopbackServer
from tests.unit.acceptance.tables import EMPTY, module, od, processor, system
from tests.unit.acceptance.test_run import job_for, verdicts

from metalwright.acceptance.expectations import expectations
from metalwright.acceptance.readings import driver_gpus
from metalwright.acceptance.run import run_acceptance
from metalwright.acceptance.smbios import Module, read_table
from metalwright.acceptance.suite import test_better_witness as suite

SIXTEEN = [module(f"DIMM_{n}", 65536) for n in range(16)]
DIMMS = {"id": "smbios", "total_gib": 1024, "dimms": 16, "size_gib": 64}
PRODUCT = {"id": "smbios", "manufacturer": "Supermicro", "models": ["SYS-821GE-TNHR"]}
CPUS = {"id": "smbios", "count": 2, "models": ["Xeon Platinum 8462Y+"]}
GPUS = {"id": "driver", "vendor": "nvidia", "count": 2, "models": ["H100 SXM 80GB"], "memory_gib": 80}
H100 = "NVIDIA H100 80GB HBM3, 81559\n"


def test_the_table_tells_product_populated_processors_and_populated_slots() -> None:
    table = read_table(
        od(
            system("Dell Inc.", "PowerEdge R760xa"),
            processor("Intel(R) Xeon(R) Gold 6430"),
            processor("", status=EMPTY),
            processor("a math coprocessor", kind=4),
            module("A1", 32768),
            module("A2", 0),
            module("A3", 16384),
            module("A4", None),
        )
    )
    assert (table.manufacturer, table.product) == ("Dell Inc.", "PowerEdge R760xa")
    assert table.processors == ("Intel(R) Xeon(R) Gold 6430",)
    assert table.modules == (Module("A1", 32), Module("A3", 16), Module("A4", None))


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_a_crash(table: bytes) -> None:
    found = read_table(table.hex(" "))
    assert all(name for name in found.processors)


@given(st.text(max_size=40))
def test_what_is_no_hexadecimal_is_a_value_error_alone(text: str) -> None:
    with suppress(ValueError):
        read_table(text)


def test_gpus_are_read_from_the_drivers_list() -> None:
    assert driver_gpus(H100 + "No devices were found\n") == (("NVIDIA H100 80GB HBM3", 81559 / 1024),)


def test_only_what_the_bmc_left_open_is_asked() -> None:
    def kinds(*deferred: str) -> set[str]:
        expected = expectations(blueprint(), node(), site=site(), links=(), stamp=stamp(), deferred=deferred)
        return set(expected["checks"]) & {"product", "cpu_model", "dimms", "gpu_model"}

    assert kinds() == set()
    assert kinds("unknown-dimms", "unknown-psus", "identity-uuid") == {"dimms"}
    assert kinds("unknown-model", "unknown-manufacturer") == {"product"}


CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("dimms", DIMMS, od(*SIXTEEN, module("DIMM_16", 0)), "PASS"),
    ("dimms", DIMMS, od(*SIXTEEN[1:]), "FAIL"),
    ("dimms", DIMMS, od(*SIXTEEN[1:], module("DIMM_0", 32768)), "FAIL"),
    ("dimms", DIMMS, od(*SIXTEEN[2:], module("DIMM_0", 32768), module("DIMM_1", 98304)), "FAIL"),
    ("dimms", DIMMS, od(*SIXTEEN[1:], module("DIMM_0", None)), "NOT-RUN"),
    ("dimms", DIMMS, "", "NOT-RUN"),
    ("product", PRODUCT, od(system("Supermicro", "SYS-821GE-TNHR")), "PASS"),
    ("product", PRODUCT, od(system("Supermicro", "SYS-421GE-TNRT")), "FAIL"),
    ("product", PRODUCT, od(), "NOT-RUN"),
    ("cpu_model", CPUS, od(*[processor("Intel(R) Xeon(R) Platinum 8462Y+")] * 2), "PASS"),
    ("cpu_model", CPUS, od(*[processor("Intel(R) Xeon(R) Platinum 8468")] * 2), "FAIL"),
    ("cpu_model", CPUS, od(processor("Intel(R) Xeon(R) Platinum 8462Y+")), "NOT-RUN"),
    ("gpu_model", GPUS, H100 * 2, "PASS"),
    ("gpu_model", GPUS, H100, "FAIL"),
    ("gpu_model", GPUS, H100 + "NVIDIA A100-SXM4-80GB, 81559\n", "FAIL"),
    ("gpu_model", {**GPUS, "vendor": "amd"}, H100 * 2, "NOT-RUN"),
]


class SilentHost:
    """A host whose every command prints the answer, or fails where there is none."""

    def __init__(self, answer: str) -> None:
        self._answer = answer

    def run(self, command: str) -> SimpleNamespace:
        return SimpleNamespace(rc=0 if self._answer else 1, stdout=self._answer)


def judged(kind: str, check: dict[str, Any], answer: str) -> str:
    """The verdict of one check of the suite, called as pytest calls it."""
    host: Any = SilentHost(answer)
    try:
        if kind == "gpu_model":
            suite.test_gpu_model(host, check, pytest.skip)
        else:
            getattr(suite, f"test_{kind}")(suite.table_of(host), check, pytest.skip)
    except pytest.skip.Exception:
        return "NOT-RUN"
    except AssertionError:
        return "FAIL"
    return "PASS"


@pytest.mark.parametrize(("kind", "check", "answer", "verdict"), CASES)
def test_an_answer_is_judged(kind: str, check: dict[str, Any], answer: str, verdict: str) -> None:
    assert judged(kind, check, answer) == verdict


def test_the_node_itself_is_asked(ssh_server: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    stand_in(programs / "od", od(system("Supermicro", "SYS-821GE-TNHR"), *SIXTEEN[1:]))
    stand_in(programs / "nvidia-smi", H100 * 2)
    checks = {"product": [PRODUCT], "dimms": [DIMMS], "cpu_model": [CPUS], "gpu_model": [GPUS]}
    result = run_acceptance(job_for(ssh_server, checks), tmp_path / "evidence")
    assert verdicts(result) == {
        "product:smbios": "PASS",
        "dimms:smbios": "FAIL",
        "cpu_model:smbios": "NOT-RUN",
        "gpu_model:driver": "PASS",
    }
    assert "DIMM_1: 64 GiB" in {test.name: test.why or "" for test in result.tests}["dimms:smbios"]


def stand_in(program: Path, answer: str) -> None:
    """A program that prints the answer, or fails where there is none."""
    program.with_suffix(".txt").write_text(answer)
    program.write_text(f"#!/bin/sh\ncat {program.with_suffix('.txt')}\n" if answer else "#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
