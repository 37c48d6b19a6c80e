"""Taking the power of a node away and giving it back, and counting its parts before and after."""

from __future__ import annotations

import time
from dataclasses import dataclass

from metalwright.acceptance.catalogue import COLD_RESTART
from metalwright.acceptance.parts import compare_counts, count_command, read_counts
from metalwright.errors import DeployError, SshError
from metalwright.imaging.ordering import login_key
from metalwright.journal.locks import NodeLock
from metalwright.model.certificate import TestResult
from metalwright.runner.calls import pyinfra_call
from metalwright.runner.observe_os import look_at_os
from metalwright.runner.pyinfra_process import run_pyinfra
from metalwright.ssh import connect
from metalwright.workspace import Workspace

PAUSE_S = 5.0
STEADY_S = 30.0
"""Drivers and fabric come up after SSH does."""


@dataclass(frozen=True)
class ColdRestart:
    """One node in one run; ``lock`` is the node's, which the pyinfra processes inherit."""

    workspace: Workspace
    node: str
    run: str
    lock: NodeLock | None

    def test(self) -> TestResult:
        """Restart the node through its BMC and compare; leaves it running. What goes wrong on the way is NOT-RUN."""
        before_boot = look_at_os(self.workspace, self.node).boot_id
        why = f"acceptance test {COLD_RESTART}"
        self.workspace.journal.events.act("power off and on", why=why, node=self.node, run=self.run)
        try:
            before = self._counts()
            self._power({"power": "Off", "then": "force"})
            self._power({"power": "On"})
            after_boot = self._new_boot(before_boot)
            after = self._counts()
        except (SshError, DeployError) as error:
            found = f": {error.found}" if error.found else ""
            return TestResult(name=COLD_RESTART, verdict="NOT-RUN", why=f"{error.what}{found}"[:500])
        return compare_counts(COLD_RESTART, before, after, (before_boot, after_boot))

    def _power(self, data: dict[str, str]) -> None:
        run_pyinfra(pyinfra_call(self.workspace, self.node, "power", run=self.run, lock=self.lock, data=data))

    def _new_boot(self, before: str | None) -> str | None:
        """The boot id once another system than before answers; ``None`` when none does in time."""
        deadline = time.monotonic() + self.workspace.repository.site.limits.os_boot_minutes * 60
        while time.monotonic() < deadline:
            boot = look_at_os(self.workspace, self.node).boot_id
            if boot not in (None, before):
                time.sleep(STEADY_S)
                return boot
            time.sleep(PAUSE_S)
        return None

    def _counts(self) -> dict[str, int]:
        target, host_key = self.workspace.ssh_target(self.node), self.workspace.ssh_host_key(self.node)
        timeout_s = self.workspace.repository.site.ssh.connect_timeout_s
        with connect(target, host_key=host_key or "", key=login_key(self.workspace), timeout_s=timeout_s) as session:
            return read_counts(
                session.run(["sh", "-c", count_command()], timeout_s=60, sudo=target.user != "root").stdout
            )
