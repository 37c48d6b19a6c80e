"""Settings that could cut a node off: on trial until the controller has come in anew, else taken back by the node.

Before anything is changed the node keeps what it has and starts a timer. Then the files are written and applied. Then
the controller opens a *new* connection; only over that one the timer is stopped. When none comes, the timer puts the
old files back and applies them; after a loss of power in between, the next boot does, before its network is up.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.resources import files as package_files
from pathlib import PurePosixPath
from shlex import quote

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand
from pyinfra.api.exceptions import ConnectError

from metalwright.errors import DeployError
from metalwright.facts.files import DirectoryFiles, FileStates
from metalwright.operations.failure import Commands, answer, node_operation, step
from metalwright.operations.files import differing, show_differences, written

TRIALS = "/var/lib/metalwright/trials"
PROGRAMS = {"restore.sh": "/usr/local/lib/metalwright/restore.sh"}
UNIT = "metalwright-restore.service"
LIMIT_S = 60
POLL_S = 1.0


def restore_files() -> list[dict[str, str]]:
    """The program that takes a trial back, and the unit that does it at boot, for ``rendered``."""
    root = package_files("metalwright.operations.on_node")
    program = {"path": PROGRAMS["restore.sh"], "text": (root / "restore.sh").read_text(encoding="utf-8"), "mode": "755"}
    unit = {"path": f"/etc/systemd/system/{UNIT}", "text": (root / UNIT).read_text(encoding="utf-8"), "mode": "644"}
    return [program, unit]


@node_operation
def applied(
    trial: str,
    files: Sequence[Mapping[str, str]],
    *,
    apply: Sequence[str],
    undo: Sequence[str],
    at_boot: Sequence[str] = (),
    owned: tuple[str, str] | None = None,
    limit_s: float = LIMIT_S,
) -> Commands:
    """``files`` are there and ``apply`` (shell lines) has run, proven by a new connection within ``limit_s`` seconds.

    ``undo`` are shell lines that apply the old files again once they are back, ``at_boot`` what is run instead when
    they come back at a boot, before the network is up. ``owned`` is a directory and a pattern:
    files of that name that are not among ``files`` are removed. A trial that was left unproven is proven now, or keeps
    the older state to go back to.
    """
    mark = f"{TRIALS}/{trial}/paths"
    wanted = [item["path"] for item in files]
    states = answer(FileStates, paths=[*wanted, mark])
    found = answer(DirectoryFiles, directory=owned[0], pattern=owned[1]) if owned else ()
    surplus = [path for path in found if path not in wanted]
    changed = differing(files, states)
    show_differences(changed, states, surplus)
    if not changed and not surplus and mark not in states:
        host.noop("all files are as rendered, and proven")
        return
    if changed or surplus:
        yield StringCommand(_arm(trial, sorted({*wanted, *found}), undo, limit_s, at_boot))
        if changed:
            yield written(changed)
        if surplus:
            yield StringCommand("rm", *map(QuoteString, surplus))
        for text in apply:
            yield StringCommand(text)
    yield step(_prove, trial, limit_s)


def timer(trial: str) -> str:
    """The name of the trial's timer, without its suffix."""
    return f"metalwright-restore-{trial}"


def _arm(trial: str, paths: Sequence[str], undo: Sequence[str], limit_s: float, at_boot: Sequence[str] = ()) -> str:
    """Keep what is there (an older unproven state counts more), sync it, start the timer."""
    directory, restore = f"{TRIALS}/{trial}", PROGRAMS["restore.sh"]
    listed = "\\n".join(paths)
    keep = (
        f"rm -rf {directory}.new; mkdir -p {directory}.new; cd {directory}.new; printf '{listed}\\n' > paths; "
        f"printf '%s\\n' {quote('; '.join(undo))} > undo; printf '%s\\n' {quote('; '.join(at_boot))} > at-boot; "
        'while read -r path; do [ ! -e "$path" ] || echo "$path"; done < paths > there; '
        "tar --create --absolute-names --file before.tar --files-from there; sync -f .; "
        f"mv {directory}.new {directory}"
    )
    when = f"--on-active={limit_s:g} --timer-property=AccuracySec=100ms"
    start = f"systemd-run --quiet --collect --unit={timer(trial)} {when} {restore} {trial}"
    stop = f"systemctl stop {timer(trial)}.timer 2>/dev/null || true"
    return f"set -e; {stop}; if [ ! -e {directory}/paths ]; then {keep}; fi; {start}"


def _prove(trial: str, limit_s: float) -> None:
    """Come in anew and stop the timer; raises DeployError when that does not work before it has run out."""
    deadline = time.monotonic() + limit_s
    host.disconnect()
    while not _connects():
        if time.monotonic() > deadline + limit_s:
            raise _cut_off(trial, "the node does not answer, also after the time at which it goes back")
        time.sleep(POLL_S)
    directory = f"{TRIALS}/{trial}"
    stop = f"systemctl stop {timer(trial)}.timer 2>/dev/null; test -e {directory}/paths && rm -rf {directory}"
    is_proven, _ = host.run_shell_command(
        StringCommand("sh -c", QuoteString(stop)), _sudo=host.data.get("_sudo", False)
    )
    if not is_proven:
        raise _cut_off(trial, "no new connection came in time; the node has put back what was there before")


def _connects() -> bool:
    try:
        host.connect(show_errors=False, raise_exceptions=True)
    except ConnectError:
        return False
    return True


def _cut_off(trial: str, found: str) -> DeployError:
    return DeployError(
        f"the new settings ({trial}) cut the node off",
        where=host.name,
        expected="a new SSH connection with the new settings",
        found=found,
        hint="look at them with --dry --diff, correct blueprint, site or template, and run it again",
    )


def stem(path: str) -> str:
    """The device that a network file is about: ``/…/10-vlan40.netdev`` → ``vlan40``."""
    return PurePosixPath(path).stem.partition("-")[2]
