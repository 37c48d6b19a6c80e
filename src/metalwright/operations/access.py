"""Who may log in."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand

from metalwright.errors import DeployError
from metalwright.facts.logins import EXPIRED, LoginNames, Logins, ssh_processes
from metalwright.node_files import KEYS_DIRECTORY, MADE_ACCOUNTS, PRINCIPALS_DIRECTORY
from metalwright.operations.differences import line, show_diff
from metalwright.operations.failure import Commands, answer, failure, node_operation, step

FIRST_PERSON_UID = 1000
"""Debian's accounts below it belong to the system."""


@node_operation
def people(
    names: Sequence[str], *, keep: Sequence[str] = (), keyless: Sequence[str] = (), principals: Sequence[str] = ()
) -> Commands:
    """An account for each of ``names``; keys of nobody but them (``keyless`` left out) and ``keep``.

    Principals of certificates are kept for those of ``principals`` alone. An account that metalwright made, noted in
    :data:`MADE_ACCOUNTS`, and that is neither named nor kept is retired: locked, ended, its SSH sessions closed. One
    that others made only loses its keys. A name that an account of the system bears fails the host.
    """
    found = answer(LoginNames)
    missing = [name for name in names if name not in found["accounts"]]
    for name in names:
        if found["accounts"].get(name, FIRST_PERSON_UID) < FIRST_PERSON_UID:
            yield failure(_taken(name, found["accounts"][name]))
            return
    back = [name for name in names if name in found["retired"]]
    gone = list(_to_retire(found, [*names, *keep]))
    with_keys = [*(name for name in names if name not in keyless), *keep]
    surplus = [f"{KEYS_DIRECTORY}/{name}" for name in found["keys"] if name not in with_keys]
    strange = [f"{PRINCIPALS_DIRECTORY}/{name}" for name in found["principals"] if name not in principals]
    show_diff(_differences(found, missing, back, gone, surplus, strange))
    for name in missing:
        yield _made(name)
    for name in back:
        yield StringCommand("usermod --expiredate ''", QuoteString(name))
    for path in (*surplus, *strange):
        yield StringCommand("rm", QuoteString(path))
    for name in gone:
        yield from _retired(name, found["accounts"][name])
    if not (missing or back or surplus or strange or gone):
        host.noop("the declared people have accounts, and nobody else gets in")


def _to_retire(found: Logins, named: Sequence[str]) -> Iterator[str]:
    for name, uid in found["made"].items():
        is_over = name in found["retired"] and uid not in found["sessions"]
        if name not in named and uid >= FIRST_PERSON_UID and not is_over:
            yield name


def _differences(
    found: Logins,
    missing: Sequence[str],
    back: Sequence[str],
    gone: Sequence[str],
    surplus: Sequence[str],
    strange: Sequence[str],
) -> Iterator[str]:
    yield from (line(f"account {name}", "absent", "there") for name in missing)
    yield from (line(f"account {name}", "locked and ended", "there") for name in back)
    yield from (line(f"SSH keys of {PurePosixPath(path).name}", "there", "absent") for path in surplus)
    yield from (line(f"SSH principals of {PurePosixPath(path).name}", "there", "absent") for path in strange)
    for name in gone:
        state = "may log in, is logged in" if found["accounts"][name] in found["sessions"] else "may log in"
        yield line(f"account {name}", state, "locked, ended, sessions closed")


def _made(name: str) -> StringCommand:
    """The account first, then the note: a cut in between leaves an account that counts as another's."""
    quoted, directory = shlex.quote(name), PurePosixPath(MADE_ACCOUNTS).parent
    return StringCommand(
        f"useradd --create-home --no-user-group --shell /bin/bash {quoted} && install -d -m 755 {directory} && "
        f'echo {quoted} "$(id -u {quoted})" >> {MADE_ACCOUNTS}'
    )


def _retired(name: str, uid: int) -> Commands:
    """Nobody comes in any more before those who are in are put out."""
    yield StringCommand(f"usermod --lock --expiredate {EXPIRED}", QuoteString(name))
    yield StringCommand("loginctl terminate-user", QuoteString(name), "2>/dev/null || true")
    yield StringCommand(
        f"{ssh_processes()} | while read -r process; do "
        f'[ "$(stat --format=%u "$process" 2>/dev/null)" != {uid} ] || kill -KILL "${{process#/proc/}}"; done'
    )
    yield step(_require_retired, name, uid)


def _require_retired(name: str, uid: int) -> None:
    found = answer(LoginNames)
    if name in found["retired"] and uid not in found["sessions"]:
        return
    raise DeployError(
        f"the account {name} still lets somebody in",
        where=host.name,
        expected="locked, ended, no SSH session",
        found="an SSH session" if uid in found["sessions"] else "not locked, or not ended",
        hint=f"on the node: chage --list {name}; loginctl user-status {name}",
    )


def _taken(name: str, uid: int) -> DeployError:
    return DeployError(
        f"the name {name} is taken by an account of the system",
        where=host.name,
        expected="an account of a person, or none",
        found=f"user id {uid}",
        hint="give the person another name in site.yaml (admins)",
    )
