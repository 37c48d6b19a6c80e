"""A node that says nothing where something must be said is unknown, never well."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from metalwright.acceptance.gpu_health import XID
from metalwright.acceptance.suite.test_gpus import test_gpu_health as check_gpu_health
from metalwright.acceptance.suite.test_software import test_ports as check_ports

LISTENS = "LISTEN 0 128 0.0.0.0:22 0.0.0.0:*\n"
BOOTED = "2026-11-30T10:00:00+0000 gpu-1 kernel: Linux version 6.1\n"
XID_CHECK = {"id": XID, "vendor": "nvidia", "count": 8}


def host(text: str) -> SimpleNamespace:
    return SimpleNamespace(
        run=lambda command: SimpleNamespace(rc=0, stdout=text, stderr=""), check_output=lambda command: text
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
