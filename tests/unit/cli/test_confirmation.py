"""The typed confirmation: what is shown, and which words let a disk be written."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from metalwright.cli.confirmation import confirm_writes
from metalwright.errors import GrantError
from metalwright.model.phase import Phase
from metalwright.model.plan import NOTHING_ANSWERS, Change, NodePlan, PlannedIdentity


class Screen:
    """What of the command line's context a confirmation uses."""

    def __init__(self) -> None:
        self.text = io.StringIO()
        self.err = Console(file=self.text, width=200)


def plan(node: str, runs: str) -> NodePlan:
    change = Change(phase=Phase.IMAGE, what="write the system disk", from_=runs, disruptive=True)
    identity = PlannedIdentity(serial=f"S-{node}")
    return NodePlan(
        node=node, blueprint="b@1.0.0", recipe="r", identity=identity, image_sha256="f" * 64, changes=(change,)
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The answers that are still to be typed; a question without one fails."""
    answers: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: answers.pop())
    return answers


def confirm(*nodes: NodePlan, yes: bool = False) -> str:
    screen = Screen()
    confirm_writes(screen, nodes, yes=yes)  # type: ignore[arg-type]  # stands in for the context
    return screen.text.getvalue()


def test_a_silent_node_is_confirmed_by_its_name(asked: list[str]) -> None:
    asked.append("n1")
    assert "STILL RUNS" not in confirm(plan("n1", NOTHING_ANSWERS))


@pytest.mark.parametrize("answer", ["n1", "n1 n2", "destroy running", "destroy running n1", "yes", ""])
def test_the_names_alone_do_not_destroy_a_system_that_answers(asked: list[str], answer: str) -> None:
    asked.append(answer)
    with pytest.raises(GrantError, match="not confirmed; nothing was written"):
        confirm(plan("n1", "sha256:11"), plan("n2", NOTHING_ANSWERS))


def test_a_system_that_answers_is_shown_and_destroyed_by_its_own_words(asked: list[str]) -> None:
    asked.append("destroy  running n1 n2")
    shown = confirm(plan("n1", "sha256:11"), plan("n2", NOTHING_ANSWERS))
    assert "STILL RUNS: n1 answers (sha256:11); its system will be lost" in shown
    assert "STILL RUNS: n2" not in shown


def test_with_yes_it_is_shown_and_not_asked(asked: list[str]) -> None:
    assert "STILL RUNS: n1" in confirm(plan("n1", "unknown OS"), yes=True)


def test_where_nobody_is_there_nothing_is_written(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(GrantError, match="nobody is there to ask"):
        confirm(plan("n1", NOTHING_ANSWERS))
