"""A disk that does not carry our stamp: shown, and overwritten by the same command only when somebody typed so."""

from __future__ import annotations

import pytest
from tests.unit.cli.test_confirmation import asked
from tests.unit.runner.test_target import workspace

from metalwright.cli import runs
from metalwright.cli.app import run
from metalwright.cli.runs import Asked
from metalwright.lifecycle import Failed
from metalwright.runner.provisioning import Outcome
from metalwright.workspace import Workspace

__all__ = ["asked", "workspace"]

FOREIGN = Failed("foreign-disk", "/dev/nvme0n1 (serial D1) carries data", found="gpt: 2 partitions; ext4 on p1")
SILENT = Failed("ramdisk-silent", "the deploy ramdisk never reported")


@pytest.fixture
def tried(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """What was run; the first time the disk is foreign, and whoever may overwrite it comes to its end."""
    made: list[Asked] = []

    def work(_: object, __: object, asked: Asked, ___: object) -> Outcome:
        made.append(asked)
        failed = {node: FOREIGN for node in asked.names if node not in asked.overwrite}
        return Outcome({node: f"run-{len(made)}" for node in asked.names}, failures=failed)

    monkeypatch.setattr(runs, "_run", work)
    return made


def rebuild(site: Workspace, *options: str) -> int:
    return run(["--site", str(site.paths.root), "rebuild", "n1", "--until", "image", *options])


def test_what_is_on_the_disk_is_shown_and_overwritten_by_the_same_command_when_somebody_types_so(
    workspace: Workspace, tried: list[Asked], asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked.append("overwrite  n1")
    assert rebuild(workspace) == 0
    assert [(list(item.overwrite), item.yes, item.names) for item in tried] == [
        ([], False, ("n1",)),
        (["n1"], True, ("n1",)),
    ]
    shown = capsys.readouterr().err
    assert "n1: /dev/nvme0n1 (serial D1) carries data; nothing was written. On it:\n  gpt: 2 partitions\n" in shown


@pytest.mark.parametrize("answer", ["n1", "yes", "", "overwrite n2", "overwrite"])
def test_any_other_answer_leaves_the_disk_alone(
    workspace: Workspace, tried: list[Asked], asked: list[str], answer: str
) -> None:
    asked.append(answer)
    assert rebuild(workspace) == 1
    assert len(tried) == 1


@pytest.mark.usefixtures("asked")  # a terminal, and nobody who answers
def test_yes_is_no_answer_to_it(workspace: Workspace, tried: list[Asked]) -> None:
    assert rebuild(workspace, "--yes") == 1
    assert len(tried) == 1


def test_where_nobody_is_there_nothing_is_overwritten(workspace: Workspace, tried: list[Asked]) -> None:
    assert rebuild(workspace) == 1
    assert len(tried) == 1


@pytest.mark.usefixtures("asked")
def test_another_failure_asks_nothing(
    workspace: Workspace, tried: list[Asked], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "FOREIGN", SILENT)
    assert rebuild(workspace) == 1
    assert len(tried) == 1
