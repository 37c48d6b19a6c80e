"""One node with its BMC, pyinfra on it in this process, and a server for images."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.operations.redfish.bench import Bench, bench_in

_octets = count(1)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A fresh node; its host is off."""
    with bench_in(tmp_path / "site", next(_octets)) as made:
        yield made


@dataclass
class Images:
    """Serves any path below ``url`` as an image; ``fetched`` are the paths that were asked for."""

    url: str = ""
    fetched: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def images() -> Iterator[Images]:
    """A server of images on loopback."""
    served = Images()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.fetched.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "4096")
            self.end_headers()
            self.wfile.write(b"\1" * 4096)

        def log_message(self, *args: Any) -> None:
            """Keep quiet."""

    with http.server.ThreadingHTTPServer(("127.97.250.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        served.url = f"http://127.97.250.1:{server.server_address[1]}"
        yield served
        server.shutdown()
        thread.join()
