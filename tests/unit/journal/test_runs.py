"""Runs, phases, attempts and node states are kept as they were told."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.journal.conftest import HandClock

from metalwright import __version__
from metalwright.errors import BmcRefusedError, DeployError, JournalError
from metalwright.journal.journal import Journal
from metalwright.model.addresses import KnownGood
from metalwright.model.phase import NodeState, Phase


def test_a_run_is_kept_with_who_and_what(journal: Journal) -> None:
    started = journal.runs.start("provision", ["--rack", "a01"], commit="abc", is_dirty=True)
    kept = journal.runs.get(started.id)
    assert kept == started
    assert (kept.kind, kept.arguments, kept.commit, kept.is_dirty) == ("provision", ("--rack", "a01"), "abc", True)
    assert kept.tool_version == __version__
    assert "@" in kept.by
    assert kept.finished is None


def test_run_ids_sort_by_time(journal: Journal, clock: HandClock) -> None:
    runs = []
    for _ in range(5):
        runs.append(journal.runs.start("provision").id)
        clock.move(seconds=1)
    assert sorted(runs) == runs
    assert [run.id for run in journal.runs.newest()] == runs
    assert [run.id for run in journal.runs.newest(2)] == runs[-2:]


def test_a_run_that_was_killed_stays_unfinished(journal: Journal) -> None:
    killed = journal.runs.start("provision")
    ended = journal.runs.start("provision")
    journal.runs.finish(ended.id, "ok")
    assert [run.id for run in journal.runs.unfinished()] == [killed.id]


def test_the_first_result_of_a_run_stays(journal: Journal) -> None:
    run = journal.runs.start("provision")
    journal.runs.finish(run.id, "failed", "lab-1 failed")
    assert journal.runs.finish(run.id, "ok").result == "failed"


def test_an_unknown_run_is_an_error_with_a_hint(journal: Journal) -> None:
    with pytest.raises(JournalError) as caught:
        journal.runs.get("20200101-000000-abcdef")
    assert caught.value.hint == "`metalwright journal` lists the runs"


def test_the_recipe_is_the_one_of_the_start(journal: Journal, clock: HandClock) -> None:
    run = journal.runs.start("provision")
    journal.runs.start_node(run.id, "lab-1", blueprint="lab-vm@1.0.0", recipe="sha256:old", plan="sha256:plan")
    clock.move(minutes=5)
    journal.runs.set_node(run.id, "lab-1", "ok")
    (node,) = journal.runs.nodes_of(run.id)
    assert (node.recipe, node.state, node.plan) == ("sha256:old", "ok", "sha256:plan")
    assert node.updated == clock.now
    assert journal.runs.last_of_node("lab-1") == node
    assert journal.runs.last_of_node("lab-2") is None


def test_the_intent_is_there_before_the_outcome(journal: Journal, clock: HandClock) -> None:
    run = journal.runs.start("provision")
    begun = journal.runs.begin_phase(run.id, "lab-1", Phase.BIOS, "sha256:in")
    assert journal.runs.last_phase("lab-1") == begun
    assert (begun.result, begun.attempt, begun.started) == (None, 1, clock.now)
    clock.move(seconds=30)
    ended = journal.runs.finish_phase(begun, "ok", evidence={"attributes": {"SRIOV": "Enabled"}})
    assert ended.finished == clock.now
    assert ended.evidence == {"attributes": {"SRIOV": "Enabled"}}
    assert journal.runs.phases_of(run=run.id, node="lab-1") == (ended,)
    assert journal.runs.last_phase("lab-1", Phase.IMAGE) is None


def test_an_error_is_kept_with_all_its_parts(journal: Journal) -> None:
    run = journal.runs.start("provision")
    begun = journal.runs.begin_phase(run.id, "lab-1", Phase.BIOS)
    error = BmcRefusedError("refused", where="PATCH https://b/x", expected="2xx", found="400", hint="look")
    ended = journal.runs.finish_phase(begun, "failed", error=error)
    assert ended.why == "refused"
    assert ended.error == {
        "class": "BmcRefusedError",
        "what": "refused",
        "where": "PATCH https://b/x",
        "expected": "2xx",
        "found": "400",
        "hint": "look",
    }


def test_attempts_are_counted_over_runs_and_cleared_by_success(journal: Journal) -> None:
    for expected in (1, 2):
        run = journal.runs.start("provision")
        record = journal.runs.begin_phase(run.id, "lab-1", Phase.BIOS, "sha256:a")
        assert record.attempt == expected
        journal.runs.finish_phase(record, "failed", why="400 read-only")
    attempts = journal.attempts.get("lab-1", Phase.BIOS, "sha256:a")
    assert (attempts.count, attempts.identical_failures) == (2, 2)
    assert journal.attempts.get("lab-1", Phase.BIOS, "sha256:other input").count == 0
    record = journal.runs.begin_phase(run.id, "lab-1", Phase.BIOS, "sha256:a")
    journal.runs.finish_phase(record, "ok")
    assert journal.attempts.get("lab-1", Phase.BIOS, "sha256:a").count == 0


def test_another_failure_is_not_an_identical_one(journal: Journal) -> None:
    run = journal.runs.start("provision")
    for why in ("400", "400", "503"):
        journal.runs.finish_phase(journal.runs.begin_phase(run.id, "lab-1", Phase.BIOS), "failed", why=why)
    attempts = journal.attempts.get("lab-1", Phase.BIOS)
    assert (attempts.count, attempts.identical_failures) == (3, 1)


def test_failures_that_differ_in_measured_numbers_alone_are_identical(journal: Journal) -> None:
    run = journal.runs.start("provision")
    for found in ("last heard 181 s ago", "last heard 200.5 s ago", "HTTP 400", "HTTP 503"):
        record = journal.runs.begin_phase(run.id, "lab-1", Phase.IMAGE)
        journal.runs.finish_phase(record, "failed", error=DeployError("it failed", found=found))
        if found.startswith("last"):
            last = journal.attempts.get("lab-1", Phase.IMAGE).identical_failures
    assert (last, journal.attempts.get("lab-1", Phase.IMAGE).identical_failures) == (2, 1)


def test_a_refusal_to_act_again_leaves_the_count_of_failures_alone(journal: Journal) -> None:
    run = journal.runs.start("provision")
    for is_attempt in (True, True, False):
        record = journal.runs.begin_phase(run.id, "lab-1", Phase.BIOS)
        error = DeployError("it failed" if is_attempt else "not acting again")
        journal.runs.finish_phase(record, "failed", error=error, is_attempt=is_attempt)
    attempts = journal.attempts.get("lab-1", Phase.BIOS)
    assert (attempts.identical_failures, attempts.last_failure) == (2, "it failed")


def test_a_kill_between_intent_and_outcome_counts_as_an_attempt(journal: Journal) -> None:
    run = journal.runs.start("provision")
    journal.runs.begin_phase(run.id, "lab-1", Phase.FIRMWARE)
    assert journal.runs.begin_phase(run.id, "lab-1", Phase.FIRMWARE).attempt == 2


def test_waiting_is_not_another_attempt(journal: Journal, clock: HandClock) -> None:
    run = journal.runs.start("provision")
    deadline = clock.now + timedelta(minutes=10)
    for _ in range(5):
        record = journal.runs.begin_phase(run.id, "lab-1", Phase.IMAGE)
        ended = journal.runs.finish_phase(record, "waiting", why="the ramdisk boots", until=deadline)
        assert (ended.attempt, ended.until) == (1, deadline)


def test_a_person_can_reset_the_attempts_and_that_is_audited(journal: Journal) -> None:
    run = journal.runs.start("provision")
    journal.runs.begin_phase(run.id, "lab-1", Phase.BIOS)
    journal.runs.begin_phase(run.id, "lab-1", Phase.IMAGE)
    assert journal.attempts.reset("lab-1", why="riser replaced", phase=Phase.BIOS) == 1
    assert journal.attempts.get("lab-1", Phase.BIOS).count == 0
    assert journal.attempts.get("lab-1", Phase.IMAGE).count == 1
    (act,) = [event for event in journal.events.of(node="lab-1") if event.is_act]
    assert (act.what, act.why) == ("attempts reset", "riser replaced")


def test_a_state_keeps_its_since_until_it_changes(journal: Journal, clock: HandClock) -> None:
    first = journal.nodes.set_state("lab-1", NodeState.PROVISIONING, "run r1", "r1")
    clock.move(minutes=1)
    again = journal.nodes.set_state("lab-1", NodeState.PROVISIONING, "run r2", "r2")
    assert again.since == first.since
    clock.move(minutes=1)
    ready = journal.nodes.set_state("lab-1", NodeState.READY, "accepted", "r2")
    assert ready.since == clock.now
    assert journal.nodes.get("lab-1") == ready
    assert journal.nodes.all() == (ready,)
    assert journal.nodes.get("lab-2") is None
    assert [event.what for event in journal.events.of(node="lab-1")] == [
        "state planned → provisioning",
        "state provisioning → ready",
    ]


def _known_good(recipe: str) -> KnownGood:
    return KnownGood(
        node="lab-1",
        blueprint="lab-vm@1.0.0",
        recipe=recipe,
        image="debian@12",
        image_sha256="ab" * 32,
        firmware={"bios": "1.4"},
        certificate="sha256:c",
        ssh_host_key="ssh-ed25519 AAAA",
    )


def test_the_known_good_tuple_is_the_newest_one(journal: Journal, clock: HandClock) -> None:
    assert journal.nodes.known_good("lab-1") is None
    journal.nodes.set_known_good(_known_good("sha256:one"), "r1")
    journal.nodes.set_known_good(_known_good("sha256:two"), "r2")
    kept = journal.nodes.known_good("lab-1")
    assert kept is not None
    assert (kept.record, kept.run, kept.since) == (_known_good("sha256:two"), "r2", clock.now)


def test_the_audit_log_says_who_why_and_which_plan(journal: Journal, clock: HandClock) -> None:
    journal.events.act("reset", node="lab-1", run="r1", why="bios attributes", plan="sha256:p", detail={"type": "On"})
    (event,) = journal.events.of(node="lab-1", run="r1")
    assert (event.at, event.what, event.why, event.plan, event.is_act) == (
        clock.now,
        "reset",
        "bios attributes",
        "sha256:p",
        True,
    )
    assert "@" in event.who
    assert event.detail == {"type": "On"}


def test_writes_of_one_block_are_kept_together_or_not_at_all(journal: Journal) -> None:
    def write_and_fail() -> None:
        with journal.together("both"):
            journal.events.note("one")
            journal.events.note("two")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert journal.events.of() == ()


def test_only_phases_of_the_class_that_acted_and_succeeded_tell_how_long_one_takes(
    journal: Journal, clock: HandClock
) -> None:
    def phase(node: str, blueprint: str, seconds: float, *, acts: bool = True, fails: bool = False) -> None:
        run = journal.runs.start("provision").id
        journal.runs.start_node(run, node, blueprint=blueprint, recipe="sha256:r")
        record = journal.runs.begin_phase(run, node, Phase.IMAGE)
        if acts:
            journal.events.note("image: image done", node=node, run=run)
        clock.move(seconds=seconds)
        journal.runs.finish_phase(record, "failed" if fails else "ok")

    phase("n1", "gpu@1.0.0", 600)
    phase("n2", "gpu@1.1.0", 660)
    phase("n3", "gpu@1.1.0", 3, acts=False)
    phase("n4", "gpu@1.1.0", 5000, fails=True)
    phase("n5", "gpu-large@1.0.0", 7000)
    phase("n6", "g_u@1.0.0", 8000)
    assert journal.runs.seconds_of_class("gpu") == {Phase.IMAGE: [660.0, 600.0]}
    assert journal.runs.seconds_of_class("g_u") == {Phase.IMAGE: [8000.0]}
    assert journal.runs.seconds_of_class("other") == {}
