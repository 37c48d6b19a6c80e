"""What the phases see of the operating system: does one answer, is it the one that we wrote, what does it carry."""

from __future__ import annotations

from pydantic import ValidationError

from metalwright.errors import SshAuthError, SshError, SshHostKeyError
from metalwright.imaging.ordering import login_key
from metalwright.lifecycle.observations import OsView
from metalwright.model.image import STAMP_PATH, Stamp
from metalwright.ssh import Session, connect, probe
from metalwright.workspace import Workspace

BOOT_ID_PATH = "/proc/sys/kernel/random/boot_id"
STARTING = ("initializing", "starting")
SHOWN_JOBS = 5


def look_at_os(workspace: Workspace, node: str) -> OsView:
    """Look once at the node's SSH port; log in only when the host key is the one that we know."""
    target = workspace.ssh_target(node)
    timeout_s = workspace.repository.site.ssh.connect_timeout_s
    seen = probe(target.hostname, target.port, min(timeout_s, 5.0))
    if not seen.is_ssh:
        return OsView("silent", detail=f"SSH port {seen.state}: {seen.why}".rstrip(": "))
    host_key = workspace.ssh_host_key(node)
    if host_key is None:
        return OsView("answers", detail=f"{seen.banner}, and no host key of this node is known")
    try:
        with connect(target, host_key=host_key, key=login_key(workspace), timeout_s=timeout_s) as session:
            return _view(session)
    except (SshHostKeyError, SshAuthError) as error:
        return OsView("answers", detail=f"{error.what}: {error.found}")
    except SshError as error:
        return OsView("silent", detail=error.what)


def _view(session: Session) -> OsView:
    boot_id = session.run(["cat", BOOT_ID_PATH]).stdout.strip() or None
    written = session.run(["cat", STAMP_PATH])
    if written.rc != 0:
        return OsView("ours", boot_id=boot_id, detail="the system carries no stamp")
    try:
        return OsView("ours", Stamp.model_validate_json(written.stdout), boot_id, starting=_starting(session))
    except ValidationError:
        return OsView("ours", boot_id=boot_id, detail=f"{STAMP_PATH} cannot be read")


def _starting(session: Session) -> str:
    """The jobs that systemd has not finished since the start; a degraded system has finished, one without it too."""
    if session.run(["systemctl", "is-system-running"]).stdout.strip() not in STARTING:
        return ""
    told = session.run(["systemctl", "list-jobs", "--no-legend", "--plain"]).stdout.split("\n")
    jobs = [words[1] for line in told if len(words := line.split()) >= 4 and words[3] == "running"]
    return ", ".join(jobs[:SHOWN_JOBS]) or "no job is shown as running"
