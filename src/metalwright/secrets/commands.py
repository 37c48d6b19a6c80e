"""A store behind two programs, for sites that have a vault: the secret travels on stdin and stdout only."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from metalwright.secrets.programs import run_program
from metalwright.secrets.references import without_line_end
from metalwright.secrets.store import StoreLock
from metalwright.secrets.value import Secret


class CommandStore:
    """``get_command NAME`` prints the secret, or nothing when there is none; ``put_command NAME`` reads it from stdin.

    ``lock_path`` keeps the writers of this machine apart.
    """

    def __init__(self, get_command: str, put_command: str, lock_path: Path) -> None:
        self._get_command = get_command
        self._put_command = put_command
        self._lock = StoreLock(lock_path)

    def get(self, name: str) -> Secret | None:
        """Return a secret, or ``None`` when the program prints nothing."""
        text = without_line_end(run_program(self._get_command, name, where="secrets.get_command"))
        return Secret(text) if text else None

    def put(self, name: str, value: Secret) -> None:
        """Hand a secret to the program."""
        with self.exclusive():
            run_program(self._put_command, name, stdin=value.reveal(), where="secrets.put_command")

    def exclusive(self) -> AbstractContextManager[None]:
        """Let no other process of this machine write during the block."""
        return self._lock.held()
