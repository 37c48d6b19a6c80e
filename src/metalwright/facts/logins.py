"""Who may log in to a node, and which of the accounts metalwright made."""

from __future__ import annotations

from typing import TypedDict

from pyinfra.api.exceptions import FactProcessError

from metalwright.facts.answers import NodeFact, all_marked
from metalwright.node_files import KEYS_DIRECTORY, MADE_ACCOUNTS, PRINCIPALS_DIRECTORY

EXPIRED = "1"
"""The day (since 1970) on which a retired account ended: long ago, so that no clock is needed to tell."""


class Logins(TypedDict):
    """``accounts``: name → user id; ``keys``, ``principals``: names that have such a file.

    ``made``: name → user id of accounts that metalwright made and that are still the same; ``retired``: names whose
    password is locked and whose account has ended; ``sessions``: user ids for which sshd works now.
    """

    accounts: dict[str, int]
    keys: tuple[str, ...]
    principals: tuple[str, ...]
    made: dict[str, int]
    retired: tuple[str, ...]
    sessions: tuple[int, ...]


class LoginNames(NodeFact[Logins]):
    """Who exists, who has keys or principals, who was made by us, and who is there."""

    def command(self) -> str:
        """Marked lines of all lists. Of ``/etc/shadow`` the first character of the password and the day of its end."""
        return (
            f"sed 's/^/account:/' /etc/passwd; ls -1 {KEYS_DIRECTORY} 2>/dev/null | sed 's/^/keys:/'; "
            f"ls -1 {PRINCIPALS_DIRECTORY} 2>/dev/null | sed 's/^/principals:/'; "
            f"sed 's/^/made:/' {MADE_ACCOUNTS} 2>/dev/null; "
            'awk -F: \'{print "end:" $1 ":" substr($2, 1, 1) ":" $8}\' /etc/shadow; '
            f"{ssh_processes()} | xargs --no-run-if-empty stat --format=session:%u 2>/dev/null || true"
        )

    def process(self, output: list[str]) -> Logins:
        """There is always one account, and one line of ``/etc/shadow`` for it."""
        rows = [line.split(":") for line in all_marked(output, "account:")]
        ends = [line.split(":") for line in all_marked(output, "end:")]
        if not rows or not ends:
            raise FactProcessError("/etc/passwd or /etc/shadow gave no answer")
        accounts = {row[0]: int(row[2]) for row in rows if len(row) == 7}
        made = [line.split() for line in all_marked(output, "made:")]
        notes = {words[0]: int(words[1]) for words in made if len(words) == 2}
        return {
            "accounts": accounts,
            "keys": all_marked(output, "keys:"),
            "principals": all_marked(output, "principals:"),
            "made": {name: uid for name, uid in notes.items() if accounts.get(name) == uid},
            "retired": tuple(name for name, lock, end in ends if lock in ("!", "*") and end == EXPIRED),
            "sessions": tuple(sorted({int(line) for line in all_marked(output, "session:")})),
        }


def ssh_processes() -> str:
    """A line that lists the ``/proc`` directories of sshd's processes."""
    return "grep -lE '^sshd(-session)?$' /proc/[0-9]*/comm 2>/dev/null | sed 's|/comm$||'"
