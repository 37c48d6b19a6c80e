"""Who writes: the person and the process, as the journal names them."""

from __future__ import annotations

import getpass
import os
import socket
from pathlib import Path


def host_name() -> str:
    """Return the name of this machine."""
    return socket.gethostname()


def user_at_host() -> str:
    """Return ``user@host``; behind sudo it is the person who called sudo."""
    return f"{person()}@{host_name()}"


def may_live(host: str, pid: int) -> bool:
    """Return whether a process may exist still; on another machine nobody can see that it does not."""
    return host != host_name() or Path(f"/proc/{pid}").exists()


def person() -> str:
    """Return the user; behind sudo it is the person who called sudo."""
    if os.geteuid() == 0 and os.environ.get("SUDO_USER"):
        return os.environ["SUDO_USER"]
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"
