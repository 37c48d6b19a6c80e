"""Holding a node: the kernel's lock on this machine and the lease in the journal, taken together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from metalwright.journal.journal import Journal
from metalwright.journal.locks import NodeLock
from metalwright.journal.records import Lease


@dataclass(frozen=True)
class NodeHold:
    """The right to act on a node: its lock (pass it to children) and its lease (its epoch goes into *go*)."""

    lock: NodeLock
    lease: Lease


@contextmanager
def hold_node(journal: Journal, state_dir: Path, node: str, run: str, *, wait_s: float = 0.0) -> Iterator[NodeHold]:
    """Hold a node for a run until the block ends. Raises LockHeldError, saying who holds it and since when."""
    lock = NodeLock(state_dir, node).acquire(run, wait_s=wait_s)
    try:
        with hold_locked_node(journal, lock, run) as hold:
            yield hold
    finally:
        lock.release()


@contextmanager
def hold_locked_node(journal: Journal, lock: NodeLock, run: str) -> Iterator[NodeHold]:
    """Hold a node, whose lock is held already, for a run; the lock stays held after the block.

    Raises LockHeldError when a run on another machine holds the node.
    """
    lease = journal.leases.take(lock.node, run)
    lock.name_run(run)
    try:
        yield NodeHold(lock, lease)
    finally:
        journal.leases.release(lease)


@contextmanager
def take_over_node(journal: Journal, state_dir: Path, node: str, run: str, why: str) -> Iterator[NodeHold]:
    """Hold a node although an earlier lease was never released; audited with ``why``.

    The new epoch begins first, so that a ramdisk of the old one is refused even while an orphan keeps the lock;
    LockHeldError then names the process to end.
    """
    lease = journal.leases.take_over(node, run, why)
    lock = NodeLock(state_dir, node).acquire(run)
    try:
        yield NodeHold(lock, lease)
    finally:
        journal.leases.release(lease)
        lock.release()
