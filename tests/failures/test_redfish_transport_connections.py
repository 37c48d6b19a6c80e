"""Connections that are closed, not trusted, or never come about."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.failures.transport_bmcs import bmc, inspect, report, rule
from tests.simulator.discovery.sites import logins_at, machine, make_site, node_of, port_of, run_cli
from tests.simulator.redfish.conftest import make_certificate

from metalwright.simulator.running import RunningService

OTHER = "ab" * 32


@pytest.fixture
def service() -> Iterator[RunningService]:
    with bmc() as running:
        yield running


def fingerprint(service: RunningService) -> str:
    """What ``inspect`` says that the BMC shows."""
    return inspect(service).err.partition("sha256:")[2].partition(" ")[0]


def test_rt_13_every_second_request_of_a_connection_is_dropped_and_all_is_read(service: RunningService) -> None:
    rule(service, None, ".", when={"connection_request": 2}, close="before")
    assert len(report(inspect(service))["psus"]) == 2
    assert len(logins_at(service)) == 1


def test_rt_17_no_request_goes_to_a_bmc_with_another_certificate(service: RunningService) -> None:
    """The certificate is compared with the pin before any request; a first use is said, a declared pin allows none."""
    right = fingerprint(service)
    assert report(inspect(service, METALWRIGHT_BMC_FINGERPRINT=right))
    seen = service.traffic.total
    run = inspect(service, METALWRIGHT_BMC_FINGERPRINT=OTHER)
    assert run.code == 1
    assert "is not the pinned one; no credential was sent" in run.err
    assert right in run.err
    assert service.traffic.total == seen


def test_rt_17_the_rack_file_may_declare_the_certificate(service: RunningService, tmp_path: Path) -> None:
    right = fingerprint(service)
    place = {**node_of(machine(1)), "bmc_address": service.url.removeprefix("https://").partition(":")[0]}
    seen = service.traffic.total
    run = make_site(tmp_path / "a", [{**place, "bmc_fingerprint": OTHER}], port_of(service)).run("inspect", "lab-1")
    assert run.code == 1
    assert "is not the pinned one" in run.err
    assert service.traffic.total == seen
    site = make_site(tmp_path / "b", [{**place, "bmc_fingerprint": right}], port_of(service))
    assert site.run("inspect", "lab-1").code == 0


@contextmanager
def old_tls(folder: Path, address: str) -> Iterator[tuple[str, list[str]]]:
    """A server that speaks nothing newer than TLS 1.1; gives its URL, and how each connection to it ended."""
    context, _ = make_certificate(folder)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    ends: list[str] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    context.wrap_socket(connection, server_side=True).close()
                    ends.append("agreed")
                except OSError as error:
                    ends.append(str(error))

    with socket.create_server((address, 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"https://{address}:{listener.getsockname()[1]}", ends
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")  # the old version is the point
def test_rt_27_an_old_tls_version_is_named_and_not_tried_again(tmp_path: Path) -> None:
    """The error says that both sides have no TLS version in common; one attempt, nothing is lowered or sent."""
    with old_tls(tmp_path, "127.92.200.2") as (url, ends):
        run = run_cli("inspect", url)
    assert run.code == 1
    assert "do not agree on a protocol version or cipher" in run.err
    assert url in run.err
    assert "protocol version" in run.err.partition("found:")[2]
    assert len(ends) == 1
    assert "agreed" not in ends


def test_rt_27_a_handshake_that_is_cut_off_is_told_as_such(service: RunningService) -> None:
    service.system.faults.set("handshake-closed")
    run = inspect(service)
    assert run.code == 1
    assert "do not agree on a protocol version or cipher" in run.err
    assert service.traffic.total == 0
