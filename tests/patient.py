"""Runs a program that cleans up after Ctrl-C, and lets it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Any


def run_patiently(
    command: Sequence[str], *, timeout: float | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """As :func:`subprocess.run` with captured text, but a program that Ctrl-C reached as well is not killed for it.

    ``subprocess.run`` gives it a quarter of a second; a lab needs some seconds to end its machines.
    """
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **{**pipes, **options}) as child:
        try:
            stdout, stderr = child.communicate(timeout=timeout)
        except KeyboardInterrupt:
            child.communicate()
            raise
        except BaseException:
            child.kill()
            raise
    return subprocess.CompletedProcess(command, child.returncode, stdout, stderr)
