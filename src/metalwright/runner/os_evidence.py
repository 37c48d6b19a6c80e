"""What the operating system can still tell before its disk is written: kept, so that the cause can be found later.

Collecting never stops what it precedes.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from metalwright.errors import SshError
from metalwright.imaging.ordering import login_key
from metalwright.journal.evidence import evidence_dir, write_evidence
from metalwright.runner.observe_os import look_at_os
from metalwright.runner.vendor_report import keep_vendor_reports
from metalwright.ssh import Completed, Session, connect
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
    """Keep the logs of a system of ours that answers, and its GPU vendor's report, in ``.metalwright/evidence/RUN``.

    The journal names each file. Returns None where no system of ours answers, or where it could not be read or kept;
    the journal says so.
    """
    view = look_at_os(workspace, node)
    if view.kind != "ours":
        workspace.journal.events.note("no evidence of the system", node=node, run=run, why=view.detail or view.kind)
        return None
    directory = evidence_dir(workspace.paths.state, run)
    try:
        outputs, reports = _read(workspace, node, directory)
        content = {"outputs": outputs, "vendor_reports": reports}
        path = write_evidence(directory, f"{node}-system", node, datetime.now(UTC), content)
    except (SshError, OSError) as error:
        why = str(error).partition("\n")[0]
        workspace.journal.events.note("no evidence of the system", node=node, run=run, why=why)
        return None
    _note(workspace, node, run, path, "the system's logs")
    for tool, report in reports.items():
        if "file" in report:
            _note(workspace, node, run, directory / str(report["file"]), tool)
        else:
            why = f"{tool}: {report['problem']}"
            workspace.journal.events.note("no report of the GPU vendor", node=node, run=run, why=why)
    return path


def _note(workspace: Workspace, node: str, run: str, path: Path, what: str) -> None:
    where = str(path.relative_to(workspace.paths.root))
    detail = {"file": where, "before": "the disk is written"}
    workspace.journal.events.note("evidence kept", node=node, run=run, why=f"{where} ({what})", detail=detail)


def _read(
    workspace: Workspace, node: str, directory: Path
) -> tuple[dict[str, dict[str, object]], dict[str, dict[str, object]]]:
    """Each output with its exit status (a program that is not there, or late, says so itself); the vendor's reports."""
    target, host_key = workspace.ssh_target(node), workspace.ssh_host_key(node)
    if host_key is None:
        return {}, {}
    timeout_s, needs_sudo = workspace.repository.site.ssh.connect_timeout_s, target.user != "root"
    with connect(target, host_key=host_key, key=login_key(workspace), timeout_s=timeout_s) as session:
        outputs = {title: _output(session, argv, needs_sudo) for title, argv in COMMANDS.items()}

        def run(argv: tuple[str, ...], limit_s: float) -> Completed:
            return session.run(argv, timeout_s=limit_s, sudo=needs_sudo)

        return outputs, keep_vendor_reports(run, directory, node)


def _output(session: Session, argv: tuple[str, ...], needs_sudo: bool) -> dict[str, object]:
    try:
        done = session.run(argv, timeout_s=COMMAND_TIMEOUT_S, sudo=needs_sudo)
    except SshError as error:
        return {"command": " ".join(argv), "problem": error.what}
    return {"command": " ".join(argv), "exit": done.rc, "text": (done.stdout or done.stderr)[-KEPT_CHARACTERS:]}
