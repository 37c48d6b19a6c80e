"""A kill at any instant leaves a journal that can be read, with every promise that was made.

One process imports the journal and forks those that die, since starting an interpreter for each would take minutes.
"""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from metalwright.journal.journal import Journal
from metalwright.journal.killing import LOG_VARIABLE
from metalwright.journal.opening import open_sqlite
from metalwright.model.phase import Phase

KILL_AT_RANDOM = """
import os, random, signal, sys, time
from pathlib import Path
from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_sqlite
from metalwright.model.phase import Phase

def write(path, told):
    journal = Journal(open_sqlite(path))
    run = journal.runs.start("provision")
    while True:
        record = journal.runs.begin_phase(run.id, "lab-1", Phase.BIOS)
        os.write(told, b"begun %d\\n" % record.id)
        journal.runs.finish_phase(record, "ok", evidence={"padding": "x" * 3000})
        os.write(told, b"ended %d\\n" % record.id)

path, seed = Path(sys.argv[1]), int(sys.argv[2])
instants = random.Random(seed)
told = os.open(path.with_name("told"), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
for _ in range(12):
    child = os.fork()
    if child == 0:
        write(path, told)
    time.sleep(instants.uniform(0.02, 0.4))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if path.exists():
        with Journal(open_sqlite(path)) as journal:
            journal.runs.phases_of(node="lab-1")
"""

KILL_AT_POINTS = """
import os, sys
from pathlib import Path
from metalwright.journal.journal import Journal
from metalwright.journal.killing import KILL_VARIABLE
from metalwright.journal.opening import open_sqlite
from metalwright.model.phase import Phase

def write(path):
    journal = Journal(open_sqlite(path))
    run = journal.runs.start("provision")
    record = journal.runs.begin_phase(run.id, "lab-1", Phase.BIOS)
    journal.runs.finish_phase(record, "ok")
    journal.runs.finish(run.id, "ok")

for number, point in enumerate(sys.argv[2:]):
    child = os.fork()
    if child == 0:
        os.environ[KILL_VARIABLE] = point
        write(Path(sys.argv[1]) / f"{number}.sqlite")
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def _run(code: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=True).stdout.split()


def _written(path: Path) -> list[int]:
    with Journal(open_sqlite(path)) as journal:
        runs = journal.runs.newest()
        phases = journal.runs.phases_of(node="lab-1")
    finished = [sum(item.result is not None for item in items) for items in (phases, runs)]
    return [len(runs), len(phases), *finished]


def test_killed_at_random_it_keeps_what_it_promised(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    seed = random.SystemRandom().randrange(2**32)
    print("seed", seed)  # noqa: T201 - shown by pytest when the test fails
    _run(KILL_AT_RANDOM, str(path), str(seed))
    told = [line.split() for line in (tmp_path / "told").read_text().splitlines()]
    begun = {int(number) for word, number in told if word == "begun"}
    ended = {int(number) for word, number in told if word == "ended"}
    with Journal(open_sqlite(path)) as journal:
        records = {record.id: record for record in journal.runs.phases_of(node="lab-1")}
    assert len(ended) > 0
    assert begun <= set(records)
    assert all(records[number].result == "ok" for number in ended)


def test_a_number_kills_at_that_point(tmp_path: Path) -> None:
    points = range(1, 9)
    assert _run(KILL_AT_POINTS, str(tmp_path), *map(str, points)) == ["-9"] * 8
    for point in points:
        expected = [int(point > position) for position in (1, 3, 5, 7)]
        assert _written(tmp_path / f"{point - 1}.sqlite") == expected


def test_a_name_kills_at_that_write(tmp_path: Path) -> None:
    assert _run(KILL_AT_POINTS, str(tmp_path), "finish_phase.before", "finish_phase.after:1") == ["-9", "-9"]
    assert _written(tmp_path / "0.sqlite") == [1, 1, 0, 0]
    assert _written(tmp_path / "1.sqlite") == [1, 1, 1, 0]
    with Journal(open_sqlite(tmp_path / "0.sqlite")) as journal:
        record = journal.runs.last_phase("lab-1", Phase.BIOS)
    assert record is not None
    assert record.result is None


def test_each_kills_once_at_every_point_until_one_run_comes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "kill-points.log"
    monkeypatch.setenv(LOG_VARIABLE, str(log))
    assert _run(KILL_AT_POINTS, str(tmp_path), *["each"] * 9) == ["-9"] * 8 + ["0"]
    assert _died_at(log)[2:6] == [
        "begin_phase.before killed bios",
        "begin_phase.after killed bios",
        "finish_phase.before killed bios ok",
        "finish_phase.after killed bios ok",
    ]


def test_the_shares_of_each_are_all_points_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    died: list[str] = []
    for share in ("each:0/3", "each:1/3", "each:2/3"):
        (tmp_path / share[5]).mkdir()
        log = tmp_path / share[5] / "log"
        monkeypatch.setenv(LOG_VARIABLE, str(log))
        assert _run(KILL_AT_POINTS, str(tmp_path / share[5]), *[share] * 9)[-1] == "0"
        died += _died_at(log)
    assert len(died) == len(set(died)) == 8


def _died_at(log: Path) -> list[str]:
    points = [line.partition(" ")[2] for line in log.read_text().splitlines()]
    return [point for point in points if " killed " in point]


def test_a_point_that_is_not_reached_kills_nothing(tmp_path: Path) -> None:
    assert _run(KILL_AT_POINTS, str(tmp_path), "9", "finish_phase.after:2", "no_such_point", "") == ["0"] * 4


@pytest.mark.parametrize("wanted", ["1:1", "x:y", "each"])
def test_a_wish_that_means_nothing_kills_nothing(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from metalwright.journal import killing

    monkeypatch.setenv(killing.KILL_VARIABLE, wanted)
    killing.kill_point("some.point")
