"""What changes cost: the interruption by what they are, the minutes by what was measured before, never guessed."""

from __future__ import annotations

import pytest
from tests.unit.planning.test_plan import desired

from metalwright.estimation import estimate, interruption_of
from metalwright.model.phase import Phase
from metalwright.model.plan import Change, Interruption, Plan
from metalwright.planning import make_plan, plan_node, verify_digest


def change(phase: Phase, disruptive: bool = False) -> Change:
    return Change(phase=phase, what="x", disruptive=disruptive)


@pytest.mark.parametrize(
    ("asked", "interruption"),
    [
        (change(Phase.IMAGE, True), "rebuild"),
        (change(Phase.IMAGE), "none"),
        (change(Phase.BIOS, True), "reboot"),
        (change(Phase.FIRMWARE, True), "reboot"),
        (change(Phase.FIRMWARE), "none"),
        (change(Phase.SOFTWARE), "none"),
        (change(Phase.SOFTWARE, True), "reboot"),
        (change(Phase.ACCEPT), "drain"),
        (change(Phase.ADDRESS), "none"),
    ],
)
def test_each_change_says_how_the_workload_is_interrupted(asked: Change, interruption: str) -> None:
    assert interruption_of(asked) == interruption


def test_a_phase_is_as_bad_as_its_worst_change() -> None:
    found = estimate([change(Phase.BIOS), change(Phase.BIOS, True)], 1, {})
    assert [(item.phase, item.interruption) for item in found.phases] == [(Phase.BIOS, Interruption.REBOOT)]


def test_minutes_are_the_median_of_what_was_measured() -> None:
    found = estimate([change(Phase.IMAGE, True)], 2, {Phase.IMAGE: [600, 60, 660], Phase.BIOS: [1]})
    assert (found.phases[0].minutes, found.phases[0].times) == (10.0, 3)
    assert (found.minutes, found.reboots) == (10.0, 2)


def test_one_unknown_phase_makes_the_whole_unknown_and_not_less() -> None:
    found = estimate([change(Phase.IMAGE, True), change(Phase.ACCEPT)], 2, {Phase.IMAGE: [600]})
    assert [item.minutes for item in found.phases] == [10.0, None]
    assert found.minutes is None


def test_a_node_without_changes_costs_nothing() -> None:
    assert estimate([], 0, {}).minutes == 0


def test_history_moves_no_digest_and_the_plan_file_keeps_it() -> None:
    changes = {Phase.BIOS: (change(Phase.BIOS, True),)}
    plans = [
        make_plan([desired()], [plan_node(desired(), changes, {}, history=history)])
        for history in ({}, {Phase.BIOS: [300.0]})
    ]
    assert plans[0].digest == plans[1].digest
    assert plans[1].nodes[0].estimate.minutes == 5
    kept = Plan.model_validate(plans[1].to_json())
    verify_digest(kept)
    assert kept.nodes[0].estimate == plans[1].nodes[0].estimate
