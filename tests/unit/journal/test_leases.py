"""A node has one run at a time, and epochs only grow."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from metalwright.errors import LockHeldError
from metalwright.journal.holding import hold_node, take_over_node
from metalwright.journal.journal import Journal


def _move_to_another_host(journal_file: Path) -> None:
    connection = sqlite3.connect(journal_file)
    connection.execute("UPDATE leases SET host = 'elsewhere', by = 'eve@elsewhere'")
    connection.commit()
    connection.close()


def test_every_lease_has_a_higher_epoch(journal: Journal) -> None:
    epochs = []
    for run in ("r1", "r2", "r3"):
        lease = journal.leases.take("lab-1", run)
        epochs.append(lease.epoch)
        journal.leases.release(lease)
    assert epochs == [1, 2, 3]
    assert journal.leases.take("lab-2", "r3").epoch == 1


def test_an_older_holder_cannot_end_the_lease_of_a_newer_one(journal: Journal) -> None:
    old = journal.leases.take("lab-1", "r1")
    new = journal.leases.take("lab-1", "r2")
    journal.leases.release(old)
    assert journal.leases.get("lab-1") == new


def test_a_run_on_another_machine_is_not_displaced(journal: Journal, journal_file: Path) -> None:
    journal.leases.take("lab-1", "r1")
    _move_to_another_host(journal_file)
    with pytest.raises(LockHeldError):
        journal.leases.check_free("lab-1")
    with pytest.raises(LockHeldError) as caught:
        journal.leases.take("lab-1", "r2")
    assert caught.value.found is not None
    assert "eve@elsewhere" in caught.value.found
    assert "run r1, since 2026-11-30 12:00:00Z" in caught.value.found


def test_takeover_is_explicit_and_audited(journal: Journal, journal_file: Path, state_dir: Path) -> None:
    journal.leases.take("lab-1", "r1")
    _move_to_another_host(journal_file)
    with take_over_node(journal, state_dir, "lab-1", "r2", "that laptop burned") as hold:
        assert hold.lease.epoch == 2
    (act,) = journal.events.of(node="lab-1")
    assert (act.what, act.why, act.is_act) == ("takeover", "that laptop burned", True)
    assert act.detail == {"epoch": 1, "run": "r1", "by": "eve@elsewhere"}


def test_a_node_is_held_for_the_length_of_the_block(journal: Journal, state_dir: Path) -> None:
    with hold_node(journal, state_dir, "lab-1", "r1") as hold:
        assert hold.lock.is_held
        with pytest.raises(LockHeldError), hold_node(journal, state_dir, "lab-1", "r2"):
            pytest.fail("two runs hold the node")
        assert journal.leases.get("lab-1") == hold.lease
    lease = journal.leases.get("lab-1")
    assert lease is not None
    assert lease.released is not None
    with hold_node(journal, state_dir, "lab-1", "r2") as again:
        assert again.lease.epoch == 2


def test_the_lease_of_a_dead_process_of_this_machine_is_followed_by_the_next(journal: Journal, state_dir: Path) -> None:
    journal.leases.take("lab-1", "killed")
    with hold_node(journal, state_dir, "lab-1", "r2") as hold:
        assert hold.lease.epoch == 2
