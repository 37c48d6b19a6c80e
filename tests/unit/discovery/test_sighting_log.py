"""What a sweep keeps on disk: what was read, for a while, whatever happens to the file."""

from __future__ import annotations

import gc
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.unit.matching.machines import REPORT

from metalwright.redfish.discovery import Sighting, SightingLog, Target
from metalwright.redfish.discovery.sighting import Outcome, RootFacts
from metalwright.redfish.garbage import rarely_collected
from metalwright.redfish.places import Place

START = datetime(2026, 11, 30, 12, tzinfo=UTC)
TARGET = Target(Place("10.20.0.11", 8443))
SEEN = Sighting(TARGET, "identified", (REPORT,), RootFacts("Maker", "X", "1.15.0", None), "ab" * 32, True, "factory")


class Clock:
    """A clock that stands until it is told to go on."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(tmp_path: Path, clock: Clock) -> SightingLog:
    return SightingLog(tmp_path / "sightings.jsonl", clock)


def keep(log: SightingLog, *sightings: Sighting) -> None:
    with log.appending() as append:
        for sighting in sightings:
            append(sighting)


def test_a_machine_comes_back_whole_and_says_when_it_was_read(log: SightingLog) -> None:
    keep(log, SEEN)
    (again,) = log.recent(timedelta(minutes=10)).values()
    assert (again.reports, again.root, again.fingerprint, again.login) == ((REPORT,), SEEN.root, "ab" * 32, "factory")
    assert (again.target.key, again.read_at) == ("10.20.0.11:8443", START)


def test_it_counts_for_the_age_that_was_asked_for(log: SightingLog, clock: Clock) -> None:
    keep(log, SEEN)
    clock.now += timedelta(minutes=10)
    assert log.recent(timedelta(minutes=10)) == {}
    assert len(log.recent(timedelta(minutes=11))) == 1


@pytest.mark.parametrize("outcome", ["nothing", "no-redfish", "no-login", "login-refused", "deadline", "failed"])
def test_what_was_not_read_to_its_end_is_not_kept(outcome: Outcome, log: SightingLog) -> None:
    keep(log, Sighting(TARGET, outcome))
    assert log.recent(timedelta(days=1)) == {}


def test_damaged_lines_cost_only_themselves(log: SightingLog, tmp_path: Path) -> None:
    path = tmp_path / "sightings.jsonl"
    keep(log, SEEN)
    whole = path.read_text()
    path.write_text("\x00\n[]\nnull\n" + '{"at": 1}\n' + whole + whole[: len(whole) // 2])
    assert len(log.recent(timedelta(minutes=1))) == 1


def test_the_newest_of_a_machine_counts_and_old_lines_go(log: SightingLog, clock: Clock, tmp_path: Path) -> None:
    keep(log, SEEN)
    clock.now += timedelta(hours=1)
    keep(log, SEEN)
    assert [item.read_at for item in log.recent(timedelta(days=1)).values()] == [clock.now]
    clock.now += timedelta(days=2)
    keep(log)
    assert (tmp_path / "sightings.jsonl").read_text() == ""


def test_two_sweeps_at_once_lose_nothing(log: SightingLog) -> None:
    other = Sighting(Target(Place("10.20.0.12", 443)), "no-host")
    with log.appending() as first:
        first(SEEN)
        keep(log, other)
    assert set(log.recent(timedelta(days=1))) == {"https://10.20.0.11:8443", "https://10.20.0.12:443"}


def test_the_collector_is_as_before_after_a_sweep_that_failed() -> None:
    before = gc.get_threshold()

    def sweep() -> None:
        with rarely_collected():
            assert gc.get_threshold() > before
            raise KeyError

    with pytest.raises(KeyError):
        sweep()
    assert gc.get_threshold() == before
