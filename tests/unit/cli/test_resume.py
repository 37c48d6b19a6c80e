"""``resume``: every run that did not finish, told as one outcome, and none kept from its turn by another."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from tests.unit.cli.test_second_try import cli
from tests.unit.runner.test_target import workspace

from metalwright.cli import runs
from metalwright.cli.context import CliContext
from metalwright.cli.runs import Asked
from metalwright.errors import PlanError
from metalwright.model.target import RebuildTarget
from metalwright.runner.provisioning import Outcome
from metalwright.workspace import Workspace

__all__ = ["workspace"]


@pytest.fixture
def unfinished(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """A provision of n1 and a rebuild of n2 that were killed; each that is taken up ends well and is listed."""
    for kind, node in (("provision", "n1"), ("rebuild", "n2")):
        started = workspace.journal.runs.start(kind, [kind, node]).id
        workspace.journal.runs.start_node(started, node, blueprint="box@2.0.0", recipe="r")
    taken_up: list[Asked] = []

    def work(_cli: CliContext, _site: Workspace, asked: Asked, _fallbacks: Mapping[str, RebuildTarget]) -> Outcome:
        taken_up.append(asked)
        return Outcome(dict.fromkeys(asked.names, "r-1"))

    monkeypatch.setattr(runs, "_run", work)
    return taken_up


def test_a_provision_and_a_rebuild_that_are_taken_up_together_are_one_json_document(
    workspace: Workspace, unfinished: list[Asked], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(workspace, "resume", "--yes", "--json") == 0
    nodes = json.loads(capsys.readouterr().out)["nodes"]
    assert [(item["node"], item["result"]) for item in nodes] == [("n1", "ok"), ("n2", "ok")]
    assert [(asked.kind, asked.names) for asked in unfinished] == [("provision", ("n1",)), ("rebuild", ("n2",))]


def test_they_are_one_table_as_well(
    workspace: Workspace, unfinished: list[Asked], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(workspace, "resume", "--yes") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["node", "n1", "n2"]


def test_a_run_that_cannot_be_taken_up_is_told_and_keeps_no_other_from_it(
    workspace: Workspace,
    unfinished: list[Asked],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    work = runs._run

    def refuse_provision(cli: CliContext, site: Workspace, asked: Asked, kept: dict[str, RebuildTarget]) -> Outcome:
        if asked.kind == "provision":
            raise PlanError("the node is to be left alone", where="n1", hint="release it")
        return work(cli, site, asked, kept)

    monkeypatch.setattr(runs, "_run", refuse_provision)
    assert cli(workspace, "resume", "--yes", "--json") == 1
    said = capsys.readouterr()
    nodes = {item["node"]: item for item in json.loads(said.out)["nodes"]}
    assert (nodes["n1"]["result"], nodes["n2"]["result"]) == ("failed", "ok")
    assert nodes["n1"]["failure"]["hint"] == "release it"
    assert "n1: not taken up: n1: the node is to be left alone" in said.err
