"""In which order attributes can be written: the fewest resets, by searching a model of what the BIOS does at each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Any

from metalwright.bios.dependencies import lock_on, settle
from metalwright.bios.registry import AttributeRegistry, Value
from metalwright.bios.values import is_same

CHOICES = 256
"""Ways to begin a stage that are looked at; attributes that do not touch each other leave one."""

STATES = 2000
"""States that are looked at before the search says that it found no order."""


@dataclass(frozen=True)
class Arrangement:
    """``stages`` are the names to write before each reset, ``end`` the values after the last one.

    ``stuck``: where there is no order, each name that is left and why.
    """

    stages: tuple[tuple[str, ...], ...] = ()
    end: Mapping[str, Any] = field(default_factory=dict)
    stuck: tuple[tuple[str, str], ...] = ()


def lock(registry: AttributeRegistry, name: str, values: Mapping[str, Any]) -> str | None:
    """Why the attribute cannot be written under ``values``, as the end of a sentence; ``None`` where it can.

    An attribute that the machine shows can be written even while it is hidden: hiding is for menus.
    """
    read_only = lock_on(registry, name, "ReadOnly", values)
    if read_only is not None:
        return f"is read-only {read_only}"
    hidden = lock_on(registry, name, "Hidden", values) if name not in values else None
    return f"is hidden {hidden}" if hidden is not None else None


def arrange(
    registry: AttributeRegistry, current: Mapping[str, Any], waiting: Mapping[str, Any], wanted: Mapping[str, Value]
) -> Arrangement:
    """Find the fewest stages after which every ``wanted`` value is in force, breadth first.

    Some BMCs judge a request by the values in force, others by what would be in force with it: an attribute is
    written where both allow it. ``waiting`` comes into force with the first reset in any case.
    """
    start = {**current, **waiting}
    layer: list[tuple[dict[str, Any], dict[str, Any], tuple[tuple[str, ...], ...]]] = [(dict(current), start, ())]
    seen = {frozenset(start.items())}
    nearest = start
    while layer and len(seen) < STATES:
        following = []
        for in_force, state, done in layer:
            left = _left(registry, state, wanted)
            if not left:
                return Arrangement(done, state)
            nearest = min(nearest, state, key=lambda item: len(_left(registry, item, wanted)))
            for move in _moves(registry, in_force, state, left):
                after = settle(registry, state, {name: left[name] for name in move})
                key = frozenset(after.items())
                if key not in seen:
                    seen.add(key)
                    following.append((after, after, (*done, move)))
        layer = following
    return Arrangement(stuck=tuple(_stuck(registry, nearest, _left(registry, nearest, wanted))))


def _left(registry: AttributeRegistry, state: Mapping[str, Any], wanted: Mapping[str, Value]) -> dict[str, Value]:
    return {
        name: value for name, value in wanted.items() if not is_same(registry.attributes[name], state.get(name), value)
    }


def _moves(
    registry: AttributeRegistry, in_force: Mapping[str, Any], state: Mapping[str, Any], left: Mapping[str, Value]
) -> Iterator[tuple[str, ...]]:
    """What can be written before the next reset, most first. Only attributes that others depend on are held back."""
    ready = [name for name in left if lock(registry, name, in_force) is None]
    looked_at = _looked_at(registry, left)
    keys = [name for name in ready if name in looked_at]
    others = [name for name in ready if name not in looked_at]
    choices = (chosen for size in range(len(keys), -1, -1) for chosen in combinations(keys, size))
    for chosen in islice(choices, CHOICES):
        after = {**state, **{name: left[name] for name in chosen}}
        if any(lock(registry, name, after) is not None for name in chosen):
            continue
        move = (*chosen, *(name for name in others if lock(registry, name, after) is None))
        if move:
            yield tuple(name for name in left if name in move)


def _looked_at(registry: AttributeRegistry, names: Mapping[str, Value]) -> set[str]:
    """The attributes on which rules about ``names`` depend, also through an attribute that others force."""
    found: set[str] = set()
    queue = [(name, "") for name in names]
    while queue:
        name, prop = queue.pop()
        for rule in registry.rules_about.get(name, ()):
            if prop in ("", rule.property):
                fresh = {condition.attribute for condition in rule.conditions} - found
                found |= fresh
                queue += [(attribute, "CurrentValue") for attribute in fresh]
    return found


def _stuck(
    registry: AttributeRegistry, state: Mapping[str, Any], left: Mapping[str, Value]
) -> Iterator[tuple[str, str]]:
    for name in left:
        now = lock(registry, name, state)
        later = lock(registry, name, {**state, **left})
        if now is not None:
            yield name, now
        elif later is not None:
            yield name, f"{later}, which is wanted too"
        else:
            yield name, "is locked or overwritten by another attribute in every order"
