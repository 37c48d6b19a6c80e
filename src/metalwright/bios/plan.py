"""The BIOS plan: what differs, in which order it can be written, and everything that would be refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from metalwright.bios.dependencies import forced_value, lock_on
from metalwright.bios.registry import AttributeRegistry, Value
from metalwright.bios.values import ValueProblem, is_same, shown, to_send
from metalwright.errors import BiosError


@dataclass(frozen=True)
class BiosChange:
    """One attribute to write. ``value`` is what the BMC gets; ``stage`` counts from 1, with a reset after each."""

    attribute: str
    current: str
    desired: str
    value: Value
    stage: int = 1

    def __str__(self) -> str:
        return f"{self.attribute}: {self.current} → {self.desired}"


@dataclass(frozen=True)
class BiosPlan:
    """What brings the BIOS to the desired attributes.

    ``changes`` are to be written; ``pending`` are desired values that wait for a reset already; ``notes`` tell what
    a reviewer should know. Only declared attributes are ever in ``changes``.
    """

    registry: str
    changes: tuple[BiosChange, ...] = ()
    pending: tuple[BiosChange, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_reboot_needed(self) -> bool:
        """Decided from values that differ, not from the registry's flag, which vendors leave out."""
        return bool(self.changes or self.pending)

    @property
    def reboots(self) -> int:
        """One for each stage; one for what is pending alone."""
        return max((change.stage for change in self.changes), default=1 if self.pending else 0)

    @property
    def stages(self) -> tuple[dict[str, Value], ...]:
        """The attributes to write before each reset, in order."""
        count = max((change.stage for change in self.changes), default=0)
        return tuple(
            {change.attribute: change.value for change in self.changes if change.stage == stage}
            for stage in range(1, count + 1)
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """``attribute: current → desired`` for everything that the next reset will change."""
        return (*map(str, self.changes), *(f"{change} (pending)" for change in self.pending))


def find_problems(registry: AttributeRegistry, desired: Mapping[str, Value]) -> tuple[str, ...]:
    """What any machine with this registry would refuse, with no machine at hand: one line an attribute."""
    problems = []
    for written, value in desired.items():
        name = registry.name_of(written)
        if name is None:
            problems.append(_unknown(registry, written))
        elif lock_on(registry, name, "ReadOnly", {}) is not None:
            problems.append(f"{written}: is read-only")
        else:
            try:
                to_send(registry.attributes[name], value, None)
            except ValueProblem as problem:
                problems.append(f"{written}: {problem}")
    return tuple(problems)


def compile_plan(
    registry: AttributeRegistry,
    desired: Mapping[str, Value],
    current: Mapping[str, Any],
    pending: Mapping[str, Any] | None = None,
) -> BiosPlan:
    """Compare and order. ``pending`` are the attributes of the settings object (all of them, or those that wait).

    Raises:
        BiosError: everything that this BIOS would refuse, one line each in ``problems``.
    """
    compiler = _Compiler(registry, current, pending or {})
    for written, value in desired.items():
        compiler.add(written, value)
    compiler.check_forced()
    stages = compiler.staged()
    if compiler.problems:
        count = len(compiler.problems)
        raise BiosError(
            f"this BIOS would refuse {count} attribute{'s' if count > 1 else ''}",
            where=registry.id,
            problems=compiler.problems,
            hint="nothing was written; correct the attributes in a new blueprint version",
        )
    return BiosPlan(registry.id, stages, tuple(compiler.waiting), compiler.all_notes())


class _Compiler:
    """Collects changes and problems."""

    def __init__(self, registry: AttributeRegistry, current: Mapping[str, Any], pending: Mapping[str, Any]) -> None:
        self.registry = registry
        self.current = {name: value for name, value in current.items() if isinstance(value, (str, int, float, bool))}
        self.odd = sorted(current.keys() - self.current.keys())
        self.pending = {name: value for name, value in pending.items() if isinstance(value, (str, int, float, bool))}
        self.desired: dict[str, Value] = {}
        self.changes: dict[str, BiosChange] = {}
        self.waiting: list[BiosChange] = []
        self.problems: list[str] = []
        self.notes: list[str] = []

    def add(self, written: str, value: Value) -> None:
        """Judge one declared attribute on its own."""
        name = self.registry.name_of(written)
        if name is None:
            self.problems.append(_unknown(self.registry, written))
            return
        if name in self.desired:
            self.problems.append(f"{written}: {name} is declared twice")
            return
        if name not in self.current and not self._is_offered(name):
            self.problems.append(f"{written}: is in the registry, but this machine does not offer it")
            return
        try:
            sent = self._sent(name, value)
        except ValueProblem as problem:
            self.problems.append(f"{written}: {problem}")
            return
        self.desired[name] = sent
        self._compare(name, sent)

    def _sent(self, name: str, value: Value) -> Value:
        """What is there already is never wrong, even where the registry does not know it."""
        attribute, now = self.registry.attributes[name], self.current.get(name)
        if now is not None and not attribute.is_secret and is_same(attribute, now, value):
            return now
        return to_send(attribute, value, now)

    def _is_offered(self, name: str) -> bool:
        """Whether its absence from the present values says nothing against it.

        A machine may list no attribute at all, list an odd value, or leave out what is hidden at present.
        """
        can_be_hidden = any(item.attribute == name and item.property == "Hidden" for item in self.registry.dependencies)
        return not self.current or name in self.odd or can_be_hidden

    def _compare(self, name: str, sent: Value) -> None:
        attribute = self.registry.attributes[name]
        now, later = self.current.get(name), self.pending.get(name)
        is_pending = later is not None and not is_same(attribute, later, now)
        before = shown(attribute, now)
        if is_pending and is_same(attribute, later, sent):
            self.waiting.append(BiosChange(name, before, shown(attribute, sent), sent))
        elif is_pending:
            before = f"{before} (pending {shown(attribute, later)})"
            self.changes[name] = BiosChange(name, before, shown(attribute, sent), sent)
        elif not is_same(attribute, now, sent):
            self.changes[name] = BiosChange(name, before, shown(attribute, sent), sent)

    def check_forced(self) -> None:
        """Refuse what another attribute would overwrite when it changes.

        Such a rule acts at the moment of the change: machines do hold other values while its terms are met.
        """
        after = {**self.current, **self.desired}
        for name, value in self.desired.items():
            forced = forced_value(self.registry, name, after)
            attribute = self.registry.attributes[name]
            if (
                forced is not None
                and forced != forced_value(self.registry, name, self.current)
                and not is_same(attribute, forced[0], value)
            ):
                self.problems.append(f"{name}: is forced to {shown(attribute, forced[0])} {forced[1]}")

    def staged(self) -> tuple[BiosChange, ...]:
        """Order the changes: what is locked now, but not after others were applied, waits for the next reset."""
        done: list[BiosChange] = []
        state = {**self.current, **{change.attribute: change.value for change in self.waiting}}
        left = dict(self.changes)
        stage = 0
        while left:
            stage += 1
            locks = {name: self._lock(name, state) for name in left}
            ready = [name for name, lock in locks.items() if lock is None]
            if not ready:
                self.problems.extend(f"{name}: {lock}" for name, lock in locks.items())
                return ()
            for name in ready:
                change = left.pop(name)
                done.append(BiosChange(name, change.current, change.desired, change.value, stage))
                state[name] = change.value
        return tuple(done)

    def _lock(self, name: str, state: Mapping[str, Any]) -> str | None:
        read_only = lock_on(self.registry, name, "ReadOnly", state)
        if read_only is not None:
            return f"is read-only {read_only}"
        hidden = lock_on(self.registry, name, "Hidden", state) if name not in self.current else None
        return f"is hidden {hidden}" if hidden is not None else None

    def all_notes(self) -> tuple[str, ...]:
        """What a reviewer should know beside the changes."""
        notes = [f"{name}: its value has no usable form and was skipped" for name in self.odd]
        for name, value in self.pending.items():
            attribute = self.registry.attributes.get(name)
            known = attribute is not None and name in self.current and name not in self.desired
            if known and attribute is not None and not is_same(attribute, value, self.current[name]):
                was, will = shown(attribute, self.current[name]), shown(attribute, value)
                notes.append(f"{name}: {was} → {will} was set by somebody else and will come with the next reset")
        return tuple(notes)


def _unknown(registry: AttributeRegistry, written: str) -> str:
    names = registry.by_display.get(written.strip(), ())
    if len(names) > 1:
        return f"{written}: is the display name of several attributes: {', '.join(names)}"
    visible = [name for name, attribute in registry.attributes.items() if not attribute.is_hidden]
    folded = {name.lower(): name for name in (*registry.by_display, *visible)}
    close = get_close_matches(written.lower(), folded, n=1, cutoff=0.6)
    return f"{written}: unknown attribute" + (f"; did you mean {folded[close[0]]!r}?" if close else "")


def not_taken(plan: BiosPlan, registry: AttributeRegistry, after: Mapping[str, Any]) -> tuple[str, ...]:
    """The attributes that do not have the written value after the reset, one line each."""
    lines = []
    for change in (*plan.changes, *plan.pending):
        attribute = registry.attributes[change.attribute]
        value = after.get(change.attribute)
        if not is_same(attribute, value, change.value):
            lines.append(f"{change.attribute}: expected {change.desired}, found {shown(attribute, value)}")
    return tuple(lines)


def undeclared_changes(
    registry: AttributeRegistry, desired: Mapping[str, Value], before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[str, ...]:
    """Attributes that nobody declared and that changed with the reset, one line each."""
    declared = {registry.name_of(written) for written in desired}
    lines = []
    for name in sorted(before.keys() & after.keys() - {name for name in declared if name}):
        attribute = registry.attributes.get(name)
        if before[name] != after[name] and attribute is not None and not is_same(attribute, before[name], after[name]):
            lines.append(f"{name}: {shown(attribute, before[name])} → {shown(attribute, after[name])}")
    return tuple(lines)
