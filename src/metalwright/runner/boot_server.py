"""A boot server for the time of a run: the one that serves this site already, or a child that ends with us."""

from __future__ import annotations

import hashlib
import os
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metalwright.errors import ImageError
from metalwright.imaging.server_certificate import load_server_certificate
from metalwright.workspace import Workspace

START_S = 20.0
STOP_S = 5.0


@contextmanager
def boot_server(workspace: Workspace) -> Iterator[None]:
    """Have the site's boot server running inside the block.

    Raises:
        ImageError: something else listens on its port, or it does not start; the hint says what to do.
    """
    if is_serving(workspace):
        yield
        return
    log = workspace.paths.state / "logs" / "boot-server.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "metalwright.cli", "--site", str(workspace.paths.root), "serve", "--with-parent"]
    command.append(str(os.getpid()))
    with log.open("ab") as output:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        _await_start(workspace, child, log)
        yield
    finally:
        child.terminate()
        try:
            child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


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


def _await_start(workspace: Workspace, child: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if is_serving(workspace):
            return
        if child.poll() is not None:
            break
        time.sleep(0.1)
    settings = workspace.repository.site.boot_server
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise ImageError(
        "the boot server did not start",
        where=f"{settings.listen}:{settings.https_port}",
        found=said[-1] if said else f"exit code {child.poll()}",
        hint="is another program on its ports? they are site.yaml boot_server.http_port and https_port",
    )
