"""Silent, dripping, looping and lying BMCs beside a good one: none costs more than its own time and requests."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.failures.transport_bmcs import bmc, command, rule
from tests.operations.redfish.site import run_pyinfra
from tests.simulator.discovery.sites import SiteOnDisk, environment_of, machine, make_site, node_of
from tests.simulator.redfish.conftest import make_certificate

from metalwright.errors import BmcAnswerError, BmcUnreachableError
from metalwright.redfish import Contact, Limits, async_exchange, blocking_exchange
from metalwright.redfish.async_client import AsyncClient
from metalwright.redfish.blocking_client import BlockingClient
from metalwright.simulator.running import RunningService

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # asyncio waits for the TLS farewell of a peer that never says one

SUPPLIES = "/redfish/v1/Chassis/1/PowerSubsystem/PowerSupplies"
DEADLINE_S = 10.0
AT_LAST_S = 90.0
"""Later than any deadline on a busy machine, and long before a drip ends by itself."""
Talk = Callable[[ssl.SSLSocket], None]


def drip(connection: ssl.SSLSocket) -> None:
    """One byte of a header every now and then: no socket timeout ever ends it."""
    for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 1000:
        connection.sendall(bytes([byte]))
        time.sleep(0.2)


def drip_body(connection: ssl.SSLSocket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{")
    for _ in range(1000):
        connection.sendall(b" ")
        time.sleep(0.2)


def flood(connection: ssl.SSLSocket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while True:
        connection.sendall(b" " * 65536)


@contextmanager
def talking(folder: Path, address: str, talk: Talk) -> Iterator[int]:
    """Answer every request on every connection by ``talk``; gives the port."""
    context, _ = make_certificate(folder)
    is_over = threading.Event()

    def answer(plain: socket.socket) -> None:
        with suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
            while not is_over.is_set() and connection.recv(65536):
                talk(connection)

    def serve() -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(plain,), daemon=True).start()

    with socket.create_server((address, 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            is_over.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Drop what asyncio still holds of broken connections here, and not in another test."""
    yield
    gc.collect()


@dataclass
class Rack:
    """Five nodes: lab-1 is good, the others are not."""

    site: SiteOnDisk
    places: tuple[str, ...]
    bmcs: tuple[RunningService, ...]


def place_of(service: RunningService) -> tuple[str, int]:
    host, _, port = service.url.removeprefix("https://").partition(":")
    return host, int(port)


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    folder = tmp_path_factory.mktemp("rack")
    with ExitStack() as stack:
        good, silent, looping, lying = (stack.enter_context(bmc()) for _ in range(4))
        silent.system.faults.set("connection-silent")
        again = [{"at": "/Members@odata.nextLink", "set": f"{SUPPLIES}?page=2"}]
        rule(looping, "GET", "PowerSupplies$", edit=again)
        nobody = [{"@odata.id": f"{SUPPLIES}/GHOST{number}"} for number in range(5000)]
        rule(lying, "GET", "(PowerSupplies|EthernetInterfaces|Systems)$", edit=[{"at": "/Members", "append": nobody}])
        rule(lying, "GET", "GHOST", delay_s=0.1, status=404)
        dripping = stack.enter_context(talking(folder, "127.92.201.1", drip))
        places = [*[place_of(service) for service in (good, silent, looping, lying)], ("127.92.201.1", dripping)]
        nodes = [
            {**node_of(machine(number)), "name": f"lab-{number}", "bmc_address": host, "bmc_port": port}
            for number, (host, port) in enumerate(places, 1)
        ]
        site = make_site(folder, nodes, connect_timeout_s=4, read_timeout_s=3, bmc_deadline_s=DEADLINE_S)
        yield Rack(site, tuple(f"{host}:{port}" for host, port in places), (good, silent, looping, lying))


def test_pyinfra_ends_in_time_and_the_good_bmc_is_read(rack: Rack) -> None:
    hosts = ",".join(f"@redfish/lab-{number}" for number in range(1, 6))
    text = command("GET", "@chassis/PowerSubsystem/PowerSupplies/*")
    environment = environment_of({"FACTORY": "factory-secret", "METALWRIGHT_SITE": str(rack.site.root)})
    begun = time.monotonic()
    run = run_pyinfra(rack.site.root, ("-y", "-vvv", hosts, "exec", "--", text), environment)
    assert time.monotonic() - begun < AT_LAST_S
    good = [line for line in run.text.splitlines() if "[lab-1]" in line]
    assert any('"PSU2"' in line for line in good), run.text
    assert "leads back or never ends" in run.text
    for silent in ("lab-2", "lab-5"):
        assert f"[{silent}]" in run.text
    assert "does not answer in time" in run.text
    assert len(rack.bmcs[2].traffic.of("GET", "/PowerSupplies")) == 2
    assert "Traceback" not in run.text
    assert all(service.bmc.gate.open_sessions == 0 for service in rack.bmcs)


def test_discover_ends_in_time_and_the_good_bmc_is_claimed(rack: Rack) -> None:
    begun = time.monotonic()
    run = rack.site.run("discover", *rack.places, "--host-deadline", f"{DEADLINE_S:g}", "--json")
    assert time.monotonic() - begun < AT_LAST_S
    assert run.code == 1
    assert "lab-1" in {item["node"] for item in run.json["claimed"]}
    failed = {f"{item['address']}:{item['port']}": item for item in run.json["failed"]}
    assert {rack.places[1], rack.places[4]} <= set(failed)
    assert "Traceback" not in run.err


def ask_blocking(contact: Contact) -> Any:
    with BlockingClient(contact) as client:
        return client.get("/redfish/v1/x")


def ask_async(contact: Contact) -> Any:
    async def main() -> Any:
        async with AsyncClient(contact) as client:
            return await client.get("/redfish/v1/x")

    return asyncio.run(main())


BOTH = pytest.mark.parametrize("ask", [ask_blocking, ask_async], ids=["blocking", "async"])


@BOTH
def test_a_body_that_drips_ends_at_the_read_timeout(ask: Callable[[Contact], Any], tmp_path: Path) -> None:
    begun = time.monotonic()
    with talking(tmp_path, "127.92.201.2", drip_body) as port, pytest.raises(BmcUnreachableError, match="in time"):
        ask(Contact(f"https://127.92.201.2:{port}", limits=Limits(0.5, 0.5, reads=1)))
    assert time.monotonic() - begun < AT_LAST_S


@BOTH
def test_a_body_without_end_is_left_at_its_limit(
    ask: Callable[[Contact], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (async_exchange, blocking_exchange):
        monkeypatch.setattr(module, "MAX_BODY_BYTES", 1024**2)
    with (
        talking(tmp_path, "127.92.201.3", flood) as port,
        pytest.raises(BmcAnswerError, match="does not end") as caught,
    ):
        ask(Contact(f"https://127.92.201.3:{port}", limits=Limits(5, 5)))
    assert "more than 1 MiB" in str(caught.value)
