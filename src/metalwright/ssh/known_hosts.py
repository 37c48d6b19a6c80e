"""The site's own known_hosts file: one pinned key a host, written only from keys that deployments reported.

OpenSSH (pytest-testinfra, people) and pyinfra read it with strict checking. Nobody's ``~/.ssh/known_hosts`` is touched.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from metalwright.loading.file_lock import exclusive
from metalwright.loading.files import write_atomically
from metalwright.ssh.target import normal_host_key


def host_pattern(hostname: str, port: int) -> str:
    """How known_hosts names a host: bare for port 22, else ``[host]:port``."""
    return hostname if port == 22 else f"[{hostname}]:{port}"


def known_hosts_line(hostname: str, port: int, host_key: str) -> str:
    """One line without its newline."""
    return f"{host_pattern(hostname, port)} {normal_host_key(host_key)}"


def read_host_key(path: Path, hostname: str, port: int) -> str | None:
    """The pinned key (``TYPE BASE64``) of ``hostname:port``, or ``None`` when there is none."""
    for line in _lines(path):
        if line.split()[:1] == [host_pattern(hostname, port)]:
            return " ".join(line.split()[1:3])
    return None


def record_host_key(path: Path, hostname: str, port: int, host_key: str) -> None:
    """Pin ``host_key`` for ``hostname:port`` in place of an earlier one. Atomic, safe against a second writer.

    Call it only with a key from the deployment's own channel. Raises :class:`SshHostKeyError` when it is no key.
    """
    line = known_hosts_line(hostname, port, host_key)
    _rewrite(path, hostname, port, lambda kept: sorted([*kept, line]))


def forget_host(path: Path, hostname: str, port: int) -> None:
    """Drop the pinned key of ``hostname:port``; nothing happens when there is none."""
    _rewrite(path, hostname, port, lambda kept: kept)


def _rewrite(path: Path, hostname: str, port: int, change: Callable[[list[str]], list[str]]) -> None:
    with exclusive(path.with_name(path.name + ".lock")):
        before = _lines(path)
        name = host_pattern(hostname, port)
        after = change([line for line in before if line.split()[:1] != [name]])
        if after != before:
            write_atomically(path, "".join(f"{line}\n" for line in after))


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [line for line in text.splitlines() if line.strip()]
