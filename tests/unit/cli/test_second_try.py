"""A rebuild that is not accepted: once more with what was good before, then never again, across kills too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.runner.test_known_goods import FIRST, SECOND
from tests.unit.runner.test_target import workspace

from metalwright.cli import runs
from metalwright.cli.app import run
from metalwright.cli.context import CliContext
from metalwright.cli.runs import Asked
from metalwright.errors import MetalwrightError
from metalwright.lifecycle import Failed
from metalwright.model.phase import Phase
from metalwright.model.target import RebuildTarget
from metalwright.runner.provisioning import Outcome
from metalwright.runner.target import keep_fallback
from metalwright.workspace import Workspace

__all__ = ["workspace"]

REFUSED = Failed("accept", "acceptance verdict is FAIL")
Script = Callable[..., list[str]]


@pytest.fixture
def scripted(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Script:
    """Stands for the machines: each run is accepted or not as the script says; returns which blueprints were tried."""
    workspace.journal.nodes.set_known_good(FIRST)
    workspace.journal.nodes.set_known_good(SECOND)
    monkeypatch.setattr(
        "metalwright.journal.runs.secrets.token_hex", lambda _: f"{len(workspace.journal.runs.newest()):06x}"
    )

    def script(*accepted: bool | BaseException) -> list[str]:
        tried: list[str] = []
        answers = list(accepted)

        def work(_: CliContext, site: Workspace, asked: Asked, fallbacks: dict[str, RebuildTarget]) -> Outcome:
            (node,) = asked.names
            blueprint = asked.targets[0].blueprint if asked.targets else site.repository.node(node).blueprint
            tried.append(blueprint)
            started = site.journal.runs.start("rebuild", [node]).id
            site.journal.runs.start_node(started, node, blueprint=blueprint, recipe="r")
            for fallback in fallbacks.values():
                keep_fallback(site.journal, started, fallback)
            answer = answers.pop(0)
            phase = site.journal.runs.begin_phase(started, node, Phase.ACCEPT)
            if answer is True:
                site.journal.runs.finish_phase(phase, "ok")
                site.journal.runs.set_node(started, node, "ok")
                return Outcome({node: started})
            error = MetalwrightError(REFUSED.what, where=node)
            site.journal.runs.finish_phase(phase, "failed", error=error, evidence={"code": "accept"})
            site.journal.runs.set_node(started, node, "failed", REFUSED.what)
            if isinstance(answer, BaseException):
                raise answer
            return Outcome({node: started}, failures={node: REFUSED})

        monkeypatch.setattr(runs, "_run", work)
        return tried

    return script


def cli(site: Workspace, *arguments: str) -> int:
    return run(["--site", str(site.paths.root), *arguments])


def test_a_rebuild_that_is_accepted_is_not_done_twice(workspace: Workspace, scripted: Script) -> None:
    tried = scripted(True)
    assert cli(workspace, "rebuild", "n1", "--yes") == 0
    assert tried == ["box@2.0.0"]


@pytest.mark.parametrize("reason", ["", "  "])
def test_going_on_without_a_drain_wants_a_reason(
    workspace: Workspace, scripted: Script, capsys: pytest.CaptureFixture[str], reason: str
) -> None:
    tried = scripted(True)
    assert cli(workspace, "rebuild", "n1", "--yes", "--undrained", reason) == 64
    assert "--undrained wants a reason" in capsys.readouterr().err
    assert tried == []


def test_a_rebuild_that_is_not_accepted_is_done_once_more_with_what_was_good_before(
    workspace: Workspace, scripted: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = scripted(False, True)
    assert cli(workspace, "rebuild", "n1", "--yes") == 0
    assert tried == ["box@2.0.0", "box@1.0.0"]
    said = capsys.readouterr()
    assert "n1: if its acceptance fails, once more with box@1.0.0, image img@1.0" in said.err
    assert "n1: NOT ACCEPTED. Once more, and then no more, with box@1.0.0" in said.err
    assert "ok, by its second try" in said.out


def test_after_two_refusals_it_stops_and_says_so(
    workspace: Workspace, scripted: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = scripted(False, False)
    assert cli(workspace, "rebuild", "n1", "--yes") == 1
    assert tried == ["box@2.0.0", "box@1.0.0"]
    assert "n1: the second try failed as well; nothing more is tried" in capsys.readouterr().err
    assert cli(workspace, "resume", "--yes") == 0
    assert tried == ["box@2.0.0", "box@1.0.0"]


def test_a_second_try_that_cannot_begin_is_said_and_left_to_resume(
    workspace: Workspace, scripted: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = scripted(False, True)
    with monkeypatch.context() as patched:
        patched.setattr(runs, "try_again", refuse)
        assert cli(workspace, "rebuild", "n1", "--yes") == 1
    assert "the second try did not begin (`metalwright resume` begins it): the image is gone" in capsys.readouterr().err
    assert cli(workspace, "resume", "--yes") == 0
    assert tried == ["box@2.0.0", "box@1.0.0"]


def refuse(*_: object) -> Outcome:
    raise MetalwrightError("the image is gone")


def test_a_kill_between_the_tries_leaves_the_second_to_resume(workspace: Workspace, scripted: Script) -> None:
    tried = scripted(KeyboardInterrupt(), True)
    cli(workspace, "rebuild", "n1", "--yes")
    assert tried == ["box@2.0.0"]
    assert cli(workspace, "resume", "--yes") == 0
    assert tried == ["box@2.0.0", "box@1.0.0"]
    assert cli(workspace, "resume", "--yes") == 0
    assert tried == ["box@2.0.0", "box@1.0.0"]


def test_a_kill_in_the_second_try_brings_no_third(workspace: Workspace, scripted: Script, tmp_path: Path) -> None:
    tried = scripted(False, KeyboardInterrupt())
    cli(workspace, "rebuild", "n1", "--yes")
    assert cli(workspace, "resume", "--yes") == 0
    assert tried == ["box@2.0.0", "box@1.0.0"]
