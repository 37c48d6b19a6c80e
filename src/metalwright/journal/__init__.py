"""The journal: runs with their evidence, grants, deployments, leases, locks, pins and the audit log.

It is written before an act (intent) and after it (outcome), and survives a kill at any instant. A lost journal costs
history, never safety. Begin at :func:`open_journal`.

The names below are loaded when they are first used: the per-node lock and the kill points need no database, and a
process that only takes a lock should not spend a second on loading one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalwright.first_use import on_first_use

if TYPE_CHECKING:
    from metalwright.journal.bmcs import LoginLatch
    from metalwright.journal.holding import NodeHold, hold_locked_node, hold_node, take_over_node
    from metalwright.journal.journal import Journal
    from metalwright.journal.killing import KILL_VARIABLE, kill_point
    from metalwright.journal.locks import LOCK_FDS_VARIABLE, LockHolder, NodeLock, child_environment
    from metalwright.journal.opening import open_journal, open_sqlite, open_url

__all__ = [
    "KILL_VARIABLE",
    "LOCK_FDS_VARIABLE",
    "Journal",
    "LockHolder",
    "LoginLatch",
    "NodeHold",
    "NodeLock",
    "child_environment",
    "hold_locked_node",
    "hold_node",
    "kill_point",
    "open_journal",
    "open_sqlite",
    "open_url",
    "take_over_node",
]

__getattr__ = on_first_use(
    __name__,
    {
        "bmcs": ("LoginLatch",),
        "holding": ("NodeHold", "hold_locked_node", "hold_node", "take_over_node"),
        "journal": ("Journal",),
        "killing": ("KILL_VARIABLE", "kill_point"),
        "locks": ("LOCK_FDS_VARIABLE", "LockHolder", "NodeLock", "child_environment"),
        "opening": ("open_journal", "open_sqlite", "open_url"),
    },
)
