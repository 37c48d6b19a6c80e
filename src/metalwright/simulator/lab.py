"""Bring a lab of simulated machines up and down, look at it, and set faults.

``python -m metalwright.simulator.lab DIRECTORY`` is the daemon that :meth:`Lab.up` starts.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from metalwright.errors import LabError
from metalwright.simulator.daemon import DETACH, READY, detach, run_daemon
from metalwright.simulator.events import EventLog
from metalwright.simulator.layout import Layout
from metalwright.simulator.spec import LabSpec, MachineSpec, dump_lab_spec, read_lab_spec
from metalwright.simulator.state import StateFile
from metalwright.simulator.status import LabStatus, MachineStatus, describe_machine

_POLL_S = 0.05
_LOG_TAIL_LINES = 5


class Lab:
    """The lab in ``directory``. All methods block; they can be called from any process."""

    def __init__(self, directory: Path) -> None:
        self.layout = Layout(directory.absolute())

    @property
    def is_up(self) -> bool:
        """Whether a daemon holds the lab."""
        if not self.layout.lock_file.exists():
            return False
        with self.layout.lock_file.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def up(self, spec: LabSpec, timeout_s: float = 60.0) -> LabStatus:
        """Start the daemon and return when every BMC answers; does nothing when this lab is already up.

        Machines keep what they had: disks, BIOS attributes, accounts, address. All are off. Raises
        :class:`LabError` when another spec is up, or when the daemon does not become ready.
        """
        plain = json.dumps(dump_lab_spec(spec), indent=1)
        if self.is_up:
            self._wait_until_ready(timeout_s)
            if self.layout.spec_file.read_text(encoding="utf-8") != plain:
                raise LabError("another lab is up here", where=str(self.layout.directory), hint="run `lab down` first")
            return self.status()
        self.layout.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write_private(self.layout.spec_file, plain)
        self.layout.daemon_file.unlink(missing_ok=True)
        try:
            self._start_daemon(timeout_s)
        except BaseException:  # also Ctrl-C: nothing stays behind
            self.down()
            raise
        return self.status()

    def down(self, *, wipe: bool = False, timeout_s: float = 30.0) -> None:
        """Stop the daemon and with it all machines; ``wipe`` removes disks and all state as well."""
        if self.is_up:
            self._signal(signal.SIGTERM)
            if not self._wait_until_down(timeout_s):
                self._signal(signal.SIGKILL)  # the kernel kills its machines
                if not self._wait_until_down(5.0):
                    raise LabError("the lab does not stop", where=str(self.layout.lock_file))
        if wipe and self.layout.directory.exists():
            shutil.rmtree(self.layout.machines, ignore_errors=True)
            for file in (self.layout.spec_file, self.layout.daemon_file, self.layout.log_file, self.layout.lock_file):
                file.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # somebody else's files stay
                self.layout.directory.rmdir()

    def status(self) -> LabStatus:
        """The state of all machines; from their files when the lab is down. Raises :class:`LabError`."""
        if self.is_up:
            data = self._ask("GET", "/status")
            data.pop("schema", None)
            return LabStatus.model_validate(data)
        spec = read_lab_spec(self.layout.spec_file)
        machines = [self._describe(machine) for machine in spec.machines]
        return LabStatus(name=spec.name, directory=str(self.layout.directory), is_up=False, machines=machines)

    def set_fault(self, machine: str, name: str, **details: Any) -> None:
        """Put a fault in force on a machine; see :data:`metalwright.simulator.faults.KINDS`."""
        self._ask("POST", f"/machines/{machine}/faults", {"name": name, **details})

    def clear_faults(self, machine: str) -> None:
        """Let a machine behave again."""
        self._ask("DELETE", f"/machines/{machine}/faults")

    def blank_disk(self, machine: str, serial: str) -> Path:
        """Replace a disk by an empty one of the same size and return its path; the machine must be off."""
        status = next((m for m in self.status().machines if m.name == machine), None)
        disk = next((d for d in status.disks if d.serial == serial), None) if status is not None else None
        if status is None or disk is None:
            raise LabError("no such disk", where=f"{machine}: {serial}")
        if status.power != "Off":
            raise LabError("the machine is on", where=machine, expected="power Off", found=status.power)
        path = Path(disk.path)
        path.unlink(missing_ok=True)
        with path.open("wb") as file:
            file.truncate(disk.size_bytes)
        return path

    # -- inner -------------------------------------------------------------------------------------------------

    def _describe(self, spec: MachineSpec) -> MachineStatus:
        folder = self.layout.machine(spec.name)
        state = StateFile(folder / "state.json").state
        manager = state.manager
        address = manager.static[0].address if manager.static and not manager.dhcp else spec.bmc.address
        events = EventLog(folder / "events.jsonl").entries
        return describe_machine(spec, folder, state, events, bmc_url=f"https://{address}:{spec.bmc.port}")

    def _start_daemon(self, timeout_s: float) -> None:
        """Start it detached; it writes a line to its standard output when it is ready, and closes it at its end."""
        argv = [sys.executable, "-m", "metalwright.simulator.lab", str(self.layout.directory), DETACH]
        with (
            self.layout.log_file.open("ab") as log,
            subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                cwd=self.layout.directory,
            ) as starter,
        ):
            said = b""
            if starter.stdout is not None and select.select([starter.stdout], [], [], timeout_s)[0]:
                said = starter.stdout.readline()
        if said != READY:
            raise LabError("the lab did not start", where=str(self.layout.log_file), found=self._log_tail())

    def _wait_until_ready(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not self.layout.daemon_file.exists():
            if not self.is_up or time.monotonic() > deadline:
                raise LabError("the lab did not start", where=str(self.layout.log_file), found=self._log_tail())
            time.sleep(_POLL_S)

    def _wait_until_down(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while self.is_up:
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def _signal(self, number: signal.Signals) -> None:
        """Signal the process that holds the lock: it wrote its number into the file."""
        text = self.layout.lock_file.read_text(encoding="utf-8").strip()
        if text.isdecimal():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(text), number)

    def _log_tail(self) -> str:
        lines = self.layout.log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        return " / ".join(lines[-_LOG_TAIL_LINES:])

    def _daemon(self) -> dict[str, Any]:
        try:
            data: dict[str, Any] = json.loads(self.layout.daemon_file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise LabError(
                "the lab is not ready", where=str(self.layout.directory), hint="wait, or run `lab down`"
            ) from error
        return data

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        daemon = self._daemon()
        connection = http.client.HTTPConnection("127.0.0.1", daemon["port"], timeout=30)
        headers = {"Authorization": f"Bearer {daemon['token']}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            data: Any = json.loads(answer.read() or b"{}")
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise LabError("the lab does not answer", where=str(self.layout.directory), found=str(error)) from error
        finally:
            connection.close()
        if answer.status >= 400:
            raise LabError("the lab refused", where=f"{method} {path}", found=str(data.get("error", answer.status)))
        return data


def _write_private(path: Path, text: str) -> None:
    draft = path.with_suffix(".new")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)


if __name__ == "__main__":
    if DETACH in sys.argv[2:]:
        detach()
    sys.exit(run_daemon(Path(sys.argv[1])))
