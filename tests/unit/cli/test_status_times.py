"""``status --times``: the seconds of each phase of the newest run, beside the blueprint's budget."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.unit.loading.conftest import BLUEPRINT, INVENTORY

from metalwright.cli.app import run
from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_sqlite
from metalwright.model.phase import Phase


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def make_site(root: Path, budget: str) -> None:
    for name, text in INVENTORY.items():
        path = root / "inventory" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "blueprints" / "box").mkdir(parents=True)
    (root / "blueprints" / "box" / "1.0.0.yaml").write_text(BLUEPRINT + budget)


def record(root: Path, *spent: tuple[Phase, float]) -> None:
    """One rebuild of n1 with these phases, after an older run that does not count."""
    clock = Clock()
    with Journal(open_sqlite(root / ".metalwright" / "journal.sqlite", clock)) as journal:
        for kind, phases in (("provision", ((Phase.IMAGE, 9999.0),)), ("rebuild", spent)):
            number = journal.runs.start(kind, ["n1"]).id
            journal.runs.start_node(number, "n1", blueprint="box@1.0.0", recipe="sha256:r")
            for phase, seconds in phases:
                begun = journal.runs.begin_phase(number, "n1", phase, "sha256:r")
                clock.now += timedelta(seconds=seconds)
                journal.runs.finish_phase(begun, "ok")
            clock.now += timedelta(seconds=1)


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        ("rollback: {minutes: 5}\n", "total 240 s, within the blueprint's budget of 300 s"),
        ("rollback: {minutes: 3}\n", "total 240 s, OVER the blueprint's budget of 180 s"),
        ("", "total 240 s; the blueprint names no budget"),
    ],
)
def test_the_phases_of_the_newest_run_are_shown_beside_the_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], budget: str, told: str
) -> None:
    make_site(tmp_path, budget)
    record(tmp_path, (Phase.IMAGE, 100), (Phase.IMAGE, 80), (Phase.SOFTWARE, 60))
    assert run(["--site", str(tmp_path), "status", "n1", "--times"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("(rebuild, box@1.0.0)")
    assert [line.split()[:3] for line in lines[2:4]] == [["image", "180.0", "75%"], ["software", "60.0", "25%"]]
    assert lines[4].startswith(told)


def test_nodes_that_were_never_worked_on_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_site(tmp_path, "")
    record(tmp_path, (Phase.IMAGE, 10))
    assert run(["--site", str(tmp_path), "status", "--times", "--json"]) == 0
    (node,) = json.loads(capsys.readouterr().out)["nodes"]
    assert (node["node"], node["seconds"], node["total_s"], node["budget_minutes"]) == ("n1", {"image": 10}, 10, None)
    assert run(["--site", str(tmp_path), "status", "n2", "--times"]) == 0
    assert "no run has worked on these nodes" in capsys.readouterr().err
