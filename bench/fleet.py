"""A simulated fleet in a process of its own, and what it saw, by its control port."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROFILE = "h100-8x-supermicro"
USER = "ADMIN"
_READY = re.compile(r"ready: (\d+) BMCs at https://[0-9.]+:(\d+) .* control (http://\S+)")


@dataclass(frozen=True)
class Bmc:
    """Where a BMC is, and its factory login."""

    url: str
    user: str
    password: str


@dataclass(frozen=True)
class Seen:
    """What the fleet saw between two looks."""

    requests: int
    logins: int
    open_sessions: int


class Fleet:
    """The running fleet."""

    def __init__(self, pid: int, port: int, control: str) -> None:
        self.pid = pid
        self._control = control
        listed = self.get("/bmcs")
        rows: list[dict[str, Any]] = listed if isinstance(listed, list) else listed["bmcs"]
        self.bmcs = [Bmc(f"https://{row['address']}:{port}", USER, f"FACTORY{str(row['serial'])[-6:]}") for row in rows]

    def counters(self) -> dict[str, int]:
        """Totals since the start."""
        counters: dict[str, int] = self.get("/counters")
        return counters

    def cpu_s(self) -> float:
        """CPU seconds of the simulator so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def get(self, path: str) -> Any:
        """What the control port answers."""
        with urllib.request.urlopen(self._control + path, timeout=30) as answer:
            return json.load(answer)

    def post(self, path: str, body: Any) -> None:
        """Tell the control port something, for example a fault."""
        data, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        request = urllib.request.Request(self._control + path, data, headers, method="POST")
        urllib.request.urlopen(request, timeout=30).close()


@contextlib.contextmanager
def running_fleet(count: int, latency_ms: float, in_flight: int, extra: Sequence[str] = ()) -> Iterator[Fleet]:
    """``metalwright simulate`` for the length of the block."""
    command = [
        sys.executable, "-m", "metalwright.cli", "simulate", "--prefix", "127.94.64.0/18", "--profile",
        f"{PROFILE}:{count}", "--port", "0", "--latency-ms", str(latency_ms), "--in-flight", str(in_flight), "--log",
        "1", *extra,
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            ready = _READY.search(child.stdout.readline())
            assert ready is not None, "the simulator did not start"
            yield Fleet(child.pid, int(ready[2]), ready[3])
        finally:
            child.terminate()
