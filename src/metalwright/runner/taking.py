"""Taking nodes: first come, first served, before anything is looked at, granted or written down.

Who comes second is told who works on the node and since when, and leaves no trace: neither on the BMC nor in the
journal of the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from metalwright.errors import LockHeldError
from metalwright.journal.locks import NodeLock
from metalwright.workspace import Workspace


@dataclass
class TakenNodes:
    """The locks that this process holds, and why the other nodes could not be had."""

    locks: dict[str, NodeLock] = field(default_factory=dict)
    refused: dict[str, LockHeldError] = field(default_factory=dict)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes to work on."""
        return tuple(self.locks)

    def require_all(self) -> None:
        """Refuse to go on with fewer nodes than were asked for.

        Raises:
            LockHeldError: of the first node that another run holds.
        """
        for error in self.refused.values():
            raise error


@contextmanager
def take_nodes(workspace: Workspace, nodes: Sequence[str]) -> Iterator[TakenNodes]:
    """Hold the locks of as many of the nodes as are free, for the block."""
    with ExitStack() as stack:
        taken = TakenNodes()
        for node in nodes:
            lock = NodeLock(workspace.paths.state, node)
            try:
                lock.acquire()
                stack.callback(lock.release)
                workspace.journal.leases.check_free(node)
                taken.locks[node] = lock
            except LockHeldError as error:
                lock.release()
                taken.refused[node] = error
        yield taken
