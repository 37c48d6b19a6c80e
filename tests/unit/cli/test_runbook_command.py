"""``metalwright runbook`` as a person uses it: followed to the end, stopped by a failure, taken up again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import desired

from metalwright.cli.app import run
from metalwright.cli.runbook_commands import answered
from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_sqlite

ROOT = Path(__file__).parents[3]
BOOK = """# Try it

## 1. Count

```console
$ runbooks/count.py NODE first
```

**If this fails:** look at the `gate`.

## 2. Pass the gate

```console
$ runbooks/gate.py
$ runbooks/count.py NODE second
```

**If this fails:** open the *gate*.
"""
COUNT = "import sys; open('counted', 'a').write(' '.join(sys.argv[1:]) + '\\n')\n"
GATE = "import pathlib, sys; sys.exit(0 if pathlib.Path('open').exists() else 3)\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    racks = tmp_path / "inventory" / "racks"
    racks.mkdir(parents=True)
    (tmp_path / "inventory" / "site.yaml").write_text(json.dumps(desired.site().to_json()))
    rack = {"schema": 1, "name": "rack-1", "site": "lab", "nodes": [desired.node(unit=1).to_json()]}
    (racks / "rack-1.yaml").write_text(json.dumps(rack))
    books = tmp_path / "runbooks"
    books.mkdir()
    for name, text in (("try.md", BOOK), ("count.py", COUNT), ("gate.py", GATE)):
        (books / name).write_text(text)
    return tmp_path


@pytest.fixture
def journal(site: Path) -> Iterator[Journal]:
    with Journal(open_sqlite(site / ".metalwright" / "journal.sqlite")) as journal:
        yield journal


def counted(site: Path) -> list[str]:
    return (site / "counted").read_text().splitlines()


def test_a_failed_step_shows_its_way_out_and_the_next_run_goes_on_from_it(
    site: Path, journal: Journal, capfd: pytest.CaptureFixture[str]
) -> None:
    command = ["--site", str(site), "runbook", "run", "try", "lab-1"]
    assert run(command) == 3
    told = capfd.readouterr().err
    assert "step 2 failed: runbooks/gate.py: exit code 3" in told
    assert "open the gate" in told
    assert "metalwright runbook run try lab-1" in told
    (unfinished,) = journal.runs.unfinished()
    (site / "open").touch()
    assert run(command) == 0
    assert "taken up again after step 1 of 2" in capfd.readouterr().err
    assert counted(site) == ["lab-1 first", "lab-1 second"]
    assert journal.runs.get(unfinished.id).result == "ok"
    notes = [event.what for event in journal.events.of(run=unfinished.id)]
    assert notes == ["runbook step done", "runbook step failed", "runbook step done"]


def test_a_runbook_that_changed_is_followed_from_its_first_step(
    site: Path, journal: Journal, capfd: pytest.CaptureFixture[str]
) -> None:
    command = ["--site", str(site), "runbook", "run", "try", "lab-1"]
    assert run(command) == 3
    (site / "open").touch()
    (site / "runbooks" / "try.md").write_text(BOOK + "\nOne more line.\n")
    assert run(command) == 0
    assert counted(site) == ["lab-1 first", "lab-1 first", "lab-1 second"]
    assert [item.result for item in journal.runs.newest()] == ["cancelled", "ok"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("metalwright statsu NODE", "Did you mean 'status'"),
        ("metalwright status NODE --jsn", "--jsn"),
        ("metalwright provision NODE --until nowhere", "nowhere"),
        ("metalwright cancel NODE", "--why"),
        ("pyinfra inventory/bmcs.py deploys/nothing.py", "no such file"),
        ("rm -rf /", "does not run this program"),
        ("metalwright status 'NODE", "cannot be read"),
    ],
)
def test_check_names_each_command_that_does_not_exist(
    site: Path, line: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = BOOK.replace("$ runbooks/gate.py", f"$ {line}")
    (site / "runbooks" / "try.md").write_text(text)
    assert run(["--site", str(site), "runbook", "check"]) == 2
    (problem,) = [item for item in capsys.readouterr().out.splitlines() if item.startswith("runbooks/try.md:14: ")]
    assert told in problem


def test_a_step_that_needs_an_answer_is_not_run_where_nobody_can_answer(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "runbooks" / "try.md").write_text(BOOK.replace("```console", "<!-- confirm -->\n```console", 1))
    command = ["--site", str(site), "runbook", "run", "try", "lab-1"]
    assert run(command) == 64
    assert "nobody is there to ask" in capsys.readouterr().err
    assert not (site / "counted").exists()
    assert run([*command, "--yes"]) == 3
    assert counted(site) == ["lab-1 first"]


REMEDY = "\n\n```console\n$ runbooks/count.py NODE forced\n```\n"


def test_a_command_for_the_failure_of_a_step_can_be_named_beforehand_exactly_as_it_is_written(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "runbooks" / "try.md").write_text(BOOK.rstrip() + REMEDY)
    command = ["--site", str(site), "runbook", "run", "try", "lab-1", "--yes", "--instead"]
    assert run([*command, "runbooks/count.py lab-1 forced"]) == 64
    assert "runbooks/count.py NODE forced" in capsys.readouterr().err
    assert run([*command, "runbooks/count.py NODE forced"]) == 0
    assert counted(site) == ["lab-1 first", "lab-1 forced"]


@pytest.mark.parametrize(("answer", "code", "last"), [("1", 0, "lab-1 second"), ("stop", 3, "lab-1 first")])
def test_what_a_step_says_for_its_failure_is_offered_to_who_sits_there(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, code: int, last: str
) -> None:
    (site / "runbooks" / "try.md").write_text(BOOK.rstrip() + REMEDY)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: answer)
    assert run(["--site", str(site), "runbook", "run", "try", "lab-1"]) == code
    assert "1  runbooks/count.py NODE forced" in capsys.readouterr().err
    assert counted(site)[-1] == last


def test_who_said_yes_once_is_not_asked_again_by_the_commands() -> None:
    assert answered(["metalwright", "rebuild", "lab-1"]) == ["metalwright", "rebuild", "lab-1", "--yes"]
    assert answered(["metalwright", "status", "lab-1"]) == ["metalwright", "status", "lab-1"]
    assert answered(["pyinfra", "inventory/bmcs.py"]) == ["pyinfra", "inventory/bmcs.py"]


def test_a_placeholder_without_a_value_stops_before_the_command(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "runbooks" / "try.md").write_text(BOOK.replace("NODE first", "NODE SLOT"))
    command = ["--site", str(site), "runbook", "run", "try", "lab-1"]
    assert run(command) == 64
    assert "--set SLOT=" in capsys.readouterr().err
    assert run([*command, "--set", "SLOT=7"]) == 3
    assert counted(site) == ["lab-1 7"]


def test_every_runbook_that_comes_with_metalwright_can_be_followed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--site", str(ROOT), "runbook", "check"]) == 0, capsys.readouterr().out
