"""A grant allows one thing, to one run, for a while."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from tests.unit.journal.conftest import HandClock

from metalwright.errors import GrantError
from metalwright.journal.journal import Journal
from metalwright.model.grant import Grant

IMAGE = "1a" * 32


def _grant(journal: Journal, minutes: float = 30) -> Grant:
    return journal.grants.make(
        "lab-1", image_sha256=IMAGE, plan="sha256:p", how="plan", valid_for=timedelta(minutes=minutes)
    )


def test_it_is_found_for_its_node_and_image_only(journal: Journal, clock: HandClock) -> None:
    grant = _grant(journal)
    assert journal.grants.find_valid("lab-1", IMAGE, clock.now) == grant
    assert journal.grants.find_valid("lab-1", None, clock.now) == grant
    assert journal.grants.find_valid("lab-1", "2b" * 32, clock.now) is None
    assert journal.grants.find_valid("lab-2", IMAGE, clock.now) is None


def test_it_ends(journal: Journal, clock: HandClock) -> None:
    grant = _grant(journal, minutes=30)
    clock.move(minutes=29, seconds=59)
    assert journal.grants.find_valid("lab-1", IMAGE, clock.now) == grant
    clock.move(seconds=1)
    assert journal.grants.find_valid("lab-1", IMAGE, clock.now) is None
    with pytest.raises(GrantError) as caught:
        journal.grants.use(grant.id, "r1", clock.now)
    assert caught.value.found == "expired at 2026-11-30 12:30:00Z"


def test_a_used_one_belongs_to_its_run(journal: Journal, clock: HandClock) -> None:
    grant = _grant(journal)
    journal.grants.use(grant.id, "r1", clock.now)
    assert journal.grants.find_valid("lab-1", IMAGE, clock.now) is None
    assert journal.grants.find_valid("lab-1", IMAGE, clock.now, run="r2") is None
    assert journal.grants.find_valid("lab-1", IMAGE, clock.now, run="r1") == grant
    with pytest.raises(GrantError) as caught:
        journal.grants.use(grant.id, "r2", clock.now)
    assert caught.value.found == "bound to run r1"
    journal.grants.use(grant.id, "r1", clock.now)


def test_a_spent_one_allows_nothing_more(journal: Journal, clock: HandClock) -> None:
    grant = _grant(journal)
    journal.grants.use(grant.id, "r1", clock.now)
    journal.grants.spend("r1", "lab-1")
    with pytest.raises(GrantError) as caught:
        journal.grants.use(grant.id, "r1", clock.now)
    assert caught.value.found == "spent by run r1 at 2026-11-30 12:00:00Z"


def test_an_unknown_one_is_refused(journal: Journal, clock: HandClock) -> None:
    with pytest.raises(GrantError) as caught:
        journal.grants.use("g-none", "r1", clock.now)
    assert caught.value.found == "no such grant"


def test_of_many_runs_one_gets_it(journal: Journal, clock: HandClock) -> None:
    grant = _grant(journal)
    winners: list[int] = []

    def use(number: int) -> None:
        try:
            journal.grants.use(grant.id, f"r{number}", clock.now)
            winners.append(number)
        except GrantError:
            pass

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(winners) == 1


def test_issuing_and_expiring_are_audited(journal: Journal) -> None:
    grant = _grant(journal)
    journal.grants.expire(grant.id, "wrong rack")
    assert [(event.what, event.is_act) for event in journal.events.of()] == [
        ("grant issued", True),
        ("grant expired", True),
    ]


def test_the_disks_that_may_be_erased_are_kept_with_it(journal: Journal, clock: HandClock) -> None:
    hour = timedelta(hours=1)
    grant = journal.grants.make(
        "lab-1", image_sha256=IMAGE, plan="sha256:p", how="typed", valid_for=hour, wipe=["S2", "S1"]
    )
    assert grant.wipe == ("S1", "S2")
    assert journal.grants.find_valid("lab-1", IMAGE, clock.now) == grant
    assert [item.grant.wipe for item in journal.grants.of_node("lab-1")] == [("S1", "S2")]
    (issued,) = [event for event in journal.events.of(node="lab-1") if event.what == "grant issued"]
    assert (issued.detail or {})["wipe"] == ["S1", "S2"]
