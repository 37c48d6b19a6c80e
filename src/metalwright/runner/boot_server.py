"""A boot server for the time of a run: the one that serves this site already, or a child that ends with us."""

from __future__ import annotations

import hashlib
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from metalwright.errors import ImageError
from metalwright.imaging.server_certificate import load_server_certificate
from metalwright.workspace import Workspace

START_S = 60.0
STOP_S = 5.0
WATCH_EVERY_S = 0.5
RESTARTS = 3


@contextmanager
def boot_server(workspace: Workspace) -> Iterator[None]:
    """Have the site's boot server running inside the block; one that goes away is replaced, a few times.

    Raises:
        ImageError: something else listens on its port, or it does not start; the hint says what to do.
    """
    child = _Child(workspace)
    try:
        if not is_serving(workspace):
            child.start()
            _await_start(workspace, child)
        child.keep_alive()
        yield
    finally:
        child.stop()


class _Child:
    """The boot server as a child process, unless another one serves the site, say that of another run.

    A ramdisk that is under way waits for a server, so a death need not cost a write.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.log = workspace.paths.state / "logs" / "boot-server.log"
        self._workspace = workspace
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="boot-server", daemon=True)

    @property
    def exit_code(self) -> int | None:
        """Exit code of a dead server, None while it runs."""
        return self._process.poll() if self._process is not None else None

    def start(self) -> None:
        """Start it; it ends with the thread that calls this."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "metalwright.cli", "--site", str(self._workspace.paths.root)]
        command += ["serve", "--with-parent", str(os.getpid())]
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def keep_alive(self) -> None:
        """Watch from now on that one serves."""
        self._keeper.start()

    def stop(self) -> None:
        """End it and its watch."""
        self._is_over.set()
        if self._keeper.is_alive():
            self._keeper.join()
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _keep(self) -> None:
        starts = 0
        while not self._is_over.wait(WATCH_EVERY_S):
            if starts < RESTARTS and not self._is_alive() and not is_serving(self._workspace):
                self.start()
                starts += 1

    def _is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None


def is_serving(workspace: Workspace) -> bool:
    """Whether this site's boot server answers: the listener shows our own certificate."""
    settings = workspace.repository.site.boot_server
    host = "127.0.0.1" if settings.listen in ("0.0.0.0", "::") else settings.listen  # noqa: S104 - compared, not bound
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, settings.https_port), timeout=2) as plain,
            context.wrap_socket(plain) as secure,
        ):
            shown = secure.getpeercert(binary_form=True)
    except OSError:
        return False
    ours = load_server_certificate(workspace.paths.state / "boot-server").cert_pem
    return hashlib.sha256(shown or b"").digest() == hashlib.sha256(ssl.PEM_cert_to_DER_cert(ours)).digest()


def _await_start(workspace: Workspace, child: _Child) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if is_serving(workspace):
            return
        if child.exit_code is not None:
            break
        time.sleep(0.1)
    settings = workspace.repository.site.boot_server
    where, ended = f"{settings.listen}:{settings.https_port}", child.exit_code
    if ended is None:
        found = f"it runs and gives no answer within {START_S:g} s"
        raise ImageError("the boot server did not start", where=where, found=found, hint=_SLOW_HINT)
    said = child.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    found = _reason(said) or f"exit code {ended}"
    raise ImageError("the boot server did not start", where=where, found=found, hint=_PORTS_HINT)


_PORTS_HINT = "is another program on its ports? they are site.yaml boot_server.http_port and https_port"
_SLOW_HINT = "is this machine very busy? type the same command again"


def _reason(said: list[str]) -> str | None:
    """What the log of a boot server that ended tells: its error with what it found, else its last line."""
    told = [line.strip() for line in said if line.startswith(("error:", "  found:"))]
    return "; ".join(told) or (said[-1] if said else None)
