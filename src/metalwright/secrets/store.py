"""What every store of secrets can do."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from metalwright.errors import SecretError
from metalwright.secrets.value import Secret


class SecretStore(Protocol):
    """Keeps named secrets. Names are not secret (``bmc/gpu-a01-u07``). Safe for several threads and processes.

    Every method raises :class:`metalwright.errors.SecretError` when the store cannot be read or written; the old
    content is then intact.
    """

    def get(self, name: str) -> Secret | None:
        """Return a secret, or ``None`` when there is none of that name."""

    def put(self, name: str, value: Secret) -> None:
        """Keep a secret durably, instead of an earlier one of that name."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Let nobody else write during the block: for reading, changing and writing back. May be nested."""


class StoreLock:
    """One writer among threads (a lock) and processes (``flock`` on a file beside the store); may be nested."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.RLock()
        self._depth = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the block."""
        with self._threads:
            descriptor = self._open_locked() if self._depth == 0 else None
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if descriptor is not None:
                    os.close(descriptor)

    def _open_locked(self) -> int:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SecretError(
                "the secret store cannot be locked", where=str(self._path), found=error.strerror
            ) from error
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return descriptor
