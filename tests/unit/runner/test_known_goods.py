"""Rollback of a run, and the one second try: what a node goes back to, and when it is left alone."""

from __future__ import annotations

import time

import pytest
from tests.unit.runner.test_target import NEW, OLD, good, workspace

from metalwright.errors import JournalError, MetalwrightError
from metalwright.model.phase import NodeState, Phase
from metalwright.model.target import RebuildTarget
from metalwright.runner.known_goods import did_change, due_fallback, fallback_of, plan_rollback
from metalwright.runner.target import Wish, choose_target, keep_fallback
from metalwright.workspace import Workspace

__all__ = ["workspace"]

FIRST, SECOND = good("1.0", OLD, "box@1.0.0"), good("2.0", NEW, "box@2.0.0")


def run_on(site: Workspace, *acts: str, changed: bool = True, nodes: tuple[str, ...] = ("n1",)) -> str:
    """A run that does these acts (``image: image``) on the nodes and ends well."""
    run = site.journal.runs.start("provision", nodes).id
    for node in nodes:
        site.journal.runs.start_node(run, node, blueprint="box@2.0.0", recipe="r")
        phase = site.journal.runs.begin_phase(run, node, Phase.IMAGE)
        for act in acts:
            site.journal.events.act(act, why="w", node=node, run=run, detail={"effect": "destroy"})
            site.journal.events.note(f"{act} done", node=node, run=run, detail={"changed": ["x"] if changed else []})
        site.journal.runs.finish_phase(phase, "ok")
        site.journal.runs.set_node(run, node, "ok")
    site.journal.runs.finish(run, "ok")
    return run


def test_a_run_is_taken_back_to_what_was_accepted_before_it(workspace: Workspace) -> None:
    workspace.journal.nodes.set_known_good(FIRST)
    run = run_on(workspace, "image: image")
    workspace.journal.nodes.set_known_good(SECOND, run)
    found = plan_rollback(workspace, run)
    (target,) = found.targets
    assert target.blueprint == "box@1.0.0"
    assert target.image is not None
    assert (target.image.version, target.source) == ("1.0", f"what it had before run {run}")
    assert found.skipped == {}


def skipped(site: Workspace, run: str, node: str = "n1") -> str:
    found = plan_rollback(site, run)
    assert found.targets == ()
    return found.skipped[node]


def test_a_node_that_the_run_did_not_change_is_left_alone(workspace: Workspace) -> None:
    workspace.journal.nodes.set_known_good(FIRST)
    assert skipped(workspace, run_on(workspace)) == "the run changed nothing on it"
    run = run_on(workspace, "software: software", changed=False)
    assert skipped(workspace, run) == "the run changed nothing on it"


def test_an_act_without_an_outcome_counts_as_a_change(workspace: Workspace) -> None:
    run = workspace.journal.runs.start("provision", ["n1"]).id
    workspace.journal.events.act("bios: bios", why="w", node="n1", run=run, detail={"effect": "reset"})
    assert did_change(workspace.journal, run, "n1")
    workspace.journal.events.act("accept: accept", why="w", node="n1", run="other", detail={"effect": "read"})
    assert not did_change(workspace.journal, "other", "n1")


def test_a_node_that_moved_on_is_left_alone_and_the_run_is_named(workspace: Workspace) -> None:
    workspace.journal.nodes.set_known_good(FIRST)
    run = run_on(workspace, "image: image")
    later = run_on(workspace, "image: image")
    assert skipped(workspace, run) == f"run {later} changed it since"
    idle = run_on(workspace)
    assert len(plan_rollback(workspace, later).targets) == 1, idle


def test_nodes_with_nothing_to_go_back_to_are_left_alone(workspace: Workspace) -> None:
    run = run_on(workspace, "image: image")
    workspace.journal.nodes.set_known_good(SECOND, run)
    assert skipped(workspace, run) == "nothing was accepted on it before this run"
    workspace.journal.nodes.set_state("n1", NodeState.QUARANTINED, "tampered with")
    assert "to be left alone" in skipped(workspace, run)


