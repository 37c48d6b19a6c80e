"""What a person reads of a plan's cost."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.planning.test_plan import desired

from metalwright.cli.context import CliContext
from metalwright.cli.plan import print_plan
from metalwright.model.phase import Phase
from metalwright.model.plan import Change
from metalwright.planning import make_plan, plan_node


def shown(history: dict[Phase, list[float]], capsys: pytest.CaptureFixture[str]) -> str:
    changes = {
        Phase.IMAGE: (Change(phase=Phase.IMAGE, what="write the disk", disruptive=True),),
        Phase.ACCEPT: (Change(phase=Phase.ACCEPT, what="run the acceptance tests"),),
    }
    made = make_plan([desired()], [plan_node(desired(), changes, {}, history=history)])
    print_plan(CliContext(Path(), debug=False), made)
    return capsys.readouterr().out


def test_each_change_says_what_it_interrupts(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.split() for line in shown({}, capsys).splitlines()]
    assert next(line for line in lines if "image" in line)[-2:] == ["DISRUPTIVE:", "rebuild"]
    assert next(line for line in lines if "accept" in line)[-1] == "drain"


def test_what_the_journal_does_not_know_is_said_to_be_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    told = "n1: takes an unknown time: image about 10 min (median of 3), accept an unknown time"
    assert told in shown({Phase.IMAGE: [600, 600, 100]}, capsys)


def test_where_the_journal_knows_nothing_it_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown({}, capsys)
    assert "n1: takes an unknown time: none of its phases was ever done here on a node of this class" in text
    assert text.count("unknown time") == 1


def test_what_it_knows_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    told = "n1: takes about 12 min: image about 10 min (median of 1), accept about 2 min (median of 2)"
    assert told in shown({Phase.IMAGE: [600], Phase.ACCEPT: [60, 180]}, capsys)
