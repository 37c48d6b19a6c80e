"""A node that says nothing where something must be said is unknown, never well."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.nvidia_text import GPUS, nvidia_smi

from metalwright.acceptance.burn_in.tests import BURN_IN
from metalwright.acceptance.gpu_health import RAS, XID
from metalwright.acceptance.suite import test_measured as measured
from metalwright.acceptance.suite.test_gpus import test_gpu_health as check_gpu_health
from metalwright.acceptance.suite.test_software import test_ports as check_ports

LISTENS = "LISTEN 0 128 0.0.0.0:22 0.0.0.0:*\n"
BOOTED = "2026-11-30T10:00:00+0000 gpu-1 kernel: Linux version 6.1\n"
XID_CHECK = {"id": XID, "vendor": "nvidia", "count": 8}


def host(text: str, rc: int = 0) -> SimpleNamespace:
    return SimpleNamespace(
        run=lambda command: SimpleNamespace(rc=rc, stdout=text, stderr=""), check_output=lambda command: text
    )


def test_ports_pass_only_when_the_port_of_the_login_is_seen_to_listen() -> None:
    check_ports(host(LISTENS), {"allowed": [22]}, pytest.skip)
    with pytest.raises(pytest.skip.Exception, match="no port at all"):
        check_ports(host(""), {"allowed": [22]}, pytest.skip)
    with pytest.raises(AssertionError, match="9100"):
        check_ports(host(f"{LISTENS}LISTEN 0 4096 *:9100 *:*\n"), {"allowed": [22]}, pytest.skip)


@pytest.mark.parametrize("log", ["", "\n", "-- No entries --\n", "-- Journal begins at Mon 2026-11-30. --\n"])
def test_an_empty_kernel_log_says_nothing_of_gpu_errors(log: str) -> None:
    check_gpu_health(host(BOOTED), XID_CHECK, {}, pytest.skip)
    with pytest.raises(pytest.skip.Exception, match="kernel log of this boot is empty"):
        check_gpu_health(host(log), XID_CHECK, {}, pytest.skip)


@pytest.mark.parametrize("rc", [1, 14, 137, 255])
def test_a_gpu_tool_that_answers_in_full_and_ends_with_another_status_is_a_failure(rc: int) -> None:
    """nvidia-smi ends with 14 where a board's own information is damaged, and prints the document all the same."""
    count = {"id": "count", "vendor": "nvidia", "count": GPUS}
    check_gpu_health(host(nvidia_smi()), count, {}, pytest.skip)
    with pytest.raises(AssertionError, match=f"exit status {rc} at the end"):
        check_gpu_health(host(nvidia_smi(), rc), count, {}, pytest.skip)


def test_error_counts_that_could_not_all_be_read_are_unknown() -> None:
    counts = "/sys/class/drm/card0/device/ras/umc_err_count:ue: 0\n"
    ras = {"id": RAS, "vendor": "amd", "count": 1}
    check_gpu_health(host(counts), ras, {}, pytest.skip)
    with pytest.raises(pytest.skip.Exception, match="cannot be read"):
        check_gpu_health(host(counts, 2), ras, {}, pytest.skip)


def test_fewer_rdma_devices_than_infiniband_ports_are_no_measurement() -> None:
    """The slowest of those that are there says nothing of the one that is gone."""
    check = {"id": "rdma-write", "peer": "10.0.0.9", "infiniband_ports": 2}
    with pytest.raises(pytest.skip.Exception, match="1 RDMA devices for 2 InfiniBand ports"):
        measured._situation(host("mlx5_0\n"), BURN_IN["rdma-write"], check, pytest.skip)
