from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.simulator.discovery.sites import machine

from metalwright.simulator.running import RunningService, service_in_thread

ADDRESSES = ("127.85.0.1", "127.85.0.2", "127.85.0.3")


@pytest.fixture
def port() -> int:
    """A port that is free on all addresses of a test."""
    while True:
        with ExitStack() as stack:
            first = stack.enter_context(socket.create_server((ADDRESSES[0], 0)))
            port: int = first.getsockname()[1]
            try:
                for address in ADDRESSES[1:]:
                    stack.enter_context(socket.create_server((address, port)))
            except OSError:
                continue
            return port


@pytest.fixture
def first(port: int) -> Iterator[RunningService]:
    """The BMC of lab-1 at 127.85.0.1."""
    with service_in_thread(machine(1), ADDRESSES[0], port=port) as service:
        yield service


@pytest.fixture
def second(port: int) -> Iterator[RunningService]:
    """The BMC of lab-2 at 127.85.0.2, on the same port."""
    with service_in_thread(machine(2), ADDRESSES[1], port=port) as service:
        yield service
