"""Runs ``sushy-emulator --fake``, the independent Redfish service of sushy-tools."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def sushy_emulator(folder: Path, address: str, certificate: Path | None = None, settings: str = "") -> Iterator[int]:
    """The emulator on a free port, over TLS where ``certificate`` (a PEM file with its key) is given.

    It keeps its state in ``folder``; ``settings`` are further lines of its configuration.
    """
    with socket.create_server((address, 0)) as probe:
        port: int = probe.getsockname()[1]
    config, log = folder / "emulator.conf", folder / "emulator.log"
    config.write_text(f"SUSHY_EMULATOR_STATE_DIR = {str(folder)!r}\n{settings}")
    program = str(Path(sys.executable).with_name("sushy-emulator"))
    tls = ["--ssl-certificate", str(certificate), "--ssl-key", str(certificate)] if certificate is not None else []
    command = [program, "--fake", "--config", str(config), "-i", address, "-p", str(port), *tls]
    with log.open("w") as file, subprocess.Popen(command, stdout=file, stderr=file) as child:
        try:
            _wait_until_it_listens(child, (address, port), log)
            yield port
        finally:
            child.terminate()


def _wait_until_it_listens(child: subprocess.Popen[bytes], place: tuple[str, int], log: Path) -> None:
    for _ in range(600):
        if child.poll() is not None:
            break
        try:
            socket.create_connection(place, timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(log.read_text())
