"""How fast the boot server hands out one image to many nodes, beside a plain ``sendfile`` of the same file.

    python -m bench.image_server                                   40 clients, 256 MiB each, 5 rounds of both
    python -m bench.image_server --clients 8 --size-mib 1024 --save image-server

Both servers are processes of their own and serve the same file from the page cache; the clients, in a third process,
count bytes and drop them in the kernel. The rounds alternate, since only what was measured side by side can be
compared; the ratio is that of the medians. One client of each server reads the whole file first and compares its
digest. Never a test.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from metalwright.imaging.deployments import PreparedDeployment, prepare_deployment
from metalwright.imaging.memory_store import MemoryDeploymentStore
from metalwright.imaging.server import BootServer
from metalwright.model.agent_protocol import DiskRule, ExpectedIdentity, Seed
from metalwright.model.image import Image, Stamp

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).parent / "results"
HOST = "127.0.0.1"
MIB = 1 << 20
_BUFFER_BYTES = 1 << 20
_REQUEST_BYTES = 64 << 10


@dataclass(frozen=True)
class Round:
    """One server, all clients at once."""

    server: str
    wall_s: float
    mib_per_s: float
    server_cpu_s: float
    slowest_to_fastest: float


def main() -> None:
    """Measure, print each round and the ratio; ``--save NAME`` keeps them as bench/results/NAME.json."""
    options = _options()
    if options.serve:
        _serve(options.serve, Path(options.file), options.clients)
        return
    load = os.getloadavg()[0]
    with tempfile.NamedTemporaryFile(dir=options.directory) as file:
        digest = _fill(Path(file.name), options.size_mib)
        with _server("sendfile", file.name, options) as plain, _server("boot", file.name, options) as ours:
            for server in (plain, ours):
                assert server.digest() == digest, server.name
            rounds = [server.measure(options.size_mib) for _ in range(options.rounds) for server in (plain, ours)]
    medians = {
        name: statistics.median(item.mib_per_s for item in rounds if item.server == name)
        for name in ("sendfile", "boot")
    }
    body = {
        "schema": 1,
        "machine": {"cpus": os.cpu_count(), "python": sys.version.split()[0], "load_before": round(load, 1)},
        "settings": {key: getattr(options, key) for key in ("clients", "size_mib", "rounds")},
        "median_mib_per_s": {name: round(value) for name, value in medians.items()},
        "ratio": round(medians["boot"] / medians["sendfile"], 3),
        "rounds": [asdict(item) for item in rounds],
    }
    print(json.dumps({key: body[key] for key in ("median_mib_per_s", "ratio")}))
    if options.save:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{options.save}.json").write_text(json.dumps(body, indent=2) + "\n")


@dataclass(frozen=True)
class _Served:
    """A server that runs: its process, its port, and one path for each client."""

    name: str
    process: subprocess.Popen[str]
    port: int
    paths: tuple[str, ...]

    def digest(self) -> str:
        """The SHA-256 of what the first path serves."""
        digest = hashlib.sha256()
        with _asked(self.port, self.paths[0]) as connection:
            connection.setblocking(True)
            _, rest = _read_head(connection)
            digest.update(rest)
            while block := connection.recv(_BUFFER_BYTES):
                digest.update(block)
        return digest.hexdigest()

    def measure(self, size_mib: int) -> Round:
        """All clients at once, each with a path of its own."""
        cpu = _cpu_s(self.process.pid)
        started = time.monotonic()
        ends = _drain([_asked(self.port, path) for path in self.paths], size_mib * MIB)
        wall = max(ends) - started
        made = Round(
            server=self.name,
            wall_s=round(wall, 3),
            mib_per_s=round(len(self.paths) * size_mib / wall, 1),
            server_cpu_s=round(_cpu_s(self.process.pid) - cpu, 2),
            slowest_to_fastest=round(wall / (min(ends) - started), 2),
        )
        print(json.dumps(asdict(made)), flush=True)
        return made


@contextmanager
def _server(name: str, file: str, options: argparse.Namespace) -> Iterator[_Served]:
    argv = [sys.executable, "-m", "bench.image_server", "--serve", name, "--file", file]
    argv += ["--clients", str(options.clients)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        try:
            yield _Served(name, process, told["port"], tuple(told["paths"]))
        finally:
            process.terminate()


def _asked(port: int, path: str) -> socket.socket:
    connection = socket.create_connection((HOST, port))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
    connection.setblocking(False)
    return connection


def _read_head(connection: socket.socket) -> tuple[bytes, bytes]:
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(4096)
    before, _, rest = head.partition(b"\r\n\r\n")
    assert before.startswith(b"HTTP/1.1 200"), before
    return before, rest


def _drain(connections: list[socket.socket], size_bytes: int) -> list[float]:
    """Read every connection to its end and return when each ended; bodies are dropped in the kernel (MSG_TRUNC)."""
    poll, by_fd = select.epoll(), {connection.fileno(): connection for connection in connections}
    left = dict.fromkeys(by_fd, size_bytes)
    for fd in by_fd:
        poll.register(fd, select.EPOLLIN)
    buffer, begun, ends = bytearray(_BUFFER_BYTES), set[int](), []
    while by_fd:
        for fd, _ in poll.poll():
            connection = by_fd[fd]
            if fd not in begun:
                begun.add(fd)
                left[fd] -= len(_read_head(connection)[1])
                continue
            count = connection.recv_into(buffer, _BUFFER_BYTES, socket.MSG_TRUNC)
            left[fd] -= count
            if count == 0 or left[fd] <= 0:
                assert left[fd] == 0, f"{left[fd]} bytes are missing"
                ends.append(time.monotonic())
                poll.unregister(fd)
                by_fd.pop(fd).close()
    return ends


def _serve(name: str, path: Path, clients: int) -> None:
    if name == "sendfile":
        _serve_plainly(path)
    else:
        asyncio.run(_serve_ours(path, clients))


def _serve_plainly(path: Path) -> None:
    """A thread for each connection, a head, ``sendfile``: nothing else."""
    with socket.create_server((HOST, 0), backlog=256) as server:
        told = {"port": server.getsockname()[1], "paths": ["/"] * _options().clients}
        print(json.dumps(told), flush=True)
        while True:
            connection, _ = server.accept()
            threading.Thread(target=_send, args=(connection, path), daemon=True).start()


def _send(connection: socket.socket, path: Path) -> None:
    with connection, path.open("rb") as file:
        connection.recv(_REQUEST_BYTES)
        size = os.fstat(file.fileno()).st_size
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        position = 0
        while position < size:
            position += os.sendfile(connection.fileno(), file.fileno(), position, size - position)


async def _serve_ours(path: Path, clients: int) -> None:
    """The boot server with a deployment for each client."""
    store = MemoryDeploymentStore()
    made = [_deployment(path, number) for number in range(clients)]
    for prepared in made:
        store.create(prepared.deployment)
    with tempfile.TemporaryDirectory() as state:
        server = BootServer(Path(state), store, lambda _deployment, _disk: 1, listen=HOST, http_port=0, https_port=0)
        async with server.running() as address:
            paths = [f"/i/{prepared.secrets.image_secret}/image.raw" for prepared in made]
            print(json.dumps({"port": address.http_port, "paths": paths}), flush=True)
            await asyncio.Event().wait()


def _deployment(path: Path, number: int) -> PreparedDeployment:
    sha256 = "0" * 64
    size = path.stat().st_size
    image = Image(
        name="bench", version="1", file=path.name, format="raw", file_sha256=sha256, file_size_bytes=size,
        content_sha256=sha256, content_size_bytes=size, chunk_bytes=size, chunk_sha256=(sha256,),
    )  # fmt: skip
    now = datetime.now(UTC)
    stamp = Stamp(node=f"n{number}", run="r", recipe="sha256:0", image="sha256:0", journal="j", written=now)
    return prepare_deployment(
        run="r", node=f"n{number}", expect=ExpectedIdentity(keys=("serial",), serial="S"), image=image,
        image_path=path, disk=DiskRule(role="system"), overwrite=False, stamp=stamp,
        seed=Seed(hostname="n", fqdn="n.example"), media_dir=path.parent, now=now,
    )  # fmt: skip


def _fill(path: Path, size_mib: int) -> str:
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for _ in range(size_mib):
            block = os.urandom(MIB)
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=40)
    parser.add_argument("--size-mib", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--directory", default="/dev/shm", help="where the file lies; memory by default")
    parser.add_argument("--save", metavar="NAME")
    parser.add_argument("--serve", choices=("sendfile", "boot"), help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