def test_a_node_that_was_accepted_again_with_the_same_is_left_alone(workspace: Workspace) -> None:
    workspace.journal.nodes.set_known_good(FIRST)
    run = run_on(workspace, "image: image")
    workspace.journal.nodes.set_known_good(FIRST, run)
    assert skipped(workspace, run) == "it was accepted again with what it had before"


def test_an_image_that_is_gone_is_told_before_anything_is_asked(workspace: Workspace) -> None:
    workspace.journal.nodes.set_known_good(FIRST)
    run = run_on(workspace, "image: image", nodes=("n1", "n2"))
    (workspace.paths.images / "img" / "1.0" / "image.json").unlink()
    found = plan_rollback(workspace, run)
    assert "image" in found.skipped["n1"]
    assert found.skipped["n2"] == "nothing was accepted on it before this run"
    with pytest.raises(JournalError):
        plan_rollback(workspace, "no-such-run")


def test_the_second_try_goes_to_the_newest_other_tuple(workspace: Workspace) -> None:
    workspace.journal.nodes.set_known_good(FIRST)
    workspace.journal.nodes.set_known_good(SECOND)
    fallback = fallback_of(workspace, choose_target(workspace, "n1", Wish()))
    assert fallback is not None
    assert fallback.blueprint == "box@1.0.0"
    wished = fallback_of(workspace, choose_target(workspace, "n1", Wish(blueprint="box@1.0.0")))
    assert wished is not None
    assert wished.blueprint == "box@2.0.0"


def test_without_another_tuple_there_is_no_second_try(workspace: Workspace) -> None:
    assert fallback_of(workspace, choose_target(workspace, "n1", Wish())) is None
    workspace.journal.nodes.set_known_good(SECOND)
    assert fallback_of(workspace, choose_target(workspace, "n1", Wish())) is None


def failed_run(site: Workspace, phase: Phase, code: str, fallback: RebuildTarget | None) -> str:
    run = site.journal.runs.start("rebuild", ["n1"]).id
    site.journal.runs.start_node(run, "n1", blueprint="box@2.0.0", recipe="r")
    if fallback is not None:
        keep_fallback(site.journal, run, fallback)
    record = site.journal.runs.begin_phase(run, "n1", phase)
    error = MetalwrightError("acceptance verdict is FAIL", where="n1")
    site.journal.runs.finish_phase(record, "failed", error=error, evidence={"code": code})
    site.journal.runs.set_node(run, "n1", "failed", "accept")
    return run


def test_the_second_try_is_due_after_a_failed_acceptance_and_never_a_third(workspace: Workspace) -> None:
    workspace.journal.nodes.set_known_good(FIRST)
    target = choose_target(workspace, "n1", Wish(blueprint="box@2.0.0"))
    fallback = fallback_of(workspace, target)
    assert fallback is not None
    run = failed_run(workspace, Phase.ACCEPT, "accept", fallback)
    due = due_fallback(workspace.journal, "n1")
    assert due is not None
    assert (due.blueprint, due.image) == (fallback.blueprint, fallback.image)
    assert due.source.startswith(f"once more, since run {run} was not accepted")
    time.sleep(1.1)  # ids of runs sort by second
    failed_run(workspace, Phase.ACCEPT, "accept", None)
    assert due_fallback(workspace.journal, "n1") is None


@pytest.mark.parametrize(("phase", "code"), [(Phase.IMAGE, "stalled"), (Phase.ACCEPT, "ssh-unreachable")])
def test_other_failures_are_no_reason_for_a_second_try(workspace: Workspace, phase: Phase, code: str) -> None:
    workspace.journal.nodes.set_known_good(FIRST)
    failed_run(workspace, phase, code, fallback_of(workspace, choose_target(workspace, "n1", Wish(image="img@2.0"))))
    assert due_fallback(workspace.journal, "n1") is None
