"""What must hold before a rebuild: each said, and what does not hold named before anything is asked."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
from tests.unit.runner.test_draining import HOOKS, hooked
from tests.unit.runner.test_target import NEW, image, workspace

from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.model.phase import Phase
from metalwright.model.plan import NOTHING_ANSWERS, Change, NodePlan, PlannedIdentity
from metalwright.runner.preconditions import Precondition, preconditions
from metalwright.runner.provisioning import Request
from metalwright.workspace import Workspace

__all__ = ["hooked", "workspace"]


def plan(**changes: object) -> NodePlan:
    identity = PlannedIdentity(serial="S-1", bmc_mac="52:54:00:00:00:01")
    made = NodePlan(node="n1", blueprint="box@2.0.0", recipe="r", identity=identity, image_sha256=NEW)
    return made.model_copy(update=changes)


def found(site: Workspace, made: NodePlan | None = None, *, undrained: str | None = None) -> dict[str, Precondition]:
    request = Request(("n1",), "rebuild", undrained=undrained)
    return {item.what: item for item in preconditions(site, request, made or plan())}


def test_each_precondition_has_its_line(workspace: Workspace) -> None:
    lines = found(workspace)
    assert list(lines) == ["lock", "system", "drained", "nothing in flight", "image", "disk", "identity"]
    assert lines["identity"].told == "the machine with serial S-1, BMC MAC 52:54:00:00:00:01 answers"


@pytest.mark.parametrize("runs", ["sha256:11", "unknown OS", None])
def test_a_system_that_answers_is_said_before_anything_is_asked(workspace: Workspace, runs: str | None) -> None:
    change = Change(phase=Phase.IMAGE, what="write the system disk", from_=runs or NOTHING_ANSWERS, disruptive=True)
    line = found(workspace, plan(changes=(change,)))["system"]
    assert line.verdict == ("note" if runs else "ok")
    assert ("is this the node that failed?" in line.told, f"({runs})" in line.told) == (bool(runs), bool(runs))


def test_who_drains_is_said_or_why_nobody_does(workspace: Workspace, hooked: Callable[[str], Workspace]) -> None:
    assert found(workspace)["drained"].verdict == "note"
    site = hooked(HOOKS)
    drained = found(site)["drained"]
    assert (drained.verdict, drained.told) == ("ok", "by hooks/recorder before anything else, at most 30 s")
    overridden = found(site, undrained="the scheduler is down")["drained"]
    assert (overridden.verdict, overridden.told) == ("note", "NOT drained, as asked: the scheduler is down")


def test_an_interrupted_run_is_named(workspace: Workspace) -> None:
    assert found(workspace)["nothing in flight"].verdict == "ok"
    run = workspace.journal.runs.start("rebuild", ["n1"]).id
    workspace.journal.runs.start_node(run, "n1", blueprint="box@2.0.0", recipe=workspace.recipe("n1"))
    workspace.journal.runs.begin_phase(run, "n1", Phase.IMAGE)
    assert found(workspace)["nothing in flight"].told == f"run {run} was interrupted and is taken up again"


@pytest.mark.parametrize("wrong", [(), ("file sha256: expected 22, found 33",)])
def test_an_image_is_hashed_before_anything_is_asked(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, wrong: tuple[str, ...]
) -> None:
    assert found(workspace)["image"].told.startswith("nobody whom this site trusts vouches for the image")
    entry = (image("2.0", NEW), workspace.paths.images)
    monkeypatch.setattr("metalwright.runner.preconditions.pinned_image", lambda *_: entry)
    monkeypatch.setattr(ImageCatalogue, "verify", lambda *_: wrong)
    line = found(workspace)["image"]
    assert line.verdict == ("NO" if wrong else "ok")
    assert ("is damaged" in line.told) == bool(wrong)


@pytest.mark.parametrize(
    ("seen", "last", "verdict", "told"),
    [
        ("D2", None, "ok", "D2"),
        ("D2", "D2", "ok", "D2"),
        ("D2", "D1", "note", "NEW DISK D2: the last write was to D1; compare with the drive's label"),
        (None, "D1", "note", "the BMC does not tell which; the ramdisk takes the one that fits the rule, or stops"),
    ],
)
def test_another_drive_than_was_written_last_is_said(
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    seen: str | None,
    last: str | None,
    verdict: str,
    told: str,
) -> None:
    done = SimpleNamespace(done=SimpleNamespace(disk=SimpleNamespace(serial=last)))
    written = (SimpleNamespace(done=None), *((done,) if last else ()))
    monkeypatch.setattr(type(workspace.journal.deployments), "written", lambda *_: written)
    line = found(workspace, plan(disk_serial=seen))["disk"]
    assert (line.verdict, line.told) == (verdict, told)


def test_another_machine_is_no_identity(workspace: Workspace) -> None:
    refused = plan(refusals=("identify: this is not the declared machine: serial differs (S-9)",))
    assert found(workspace, refused)["identity"].verdict == "NO"
    assert found(workspace, plan(unknown=("identify: no answer",)))["identity"].verdict == "NO"
