"""The per-node lock: one writer at a time on this machine, for as long as any process that acts for it lives.

It is the kernel's ``flock`` on ``locks/<node>.lock``, held by an open file that child processes inherit: an orphaned
child keeps the node locked. What the file contains only tells the next one who holds it; a stale, empty or foreign
file locks nothing, and the file is never removed, since removing it would let two processes lock two files.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from pydantic import ValidationError

from metalwright.errors import JournalError, LockHeldError
from metalwright.journal.writers import host_name, may_live, user_at_host
from metalwright.model.base import Frozen

LOCK_FDS_VARIABLE = "METALWRIGHT_LOCK_FDS"
"""``node:descriptor,node:descriptor``: locks that this process inherited."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HOLDER_BYTES = 4096


class LockHolder(Frozen):
    """What the lock file says about who holds it."""

    node: str
    run: str | None
    by: str
    host: str
    pid: int
    since: datetime

    def describe(self) -> str:
        """Return one line for people; a holder that died left the lock to a child."""
        run = f", run {self.run}" if self.run else ""
        gone = "" if self.is_alive else " (that process is gone; a child of it still works)"
        return f"{self.by} pid {self.pid}{run}, since {self.since:%Y-%m-%d %H:%M:%SZ}{gone}"

    @property
    def is_alive(self) -> bool:
        """Whether the process still exists; true for another machine, where it cannot be seen."""
        return may_live(self.host, self.pid)


class NodeLock:
    """The lock of one node under ``<state_dir>/locks``; a context manager."""

    def __init__(self, state_dir: Path, node: str) -> None:
        if not _NAME.fullmatch(node):
            raise JournalError("this cannot name a lock", where=node, expected="letters, digits, '.', '_' and '-'")
        self.node = node
        self.path = state_dir / "locks" / f"{node}.lock"
        self._descriptor: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    @property
    def descriptor(self) -> int:
        """The open file that holds the lock; give it to children by ``pass_fds``."""
        if self._descriptor is None:
            raise JournalError("the lock is not held", where=self.node)
        return self._descriptor

    def acquire(self, run: str | None = None, *, wait_s: float = 0.0) -> NodeLock:
        """Take the lock, or the one that the parent process passed on.

        Raises LockHeldError, naming holder and time, when another process still holds it after ``wait_s`` seconds.
        """
        if self._descriptor is not None:
            return self
        inherited = _inherited_descriptor(self.node, self.path)
        if inherited is not None:
            self._descriptor = inherited
            return self
        descriptor = self._open()
        try:
            self._lock(descriptor, time.monotonic() + wait_s)
            _write_holder(descriptor, self.node, run)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return self

    def name_run(self, run: str) -> None:
        """Tell the others which run holds the lock."""
        _write_holder(self.descriptor, self.node, run)

    def release(self) -> None:
        """Let go. The lock is free when no child that inherited it lives any more."""
        if self._descriptor is None:
            return
        os.close(self._descriptor)
        self._descriptor = None

    def holder(self) -> LockHolder | None:
        """Return what the file says about its last holder, who may be gone; ``None`` when it says nothing."""
        with contextlib.suppress(OSError, ValidationError, ValueError):
            return LockHolder.model_validate_json(self.path.read_bytes()[:_HOLDER_BYTES])
        return None

    def __enter__(self) -> NodeLock:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _open(self) -> int:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise JournalError("the lock cannot be opened", where=str(self.path), found=error.strerror) from error

    def _lock(self, descriptor: int, until: float) -> None:
        while not _try_lock(descriptor):
            if time.monotonic() >= until:
                raise self._held()
            time.sleep(0.1)

    def _held(self) -> LockHeldError:
        holder = self._living_holder()
        return LockHeldError(
            "another run works on the node",
            where=self.node,
            found="a process that has not said who it is" if holder is None else holder.describe(),
            hint=f"wait for it; `metalwright status {self.node}` shows what it does",
        )

    def _living_holder(self) -> LockHolder | None:
        """Read again for a moment: the new holder may not have written its name over the old one yet."""
        holder = self.holder()
        for _ in range(10):
            if holder is not None and holder.is_alive:
                break
            time.sleep(0.02)
            holder = self.holder()
        return holder


def child_environment(locks: Iterable[NodeLock]) -> dict[str, str]:
    """Return the environment variable that tells a child which locks it inherits; pass the descriptors too."""
    held = ",".join(f"{lock.node}:{lock.descriptor}" for lock in locks)
    return {LOCK_FDS_VARIABLE: held} if held else {}


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_holder(descriptor: int, node: str, run: str | None) -> None:
    holder = LockHolder(
        node=node, run=run, by=user_at_host(), host=host_name(), pid=os.getpid(), since=datetime.now(UTC)
    )
    text = json.dumps(holder.to_json()).encode()
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text, 0)


def _inherited_descriptor(node: str, path: Path) -> int | None:
    """Return an own duplicate of the inherited descriptor, if it really is this lock and really holds it."""
    for item in os.environ.get(LOCK_FDS_VARIABLE, "").split(","):
        name, _, number = item.partition(":")
        if name == node and number.isdecimal() and _is_same_file(int(number), path) and _try_lock(int(number)):
            return os.dup(int(number))
    return None


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        opened, named = os.fstat(descriptor), path.stat()
    except OSError:
        return False
    return (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)
