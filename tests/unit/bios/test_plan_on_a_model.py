"""Plans are carried out on a model of a BIOS that was written apart from the compiler: they arrive, or say why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.bios import AttributeRegistry, BiosPlan, compile_plan, parse_registry
from metalwright.errors import BiosError

NAMES = ("A", "B", "C", "D")
VALUES = ("0", "1")
Values = dict[str, str]


@dataclass(frozen=True)
class Rule:
    """While ``source`` has ``value``, ``target`` is read-only, or becomes ``forced``."""

    source: str
    value: str
    target: str
    forced: str | None


@dataclass(frozen=True)
class ModelBios:
    """Takes a request when nothing in it is read-only by the values in force and with it; then resets."""

    rules: tuple[Rule, ...]

    def refuses(self, in_force: Values, request: Values) -> bool:
        after = {**in_force, **request}
        return any(self._is_locked(name, in_force) or self._is_locked(name, after) for name in request)

    def _is_locked(self, name: str, values: Values) -> bool:
        return any(
            rule.forced is None and rule.target == name and values[rule.source] == rule.value for rule in self.rules
        )

    def reset(self, in_force: Values, request: Values) -> Values:
        before, after = in_force, {**in_force, **request}
        for _ in range(20):
            forced: Values = {}
            for rule in self.rules:
                begins = after[rule.source] == rule.value and before[rule.source] != rule.value
                if rule.forced is not None and begins:
                    forced[rule.target] = rule.forced
            moved = {name: value for name, value in forced.items() if after[name] != value}
            if not moved:
                break
            before, after = after, {**after, **moved}
        return after

    def as_registry(self) -> AttributeRegistry:
        entries = [
            {"AttributeName": name, "Type": "Enumeration", "Value": [{"ValueName": value} for value in VALUES]}
            for name in NAMES
        ]
        return parse_registry(
            {"Id": "M", "RegistryEntries": {"Attributes": entries, "Dependencies": [_entry(r) for r in self.rules]}}
        )


def _entry(rule: Rule) -> dict[str, Any]:
    term = {"MapFromAttribute": rule.source, "MapFromCondition": "EQU", "MapFromValue": rule.value}
    what = ("ReadOnly", True) if rule.forced is None else ("CurrentValue", rule.forced)
    return {
        "Dependency": {
            "MapFrom": [term],
            "MapToAttribute": rule.target,
            "MapToProperty": what[0],
            "MapToValue": what[1],
        }
    }


pairs = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda pair: pair[0] != pair[1])
rules = st.builds(
    lambda pair, value, forced: Rule(pair[0], value, pair[1], forced),
    pairs,
    st.sampled_from(VALUES),
    st.sampled_from((None, None, None, *VALUES)),
)
models = st.lists(rules, max_size=4).map(lambda items: ModelBios(tuple(items)))
machines = st.fixed_dictionaries({name: st.sampled_from(VALUES) for name in NAMES})
wishes = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES))


def compiled(model: ModelBios, desired: Values, current: Values) -> BiosPlan | BiosError:
    try:
        return compile_plan(model.as_registry(), desired, current)
    except BiosError as error:
        return error


def carry_out(model: ModelBios, current: Values, plan: BiosPlan) -> Values:
    values = current
    for stage in plan.stages:
        request = {name: str(value) for name, value in stage.items()}
        assert not model.refuses(values, request), (plan, values)
        values = model.reset(values, request)
    return values


def shows(values: Mapping[str, str], wanted: Values) -> bool:
    return all(values[name] == value for name, value in wanted.items())


def fewest_resets(model: ModelBios, current: Values, desired: Values) -> int | None:
    """By trying everything; declared values alone may be written, each only with the value that is declared."""
    layer, seen = [current], {tuple(current.values())}
    for resets in range(len(VALUES) ** len(NAMES)):
        if any(shows(values, desired) for values in layer):
            return resets
        following = []
        for values in layer:
            subsets = chain.from_iterable(combinations(desired, size) for size in range(1, len(desired) + 1))
            for names in subsets:
                request = {name: desired[name] for name in names if values[name] != desired[name]}
                if not request or model.refuses(values, request):
                    continue
                after = model.reset(values, request)
                if tuple(after.values()) not in seen:
                    seen.add(tuple(after.values()))
                    following.append(after)
        layer = following
    return None


@settings(max_examples=250)
@given(models, machines, wishes)
def test_a_plan_arrives_with_the_fewest_resets_and_touches_nothing_else(
    model: ModelBios, current: Values, desired: Values
) -> None:
    plan = compiled(model, desired, current)
    if isinstance(plan, BiosError):
        assert plan.problems
        return
    end = carry_out(model, current, plan)
    assert shows(end, desired)
    assert set().union(*plan.stages) <= desired.keys()
    told = {change.attribute: change.value for change in (*plan.changes, *plan.consequences)}
    assert {name: value for name, value in end.items() if current[name] != value} == {
        name: value for name, value in told.items() if current[name] != value
    }
    assert plan.reboots == fewest_resets(model, current, desired)
    assert compile_plan(model.as_registry(), desired, end).lines == ()


@settings(max_examples=250)
@given(models, machines, wishes)
def test_what_can_be_reached_without_contradicting_a_rule_is_never_refused(
    model: ModelBios, current: Values, desired: Values
) -> None:
    reachable = fewest_resets(model, current, desired)
    plan = compiled(model, desired, current)
    if isinstance(plan, BiosError):
        assert reachable is None or any("is forced to" in problem for problem in plan.problems), plan.problems
    else:
        assert reachable is not None
