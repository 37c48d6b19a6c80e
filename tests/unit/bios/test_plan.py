"""The BIOS compiler: only what differs is written, in an order that works, and what cannot work is refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.bios import (
    AttributeRegistry,
    compile_plan,
    find_problems,
    infer_registry,
    is_critical,
    not_taken,
    parse_registry,
    undeclared_changes,
)
from metalwright.errors import BiosError


def when(attribute: str, value: Any, target: str, prop: str, becomes: Any, condition: str = "EQU") -> dict[str, Any]:
    term = {
        "MapFromAttribute": attribute,
        "MapFromProperty": "CurrentValue",
        "MapFromCondition": condition,
        "MapFromValue": value,
    }
    rule = {"MapFrom": [term], "MapToAttribute": target, "MapToProperty": prop, "MapToValue": becomes}
    return {"Type": "Map", "DependencyFor": target, "Dependency": rule}


def registry(*dependencies: dict[str, Any]) -> AttributeRegistry:
    def enum(name: str, *values: str, **more: Any) -> dict[str, Any]:
        return {"AttributeName": name, "Type": "Enumeration", "Value": [{"ValueName": v} for v in values], **more}

    attributes = [
        enum("LogicalProc", "Enabled", "Disabled", DisplayName="Logical Processor"),
        enum("Speed", "1", "2"),
        enum("Virt", "Enabled", "Disabled"),
        {"AttributeName": "BootTimeout", "Type": "Integer", "LowerBound": 0, "UpperBound": 60, "ScalarIncrement": 5},
        {"AttributeName": "PxeDev", "Type": "Boolean"},
        {"AttributeName": "Tag", "Type": "String", "MinLength": 2, "MaxLength": 4, "ValueExpression": "^[A-Z]*$"},
        {"AttributeName": "SysMemSize", "Type": "String", "Readonly": True},
        {"AttributeName": "SetupPassword", "Type": "Password"},
        {
            "AttributeName": "SR_IOV_0047",
            "DisplayName": "SR-IOV Support",
            "Type": "Enumeration",
            "Value": [
                {"ValueName": "0", "ValueDisplayName": "Disabled"},
                {"ValueName": "1", "ValueDisplayName": "Enabled"},
            ],
        },
        {"AttributeName": "A1", "DisplayName": "Twin", "Type": "Boolean"},
        {"AttributeName": "A2", "DisplayName": "Twin", "Type": "Boolean"},
    ]
    return parse_registry(
        {"Id": "R1", "RegistryEntries": {"Attributes": attributes, "Dependencies": list(dependencies)}}
    )


CURRENT: dict[str, Any] = {
    "LogicalProc": "Enabled",
    "Speed": "1",
    "Virt": "Disabled",
    "BootTimeout": 5,
    "PxeDev": True,
    "Tag": "AB",
    "SysMemSize": "1 GiB",
    "SR_IOV_0047": "Disabled",
    "A1": True,
    "A2": True,
}


def problems_of(desired: dict[str, Any], *dependencies: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(BiosError) as caught:
        compile_plan(registry(*dependencies), desired, CURRENT)
    return caught.value.problems


def test_only_what_differs_is_written_and_shown() -> None:
    plan = compile_plan(registry(), {"LogicalProc": "Disabled", "Virt": "Disabled", "PxeDev": "true"}, CURRENT)
    assert plan.lines == ("LogicalProc: Enabled → Disabled",)
    assert (plan.stages, plan.reboots, plan.is_reboot_needed) == (({"LogicalProc": "Disabled"},), 1, True)


def test_an_equal_bios_needs_no_write_and_no_reboot() -> None:
    plan = compile_plan(registry(), {"LogicalProc": "Enabled", "BootTimeout": "5", "Speed": 1}, CURRENT)
    assert (plan.lines, plan.stages, plan.reboots, plan.is_reboot_needed) == ((), (), 0, False)


def test_values_are_sent_in_the_type_of_the_registry() -> None:
    plan = compile_plan(registry(), {"BootTimeout": "10", "PxeDev": "false", "Speed": 2}, CURRENT)
    assert plan.stages == ({"BootTimeout": 10, "PxeDev": False, "Speed": "2"},)


def test_a_display_name_and_a_display_value_mean_the_attribute_that_has_them() -> None:
    plan = compile_plan(registry(), {"SR-IOV Support": "Enabled"}, CURRENT)
    assert plan.stages == ({"SR_IOV_0047": "Enabled"},)
    by_name = compile_plan(registry(), {"SR_IOV_0047": "Enabled"}, {**CURRENT, "SR_IOV_0047": "0"})
    assert by_name.stages == ({"SR_IOV_0047": "1"},)


@pytest.mark.parametrize(
    ("desired", "problem"),
    [
        ({"LogicalProcs": "Enabled"}, "LogicalProcs: unknown attribute; did you mean 'LogicalProc'?"),
        (
            {"LogicalProc": "disabled"},
            "LogicalProc: has no value 'disabled'; did you mean 'Disabled'? it has Enabled, Disabled",
        ),
        ({"SysMemSize": "2 GiB"}, "SysMemSize: is read-only by the registry"),
        ({"BootTimeout": 61}, "BootTimeout: takes 0 to 60, not 61"),
        ({"BootTimeout": 7}, "BootTimeout: takes steps of 5 from 0, not 7"),
        ({"BootTimeout": "soon"}, "BootTimeout: takes a whole number, not 'soon'"),
        ({"PxeDev": "yes"}, "PxeDev: takes true or false, not 'yes'"),
        ({"Tag": "ABCDE"}, "Tag: takes 2 to 4 characters, not 5"),
        ({"Tag": "abc"}, "Tag: takes text of the form ^[A-Z]*$"),
        ({"SetupPassword": "hunter2"}, "SetupPassword: is in the registry, but this machine does not offer it"),
        ({"Twin": True}, "Twin: is the display name of several attributes: A1, A2"),
        ({"Logical Processor": "Disabled", "LogicalProc": "Enabled"}, "LogicalProc: LogicalProc is declared twice"),
    ],
)
def test_what_this_bios_would_refuse_is_refused_by_name(desired: dict[str, Any], problem: str) -> None:
    assert problems_of(desired) == (problem,)


def test_all_problems_are_told_together() -> None:
    assert len(problems_of({"Nope": 1, "BootTimeout": 99, "SysMemSize": "x", "LogicalProc": "Disabled"})) == 3


def test_problems_are_found_without_a_machine() -> None:
    found = find_problems(
        registry(), {"Nope": 1, "SysMemSize": "x", "Speed": 3, "SetupPassword": "p", "Virt": "Enabled"}
    )
    assert [problem.attribute for problem in found] == ["Nope", "SysMemSize", "Speed", "SetupPassword"]


def test_a_value_that_waits_already_is_not_written_again_but_needs_the_reboot() -> None:
    plan = compile_plan(registry(), {"Virt": "Enabled"}, CURRENT, {**CURRENT, "Virt": "Enabled"})
    assert (plan.changes, plan.reboots, plan.lines) == ((), 1, ("Virt: Disabled → Enabled (pending)",))


def test_a_pending_value_that_conflicts_is_overwritten_even_when_the_current_one_is_right() -> None:
    plan = compile_plan(registry(), {"LogicalProc": "Enabled"}, CURRENT, {"LogicalProc": "Disabled"})
    assert plan.lines == ("LogicalProc: Enabled (pending Disabled) → Enabled",)


def test_what_somebody_else_left_pending_is_told() -> None:
    plan = compile_plan(registry(), {"Virt": "Enabled"}, CURRENT, {"Speed": "2"})
    assert plan.notes == ("Speed: 1 → 2 was set by somebody else and will come with the next reset",)
    assert plan.stages == ({"Virt": "Enabled"},)


def test_an_attribute_that_another_unlocks_waits_for_the_second_reset() -> None:
    locked = when("Virt", "Disabled", "Speed", "ReadOnly", True)
    plan = compile_plan(registry(locked), {"Speed": "2", "Virt": "Enabled"}, CURRENT)
    assert plan.stages == ({"Virt": "Enabled"}, {"Speed": "2"})
    assert plan.reboots == 2


def test_an_attribute_that_stays_locked_is_refused_with_the_reason() -> None:
    locked = when("Virt", "Disabled", "Speed", "ReadOnly", "true")
    assert problems_of({"Speed": "2"}, locked) == ("Speed: is read-only while Virt is Disabled",)


def test_two_attributes_that_lock_each_other_are_refused() -> None:
    cycle = when("Virt", "Disabled", "Speed", "ReadOnly", True), when("Speed", "1", "Virt", "ReadOnly", True)
    assert len(problems_of({"Speed": "2", "Virt": "Enabled"}, *cycle)) == 2


def test_a_value_that_another_change_would_force_away_is_refused() -> None:
    forced = when("Virt", "Enabled", "LogicalProc", "CurrentValue", "Disabled")
    assert problems_of({"Virt": "Enabled", "LogicalProc": "Enabled"}, forced) == (
        "LogicalProc: is forced to Disabled while Virt is Enabled",
    )


def test_a_dependency_that_nobody_can_evaluate_refuses_nothing() -> None:
    odd = when("Virt", "Disabled", "Speed", "ReadOnly", True, condition="LIKE")
    assert compile_plan(registry(odd), {"Speed": "2"}, CURRENT).stages == ({"Speed": "2"},)


def test_odd_values_are_skipped_alone_and_passwords_never_shown() -> None:
    current = {**CURRENT, "SetupPassword": "hunter2", "Tag": {"a": 1}, "PxeDev": None}
    plan = compile_plan(registry(), {"Virt": "Enabled"}, current, {"SetupPassword": "hunter3"})
    assert plan.stages == ({"Virt": "Enabled"},)
    assert "hunter" not in repr(plan)
    assert {note.partition(":")[0] for note in plan.notes} == {"Tag", "PxeDev", "SetupPassword"}


def test_without_a_registry_types_come_from_present_values() -> None:
    inferred = infer_registry({"T": 5, "F": True, "S": "x", "Odd": None})
    assert compile_plan(inferred, {"T": "6", "F": "false"}, {"T": 5, "F": True}).stages == ({"T": 6, "F": False},)
    assert [str(item) for item in find_problems(inferred, {"Odd": 1})] == ["Odd: unknown attribute"]


def test_what_was_not_taken_after_the_reset_is_named() -> None:
    plan = compile_plan(registry(), {"Virt": "Enabled", "Speed": "2"}, CURRENT)
    after = {**CURRENT, "Virt": "Enabled"}
    assert not_taken(plan, registry(), after) == ("Speed: expected 2, found 1",)


def test_an_undeclared_attribute_that_changed_with_the_reset_is_named() -> None:
    after = {**CURRENT, "Virt": "Enabled", "LogicalProc": "Disabled"}
    (change,) = undeclared_changes(registry(), {"Virt": "Enabled"}, CURRENT, after)
    assert (str(change), is_critical(registry(), change)) == ("LogicalProc: Enabled → Disabled", False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = ("AttributeName", "Type", "Value", "LowerBound", "ReadOnly", "Hidden", "ValueExpression")
ODD = st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, JSON))
NAMES = st.sampled_from(["N0", "N1", "N2", "X"])


@given(attributes=st.lists(ODD, max_size=4), dependencies=JSON, current=st.dictionaries(NAMES, JSON))
def test_a_registry_of_any_shape_is_read_without_a_crash(
    attributes: list[dict[str, Any]], dependencies: Any, current: dict[str, Any]
) -> None:
    named = [{"AttributeName": f"N{index}", **attribute} for index, attribute in enumerate(attributes)]
    parsed = parse_registry({"RegistryEntries": {"Attributes": named, "Dependencies": dependencies}})
    plan = compile_plan(parsed, {}, current, current)
    assert plan.changes == ()
    judged = len(find_problems(parsed, dict.fromkeys(parsed.attributes, "x")))
    assert judged <= len(parsed.attributes)
