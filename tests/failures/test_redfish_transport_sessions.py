"""Logging in and out of BMCs that redirect, forget, refuse or run out of sessions."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.failures.transport_bmcs import AT_ONCE, LOGIN, bmc, inspect, report, rule
from tests.operations.redfish.site import run_pyinfra
from tests.simulator.discovery.sites import environment_of, logins_at, machine, make_site, node_of, port_of

from metalwright.simulator.running import RunningService
from metalwright.simulator.spec import BmcSpec

SESSIONS = "/redfish/v1/SessionService/Sessions"
FOUR_SESSIONS = BmcSpec(macs=("52:54:00:bc:00:01",), max_sessions=4)


@pytest.fixture
def service() -> Iterator[RunningService]:
    with bmc(bmc=FOUR_SESSIONS) as running:
        yield running


def wait(condition: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.05)


def test_rt_10_no_failing_run_leaves_a_session(service: RunningService) -> None:
    """One session for each client, deleted on every way out; a full table is waited for, and then named."""
    rule(service, "GET", "Systems/1$", status=500, headers=AT_ONCE)
    for _ in range(10):
        assert inspect(service).code == 1
        assert service.bmc.gate.open_sessions == 0
    assert service.traffic.logins == 10


def test_rt_10_an_interrupted_run_leaves_no_session(service: RunningService) -> None:
    rule(service, "GET", "Systems$", delay_s=30)
    command = [sys.executable, "-m", "metalwright.cli", "inspect", service.url]
    with subprocess.Popen(
        command, env=environment_of(LOGIN), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as child:
        wait(lambda: bool(service.traffic.of("GET", "/Systems")))
        assert service.bmc.gate.open_sessions == 1
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=20)
    assert b"Traceback" not in err
    assert service.bmc.gate.open_sessions == 0


def test_rt_10_a_full_table_is_named(service: RunningService) -> None:
    rule(service, "POST", "Sessions$", status=503, message="IDRAC.2.1.RAC0218", headers={"Retry-After": "60"})
    run = inspect(service, "--deadline", "50")
    assert run.code == 1
    assert "all sessions of the BMC are in use" in run.err
    assert f"POST {service.url}{SESSIONS}" in run.err
    assert "RAC0218" in run.err
    assert service.traffic.logins == 1


def test_rt_12_a_login_is_redirected_with_its_body(service: RunningService) -> None:
    """A redirect is followed once, on the same host over https, with method and body; anywhere else nothing is sent."""
    rule(service, "POST", "Sessions$", status=308, headers={"Location": f"{SESSIONS}/"})
    assert report(inspect(service))["system"]["serial"] == "LAB0001X"
    assert [record.status for record in service.traffic.of("POST")] == [308, 201]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_rt_12_nothing_is_sent_to_another_host(service: RunningService, scheme: str) -> None:
    with socket.create_server(("127.92.200.1", 0)) as listener:
        listener.settimeout(0)
        place = f"{scheme}://127.92.200.1:{listener.getsockname()[1]}/redfish/v1/Sessions"
        rule(service, "POST", "Sessions$", status=301, headers={"Location": place})
        run = inspect(service)
        assert run.code == 1
        assert "redirects to another host or protocol" in run.err
        assert place in run.err
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_rt_14_a_session_that_expires_is_renewed(service: RunningService) -> None:
    """The login is sent again once for each expiry and the request repeated; never with Basic authentication."""
    rule(
        service, None, "^/redfish/v1/.", when={"token_requests_over": 8}, status=401, message="Base.1.8.NoValidSession"
    )
    assert report(inspect(service))["system"]["serial"] == "LAB0001X"
    records = service.traffic.records
    good = sum(record.auth == "token" and record.status == 200 for record in records)
    assert 3 <= service.traffic.logins <= good // 7 + 1
    assert {record.auth for record in records} == {"", "token"}


def test_rt_14_a_refused_renewal_ends_it_at_once(service: RunningService) -> None:
    rule(
        service, None, "^/redfish/v1/.", when={"token_requests_over": 5}, status=401, message="Base.1.8.NoValidSession"
    )
    after = {"method": "POST", "path": "Sessions$"}
    rule(service, "POST", "Sessions$", when={"after": after}, status=401, message="Base.1.8.InsufficientPrivilege")
    run = inspect(service)
    assert run.code == 1
    assert "the BMC refused the login of user 'admin'" in run.err
    assert service.traffic.logins == 2
    assert {record.auth for record in service.traffic.records} == {"", "token"}


def test_rt_15_a_wrong_password_is_sent_once_whoever_has_it(service: RunningService, tmp_path: Path) -> None:
    """A refusal is remembered for the BMC by every process; logins at one BMC come one after the other."""
    rule(service, "POST", "Sessions$", delay_s=2)
    host = service.url.removeprefix("https://").partition(":")[0]
    make_site(tmp_path, [{**node_of(machine(1)), "bmc_address": host}], port_of(service))
    environment = environment_of({"FACTORY": "wrong-secret", "METALWRIGHT_SITE": str(tmp_path)})
    words = [("inspect", "lab-1"), ("match", "lab-1"), ("plan", "lab-1")]
    settings: dict[str, Any] = {
        "env": environment,
        "stdin": subprocess.DEVNULL,
        "stderr": subprocess.PIPE,
        "text": True,
    }
    command = [sys.executable, "-m", "metalwright.cli", "--site", str(tmp_path)]
    workers = [subprocess.Popen([*command, *more], stdout=subprocess.DEVNULL, **settings) for more in words]
    said = [worker.communicate(timeout=60)[1] for worker in workers]
    assert [worker.returncode for worker in workers[:2]] == [1, 1], said
    run = run_pyinfra(tmp_path, ("-y", "@redfish/lab-1", "exec", "--", "GET", "@system"), environment)
    assert run.code == 1
    assert "is not sent again" in run.text
    assert logins_at(service) == ["LoginRefused"]
    assert service.traffic.logins == 1
    assert all("Traceback" not in text and "wrong-secret" not in text for text in [*said, run.text])


def test_rt_23_the_login_carries_no_credential_header(service: RunningService) -> None:
    """Neither the service root nor the login carries a credential header; the login's body is JSON and says so."""
    rule(service, "POST", "Sessions$", when={"header": {"Authorization": "."}}, status=415)
    rule(service, "POST", "Sessions$", when={"header_not": {"Content-Type": "^application/json"}}, status=415)
    assert report(inspect(service))
    logins = service.traffic.of("POST", "Sessions")
    roots = [record for record in service.traffic.records if record.path.rstrip("/") == "/redfish/v1"]
    assert [record.auth for record in logins + roots] == [""] * (len(roots) + 1)
