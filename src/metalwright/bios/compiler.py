"""Registry × desired × current × pending → the BIOS plan, or everything that this BIOS would refuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metalwright.bios.dependencies import forced_value, lock_on, settle
from metalwright.bios.plan import BiosChange, BiosPlan, BiosProblem
from metalwright.bios.registry import Attribute, AttributeRegistry, Value
from metalwright.bios.spelling import explain_unknown
from metalwright.bios.stages import Arrangement, arrange, lock
from metalwright.bios.values import ValueProblem, is_same, shown, to_send
from metalwright.errors import BiosError


def compile_plan(
    registry: AttributeRegistry,
    desired: Mapping[str, Value],
    current: Mapping[str, Any],
    pending: Mapping[str, Any] | None = None,
    *,
    is_newer_registry: bool = False,
) -> BiosPlan:
    """Compare and order. ``pending`` are the attributes of the settings object (all of them, or those that wait).

    ``is_newer_registry`` says that the registry is that of a BIOS which the machine gets first: an attribute that it
    does not list today is unknown then, and no reason to refuse.

    Raises:
        BiosError: everything that this BIOS would refuse, one line each in ``problems``.
    """
    compiler = _Compiler(registry, current, pending or {}, is_newer_registry=is_newer_registry)
    for written, value in desired.items():
        compiler.add(written, value)
    compiler.check_forced()
    arrangement = compiler.arrange()
    if compiler.problems:
        raise refusal(registry, compiler.problems)
    return BiosPlan(
        registry.id,
        compiler.staged(arrangement),
        tuple(compiler.waiting),
        compiler.consequences(arrangement),
        compiler.notes(),
    )


def refusal(registry: AttributeRegistry, problems: list[BiosProblem]) -> BiosError:
    """The error that tells all problems together."""
    count = len(problems)
    return BiosError(
        f"this BIOS would refuse {count} attribute{'s' if count > 1 else ''}",
        where=registry.id,
        problems=[str(problem) for problem in problems],
        hint="nothing was written; correct the attributes in a new blueprint version",
    )


class _Compiler:
    """Collects changes and problems."""

    def __init__(
        self,
        registry: AttributeRegistry,
        current: Mapping[str, Any],
        pending: Mapping[str, Any],
        *,
        is_newer_registry: bool,
    ) -> None:
        self.registry = registry
        self.is_newer_registry = is_newer_registry
        self.current = _usable(current)
        self.odd = sorted(current.keys() - self.current.keys())
        self.pending = _usable(pending)
        self.desired: dict[str, Value] = {}
        self.spelled: dict[str, str] = {}
        self.changes: dict[str, BiosChange] = {}
        self.waiting: list[BiosChange] = []
        self.problems: list[BiosProblem] = []

    def add(self, written: str, value: Value) -> None:
        """Judge one declared attribute on its own."""
        name = self.registry.name_of(written)
        if name is None:
            self.problems.append(BiosProblem(written, explain_unknown(self.registry, written)))
            return
        if name in self.desired:
            self.problems.append(BiosProblem(written, f"{name} is declared twice"))
            return
        if name not in self.current and not self._is_offered(name):
            self.problems.append(BiosProblem(written, "is in the registry, but this machine does not offer it"))
            return
        try:
            sent = self._sent(name, value)
        except ValueProblem as problem:
            self.problems.append(BiosProblem(written, str(problem)))
            return
        self.desired[name] = sent
        self.spelled[name] = written
        self._compare(name, sent)

    def _sent(self, name: str, value: Value) -> Value:
        """What is there already is never wrong, even where the registry does not know it."""
        attribute, now = self.registry.attributes[name], self.current.get(name)
        if now is not None and not attribute.is_secret and is_same(attribute, now, value):
            return now
        return to_send(attribute, value, now)

    def _is_offered(self, name: str) -> bool:
        """Whether its absence from the present values says nothing against it.

        A machine may list no attribute at all, list an odd value, leave out what is hidden at present, or get its
        next BIOS before.
        """
        if self.is_newer_registry:
            return True
        can_be_hidden = any(item.property == "Hidden" for item in self.registry.rules_about.get(name, ()))
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
        """Refuse what another attribute would overwrite when it changes."""
        after = settle(self.registry, self.current, self.desired)
        for name, value in self.desired.items():
            attribute = self.registry.attributes[name]
            if is_same(attribute, after.get(name), value):
                continue
            forced = forced_value(self.registry, name, self.current, after)
            reason = forced[1] if forced is not None else "by what the other attributes bring along"
            self.problems.append(
                BiosProblem(self.spelled[name], f"is forced to {shown(attribute, after.get(name))} {reason}")
            )
            self.changes.pop(name, None)

    def arrange(self) -> Arrangement:
        """Order the changes over as few resets as there can be; problems for those without an order."""
        waiting = {
            name: value
            for name, value in self.pending.items()
            if name in self.current and not is_same(self._attribute(name), value, self.current[name])
        }
        wanted = {name: self.desired[name] for name in self.changes}
        arrangement = arrange(self.registry, self.current, waiting, wanted)
        for name, why in arrangement.stuck:
            self.problems.append(BiosProblem(self.spelled[name], why))
        return arrangement

    def _attribute(self, name: str) -> Attribute:
        return self.registry.attributes.get(name) or Attribute(name, "String")

    def staged(self, arrangement: Arrangement) -> tuple[BiosChange, ...]:
        """The changes with their stages."""
        return tuple(
            BiosChange(name, change.current, change.desired, change.value, number)
            for number, names in enumerate(arrangement.stages, 1)
            for name in names
            for change in (self.changes[name],)
        )

    def consequences(self, arrangement: Arrangement) -> tuple[BiosChange, ...]:
        """What changes without being written, because a rule of the registry says so."""
        written = {name for names in arrangement.stages for name in names}
        waiting = {change.attribute for change in self.waiting}
        found = []
        for name, value in arrangement.end.items():
            now = self.current.get(name)
            if name in written or name in waiting or name not in self.registry.attributes or name in self.pending:
                continue
            attribute = self.registry.attributes[name]
            if not is_same(attribute, now, value):
                found.append(BiosChange(name, shown(attribute, now), shown(attribute, value), value))
        return tuple(found)

    def notes(self) -> tuple[str, ...]:
        """What a reviewer should know beside the changes."""
        notes = [f"{name}: its value has no usable form and was skipped" for name in self.odd]
        for name, value in self.pending.items():
            known = name in self.registry.attributes and name in self.current and name not in self.desired
            attribute = self._attribute(name)
            if known and not is_same(attribute, value, self.current[name]):
                was, will = shown(attribute, self.current[name]), shown(attribute, value)
                notes.append(f"{name}: {was} → {will} was set by somebody else and will come with the next reset")
        after = {**self.current, **self.desired}
        for name in self.changes:
            idle = lock_on(self.registry, name, "GrayOut", after)
            if idle is not None:
                notes.append(f"{name}: has no effect {idle}")
        return tuple(notes)


def find_problems(registry: AttributeRegistry, desired: Mapping[str, Value]) -> tuple[BiosProblem, ...]:
    """What a machine with this registry would refuse, with no machine at hand, in the order of declaration.

    Attributes are judged together too: one that the others make read-only, hidden or another value cannot be brought
    back on a machine where it ever differs. A value that is the default, or that they force, needs no writing.
    """
    values: dict[str, Value] = {}
    problems: list[BiosProblem] = []
    spelled: dict[str, str] = {}
    for written, value in desired.items():
        name = registry.name_of(written)
        why = _alone(registry, written, name, value) if name not in values else f"{name} is declared twice"
        if why is not None:
            problems.append(BiosProblem(written, why))
        elif name is not None:
            values[name], spelled[name] = to_send(registry.attributes[name], value, None), written
    for name, value in values.items():
        why = _together(registry, name, value, values)
        if why is not None:
            problems.append(BiosProblem(spelled[name], why))
    order = list(desired)
    return tuple(sorted(problems, key=lambda problem: order.index(problem.attribute)))


def _alone(registry: AttributeRegistry, written: str, name: str | None, value: Value) -> str | None:
    if name is None:
        return explain_unknown(registry, written)
    read_only = lock_on(registry, name, "ReadOnly", {})
    if read_only is not None:
        return f"is read-only {read_only}"
    try:
        to_send(registry.attributes[name], value, None)
    except ValueProblem as problem:
        return str(problem)
    return None


def _together(registry: AttributeRegistry, name: str, value: Value, values: Mapping[str, Value]) -> str | None:
    attribute = registry.attributes[name]
    forced = forced_value(registry, name, {}, values)
    if forced is not None:
        same = is_same(attribute, forced[0], value)
        return None if same else f"is forced to {shown(attribute, forced[0])} {forced[1]}"
    if attribute.default is not None and is_same(attribute, attribute.default, value):
        return None
    others = {other: item for other, item in values.items() if other != name}
    return lock(registry, name, others)


def _usable(values: Mapping[str, Any]) -> dict[str, str | int | float | bool]:
    return {name: value for name, value in values.items() if isinstance(value, (str, int, float, bool))}
