"""pytest-testinfra over our own SSH: one connection, pinned host key, a limit on every command."""

from __future__ import annotations

from typing import Any

from testinfra.backend.base import BaseBackend, CommandResult
from testinfra.host import Host

from metalwright.ssh import Session


class NodeBackend(BaseBackend):  # type: ignore[misc]  # testinfra ships no types
    """Runs testinfra's commands as root in a :class:`~metalwright.ssh.Session`.

    A failure of the way there (:class:`~metalwright.errors.SshError`) is raised and never becomes an exit status.
    """

    NAME = "metalwright"

    def __init__(self, session: Session, limit_s: float) -> None:
        super().__init__(session.target.hostname)
        self._session = session
        self._limit_s = limit_s

    def run(self, command: str, *args: str, timeout_s: float | None = None, **_kwargs: Any) -> CommandResult:
        """Run a shell line; ``%s`` in it stand for ``args``, quoted. ``timeout_s`` instead of the usual limit."""
        line = self.quote(command, *args)
        sudo = self._session.target.user != "root"
        done = self._session.run(["sh", "-c", line], timeout_s=timeout_s or self._limit_s, sudo=sudo)
        return self.result(done.rc, line.encode(), done.stdout, done.stderr)


def node_host(session: Session, limit_s: float) -> Host:
    """The ``host`` of testinfra for a logged-in session; a command that takes longer than ``limit_s`` hangs."""
    return Host(NodeBackend(session, limit_s))
