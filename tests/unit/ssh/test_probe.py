"""Whether an operating system answers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

import pytest
from tests.loopback_ssh import LoopbackServer

from metalwright.ssh import probe

ADDRESS = "127.84.0.3"


def served(answer: Callable[[socket.socket], None]) -> tuple[socket.socket, int]:
    listener = socket.create_server((ADDRESS, 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            answer(connection)

    threading.Thread(target=serve, daemon=True).start()
    return listener, listener.getsockname()[1]


def test_an_ssh_server_is_open_with_its_banner(ssh_server: LoopbackServer) -> None:
    found = probe(ssh_server.target.hostname, ssh_server.port)
    assert (found.state, found.is_ssh) == ("open", True)
    assert (found.banner or "").startswith("SSH-2.0-")


def test_lines_before_the_banner_are_allowed() -> None:
    listener, port = served(lambda connection: connection.sendall(b"be nice\r\nSSH-2.0-x y\r\n"))
    with listener:
        assert probe(ADDRESS, port).banner == "SSH-2.0-x y"


def test_a_refused_connection_is_closed() -> None:
    assert probe(ADDRESS, 1).state == "closed"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda connection: None, "closed without an SSH banner"),
        (lambda connection: connection.sendall(b"x" * 5000), "not SSH"),
        (lambda connection: time.sleep(0.6), "no SSH banner came in time|timed out"),
    ],
)
def test_an_open_port_without_a_banner_is_no_operating_system(
    answer: Callable[[socket.socket], None], why: str
) -> None:
    listener, port = served(answer)
    with listener:
        found = probe(ADDRESS, port, timeout_s=0.3)
    assert (found.state, found.is_ssh) == ("open", False)
    assert any(text in found.why for text in why.split("|"))
