"""Who may log in."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from pyinfra import host
from pyinfra.api import FunctionCommand, QuoteString, StringCommand

from metalwright.errors import DeployError
from metalwright.facts.system import LoginNames
from metalwright.node_files import KEYS_DIRECTORY
from metalwright.operations.differences import line, show_diff
from metalwright.operations.failure import answer, failure, node_operation

FIRST_PERSON_UID = 1000
"""Debian's accounts below it belong to the system."""


@node_operation
def people(names: Sequence[str], *, keep: Sequence[str] = ()) -> Generator[StringCommand | FunctionCommand, None, None]:
    """An account for each of ``names``; no key file of anybody but them and ``keep``.

    A name that an account of the system bears fails the host.
    """
    found = answer(LoginNames)
    missing = [name for name in names if name not in found["accounts"]]
    for name in names:
        if found["accounts"].get(name, FIRST_PERSON_UID) < FIRST_PERSON_UID:
            yield failure(_taken(name, found["accounts"][name]))
            return
    surplus = [name for name in found["keys"] if name not in (*names, *keep)]
    show_diff(line(f"account {name}", "absent", "there") for name in missing)
    show_diff(line(f"SSH keys of {name}", "there", "absent") for name in surplus)
    for name in missing:
        yield StringCommand("useradd --create-home --no-user-group --shell /bin/bash", QuoteString(name))
    for name in surplus:
        yield StringCommand("rm", QuoteString(f"{KEYS_DIRECTORY}/{name}"))
    if not missing and not surplus:
        host.noop("the declared people have accounts, and nobody else has keys")


def _taken(name: str, uid: int) -> DeployError:
    return DeployError(
        f"the name {name} is taken by an account of the system",
        where=host.name,
        expected="an account of a person, or none",
        found=f"user id {uid}",
        hint="give the person another name in site.yaml (admins)",
    )
