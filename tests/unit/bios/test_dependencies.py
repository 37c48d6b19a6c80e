"""Dependencies of a registry: operators in every form that registries write, consequences, and refusals offline."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.bios.test_plan import CURRENT, registry, when

from metalwright.bios import compile_plan, find_problems
from metalwright.bios.expression import evaluate

T, F, U = True, False, None


@pytest.mark.parametrize(
    ("operators", "terms", "whole"),
    [
        ([()], [T], T),
        ([("AND",)], [F], F),
        ([(), ("OR",)], [F, T], T),
        ([(), ("AND",)], [T, F], F),
        ([(), ("OR",), ("AND",)], [T, T, F], F),
        ([("AND",), ("OR",), ("AND",)], [T, T, F], F),
        # grouped: (1 and 2) or (3 and 4), and 1 or (2 and not 3)
        ([(), ("AND",), (), ("AND", "OR")], [F, T, T, T], T),
        ([(), (), ("NOT", "AND", "OR")], [F, T, F], T),
        # operator at the term before it
        ([("OR",), ("OR",), ()], [F, F, T], T),
        ([("AND",), ("OR",), ()], [F, T, T], T),
        # none at all
        ([(), (), ()], [F, T, F], T),
        # unknown
        ([(), ("OR",)], [U, T], T),
        ([(), ("AND",)], [U, F], F),
        ([(), ("AND",)], [U, T], U),
        ([(), ("XOR",)], [T, T], U),
        ([("AND", "OR"), ()], [T, T], U),
    ],
)
def test_terms_are_joined_as_registries_write_them(
    operators: list[tuple[str, ...]], terms: list[bool | None], whole: bool | None
) -> None:
    assert evaluate(operators, terms) is whole


@given(
    st.lists(st.tuples(st.sampled_from([T, F, U]), st.lists(st.sampled_from(["AND", "OR", "NOT", "?"]))), min_size=1)
)
def test_no_combination_of_operators_is_a_crash(parts: list[tuple[bool | None, list[str]]]) -> None:
    assert evaluate([tuple(names) for _, names in parts], [term for term, _ in parts]) in (True, False, None)


def test_what_another_change_brings_along_is_told_and_not_written() -> None:
    forced = when("Virt", "Enabled", "PxeDev", "CurrentValue", "false")
    plan = compile_plan(registry(forced), {"Virt": "Enabled"}, CURRENT)
    assert plan.stages == ({"Virt": "Enabled"},)
    assert plan.lines == ("Virt: Disabled → Enabled", "PxeDev: true → false (comes with it)")


def test_a_declared_value_that_another_change_forces_takes_no_reset_of_its_own() -> None:
    rules = (
        when("Virt", "Enabled", "LogicalProc", "CurrentValue", "Disabled"),
        when("Virt", "Enabled", "LogicalProc", "ReadOnly", True),
    )
    plan = compile_plan(registry(*rules), {"Virt": "Enabled", "LogicalProc": "Disabled"}, CURRENT)
    assert (plan.reboots, plan.stages) == (1, ({"Virt": "Enabled"},))


def test_what_the_other_change_would_lock_is_written_first() -> None:
    locks = when("Virt", "Enabled", "Speed", "ReadOnly", True)
    plan = compile_plan(registry(locks), {"Virt": "Enabled", "Speed": "2"}, CURRENT)
    assert plan.stages == ({"Speed": "2"}, {"Virt": "Enabled"})
    assert plan.lines == ("Speed: 1 → 2 (reset 1)", "Virt: Disabled → Enabled (reset 2)")


def test_an_attribute_that_has_no_effect_while_another_is_set_is_written_and_told() -> None:
    idle = when("Virt", "Disabled", "Speed", "GrayOut", True)
    plan = compile_plan(registry(idle), {"Speed": "2"}, CURRENT)
    assert (plan.stages, plan.notes) == (({"Speed": "2"},), ("Speed: has no effect while Virt is Disabled",))


def test_what_the_declared_values_lock_or_force_is_refused_without_a_machine() -> None:
    locked = when("Virt", "Disabled", "Speed", "ReadOnly", True)
    forced = when("Virt", "Disabled", "LogicalProc", "CurrentValue", "Enabled")
    desired: dict[str, Any] = {"Speed": "2", "LogicalProc": "Disabled", "Virt": "Disabled"}
    assert [str(item) for item in find_problems(registry(locked, forced), desired)] == [
        "Speed: is read-only while Virt is Disabled",
        "LogicalProc: is forced to Enabled while Virt is Disabled",
    ]
    assert find_problems(registry(locked, forced), {"Speed": "2", "LogicalProc": "Disabled", "Virt": "Enabled"}) == ()
    twice = find_problems(registry(), {"Logical Processor": "Enabled", "LogicalProc": "Enabled"})
    assert [str(item) for item in twice] == ["LogicalProc: LogicalProc is declared twice"]
