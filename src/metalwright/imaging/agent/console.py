"""Lines on the serial console, which is where a person looks when a deployment stops."""

from __future__ import annotations

import sys
import time

_start = time.monotonic()


def say(message: str) -> None:
    """Write ``message`` to standard output, each line with the product's name and the seconds since start."""
    prefix = f"metalwright [{time.monotonic() - _start:6.1f}s]"
    for line in message.splitlines():
        sys.stdout.write(f"{prefix} {line}\n")
    sys.stdout.flush()
