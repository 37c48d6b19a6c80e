"""Does an operating system answer? One look at an SSH port, without a login."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from typing import Literal

BANNER_MAX_BYTES = 4096


@dataclass(frozen=True)
class Probe:
    """What one look at a port showed.

    ``open``: the port accepted the connection; ``closed``: something answered and refused it; ``no-answer``: nothing
    came back in time. ``banner`` is the SSH version line (``SSH-2.0-…``), or ``None`` when the other side said none: a
    forwarder in front of a machine that is off may accept a connection too, so an OS answers only when
    :attr:`is_ssh` holds.
    """

    state: Literal["open", "closed", "no-answer"]
    banner: str | None = None
    why: str = ""

    @property
    def is_ssh(self) -> bool:
        """Whether an SSH server spoke."""
        return self.banner is not None


def probe(hostname: str, port: int, timeout_s: float = 3.0) -> Probe:
    """Look once at ``hostname:port``, for at most ``timeout_s`` seconds; never raises for what the network does."""
    deadline = time.monotonic() + timeout_s
    try:
        with socket.create_connection((hostname, port), timeout=timeout_s) as connection:
            return Probe("open", *_read_banner(connection, deadline))
    except ConnectionRefusedError as error:
        return Probe("closed", why=str(error))
    except OSError as error:
        return Probe("no-answer", why=str(error) or type(error).__name__)


def _read_banner(connection: socket.socket, deadline: float) -> tuple[str | None, str]:
    """The version line (servers may send other lines before it, RFC 4253 §4.2) and why there is none."""
    received = b""
    while len(received) < BANNER_MAX_BYTES:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return None, "the port is open, no SSH banner came in time"
        connection.settimeout(left_s)
        try:
            part = connection.recv(512)
        except OSError as error:
            return None, f"the port is open, no SSH banner: {error}"
        if not part:
            return None, "the port is open, the connection was closed without an SSH banner"
        received += part
        for line in received.split(b"\n")[:-1]:
            if line.startswith(b"SSH-"):
                return line.strip().decode("ascii", "replace"), ""
    return None, "the port is open, its answer is not SSH"
