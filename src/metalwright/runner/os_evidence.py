"""What the operating system can still tell before its disk is written: kept, so that the cause can be found later.

The BMC's part (event log, sensors, boot state) is kept by the connector. Collecting never stops what it precedes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from metalwright.errors import SshError
from metalwright.imaging.ordering import login_key
from metalwright.runner.observe_os import look_at_os
from metalwright.ssh import connect
from metalwright.workspace import Workspace

COMMAND_TIMEOUT_S = 15.0
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "kernel log": ("dmesg", "--ctime"),
    "warnings of this boot": ("journalctl", "-b", "-p", "warning", "-n", "500", "--no-pager"),
    "warnings of the boot before": ("journalctl", "-b", "-1", "-p", "warning", "-n", "500", "--no-pager"),
    "GPUs": ("nvidia-smi", "-q"),
    "AMD GPUs": ("sh", "-c", "PATH=$PATH:/opt/rocm/bin; amd-smi metric --json || rocm-smi --showallinfo --json"),
}
KEPT_CHARACTERS = 200_000
"""Of each output the end is kept."""


def keep_os_evidence(workspace: Workspace, node: str, run: str) -> Path | None:
    """Keep the logs of a system of ours that answers in ``.metalwright/evidence/RUN``; the journal names the file.

    Returns None where no system of ours answers, or where it could not be read or kept; the journal says so.
    """
    view = look_at_os(workspace, node)
    if view.kind != "ours":
        workspace.journal.events.note("no evidence of the system", node=node, run=run, why=view.detail or view.kind)
        return None
    try:
        path = _write(workspace.paths.state / "evidence" / run, node, _read(workspace, node))
    except (SshError, OSError) as error:
        why = str(error).partition("\n")[0]
        workspace.journal.events.note("no evidence of the system", node=node, run=run, why=why)
        return None
    detail = {"file": str(path.relative_to(workspace.paths.root)), "before": "the disk is written"}
    workspace.journal.events.note("evidence kept", node=node, run=run, detail=detail)
    return path


def _read(workspace: Workspace, node: str) -> dict[str, dict[str, object]]:
    """Each output with its exit status; a program that is not there, or not in time, says so itself."""
    target, host_key = workspace.ssh_target(node), workspace.ssh_host_key(node)
    found: dict[str, dict[str, object]] = {}
    if host_key is None:
        return found
    timeout_s = workspace.repository.site.ssh.connect_timeout_s
    with connect(target, host_key=host_key, key=login_key(workspace), timeout_s=timeout_s) as session:
        for title, argv in COMMANDS.items():
            try:
                done = session.run(argv, timeout_s=COMMAND_TIMEOUT_S, sudo=target.user != "root")
            except SshError as error:
                found[title] = {"command": " ".join(argv), "problem": error.what}
                continue
            text = (done.stdout or done.stderr)[-KEPT_CHARACTERS:]
            found[title] = {"command": " ".join(argv), "exit": done.rc, "text": text}
    return found


def _write(directory: Path, node: str, outputs: Mapping[str, object]) -> Path:
    now = datetime.now(UTC)
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = directory / f"{node}-system-{now:%Y%m%dT%H%M%S%fZ}.json"
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"schema": 1, "node": node, "at": now.isoformat(), "outputs": outputs}, file, indent=1)
    return path
