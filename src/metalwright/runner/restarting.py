"""Restarting the operating system where the deploys ask for it, through the system itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from metalwright.errors import SshError
from metalwright.imaging.ordering import login_key
from metalwright.lifecycle.observations import RestartView
from metalwright.model.node_paths import RESTART_REASONS
from metalwright.runner.observe_os import BOOT_ID_PATH
from metalwright.ssh import Session, connect
from metalwright.workspace import Workspace


@dataclass
class Restarting:
    """The restarts of one node in one invocation. Nothing is looked at before the deploys ran."""

    workspace: Workspace
    node: str
    is_applied: bool = field(default=False, init=False)
    _boot_id: str | None = field(default=None, init=False)

    def look(self) -> RestartView:
        """What the running system waits for. A system that does not answer is told as such, never as content."""
        if not self.is_applied or self.workspace.ssh_host_key(self.node) is None:
            return RestartView()
        try:
            with self._session() as session:
                boot_id = _boot_id(session)
                said = session.run(["cat", RESTART_REASONS], sudo=self._needs_sudo).stdout
        except SshError as error:
            return RestartView(None, detail=error.what)
        reasons = tuple(line for line in map(str.strip, said.splitlines()) if line)
        return RestartView(reasons, is_new_boot=self._boot_id not in (None, boot_id))

    def restart(self) -> dict[str, Any]:
        """Tell the system to restart; that the connection breaks on the way is no failure."""
        with self._session() as session:
            self._boot_id = _boot_id(session)
            try:
                session.run(["systemctl", "reboot"], sudo=self._needs_sudo)
            except SshError as error:
                return {"boot_id": self._boot_id, "connection": error.what}
        return {"boot_id": self._boot_id}

    @property
    def _needs_sudo(self) -> bool:
        return self.workspace.ssh_target(self.node).user != "root"

    def _session(self) -> Session:
        timeout_s = self.workspace.repository.site.ssh.connect_timeout_s
        target, host_key = self.workspace.ssh_target(self.node), self.workspace.ssh_host_key(self.node)
        return connect(target, host_key=host_key or "", key=login_key(self.workspace), timeout_s=timeout_s)


def _boot_id(session: Session) -> str:
    return session.run(["cat", BOOT_ID_PATH]).stdout.strip()
