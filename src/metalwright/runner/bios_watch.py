"""The BIOS of one node over the turns of one invocation: what is so, what was just written, what changed unasked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from metalwright.bios import (
    AttributeRegistry,
    BiosPlan,
    boot_mode_problem,
    compile_plan,
    infer_registry,
    is_critical,
    parse_registry,
    undeclared_changes,
)
from metalwright.bios.observed import job_queue
from metalwright.bios.step import BiosStep, next_step
from metalwright.bios.values import is_same
from metalwright.errors import BiosError
from metalwright.firmware import Machine, firmware_checks
from metalwright.lifecycle.observations import AttributeChange, BiosObservation
from metalwright.model.blueprint import BiosProfile
from metalwright.model.report import HardwareReport
from metalwright.redfish.bios_reading import BiosReading, read_bios, read_job_queue
from metalwright.registries import stored_registry
from metalwright.runner.bmc_session import open_bmc
from metalwright.workspace import Workspace

Json = dict[str, Any]


@dataclass
class _Seen:
    """One look: what the BMC shows, the plan, and the next step."""

    state: Json
    registry: AttributeRegistry
    plan: BiosPlan
    step: BiosStep


@dataclass
class BiosWatch:
    """Observes the BIOS of one node; call :meth:`acts` just before the deploy runs."""

    workspace: Workspace
    node: str
    _last: _Seen | None = field(default=None, init=False)
    _acted_on: _Seen | None = field(default=None, init=False)
    _before: Mapping[str, Any] | None = field(default=None, init=False)
    _expected: dict[str, Any] = field(default_factory=dict, init=False)
    _fruitless: int = field(default=0, init=False)

    def observe(self, report: HardwareReport | None = None) -> BiosObservation:
        """Compile the desired attributes against the registry of this BIOS.

        ``report`` is given while a plan is made: a BIOS that the same plan updates first is judged by the registry
        of its new version.

        Raises:
            BiosError: there is no such registry: the attributes need a second plan.
        """
        profile = self.workspace.blueprint(self.node).bios
        if profile is None:
            return BiosObservation("none")
        crossing = self._crossing(report)
        try:
            seen = asyncio.run(self._look(profile, crossing))
        except BiosError as error:
            if not error.problems:
                raise
            return BiosObservation(error.where, refusals=error.problems)
        self._last = seen
        return self._judge(seen, profile)

    def acts(self) -> None:
        """Remember what the deploy is about to do, and what was in force before."""
        if self._last is None:
            return
        self._fruitless = self._fruitless + 1 if self._awaited(self._last) else 0
        self._acted_on = self._last
        self._before = self._before or self._last.state["attributes"]
        ours = {change.attribute for change in (*self._last.plan.changes, *self._last.plan.pending)}
        waiting = self._last.state["pending"] or {}
        self._expected |= {name: value for name, value in waiting.items() if name not in ours}
        self._expected |= {change.attribute: change.value for change in self._last.plan.consequences}

    def _crossing(self, report: HardwareReport | None) -> str | None:
        """The constraint that a firmware update makes true before this phase, where the BIOS does not fit it yet."""
        if report is None:
            return None
        checks = firmware_checks(self.workspace.blueprint(self.node).firmware, Machine.of_report(report))
        return next((f"{item.found} → {item.constraint}" for item in checks if _is_old_bios(item)), None)

    async def _look(self, profile: BiosProfile, crossing: str | None) -> _Seen:
        async with open_bmc(self.workspace, self.node) as session:
            reading = await read_bios(session.client)
            state, registry = reading.state, self._registry(reading, profile, crossing)
            plan = compile_plan(
                registry,
                profile.attributes,
                state["attributes"],
                state["pending"],
                is_newer_registry=crossing is not None,
            )
            queue = await read_job_queue(session.client, state) if plan.is_reboot_needed else job_queue(None, [], {})
        mode = boot_mode_problem(registry, {**state["attributes"], **_values(plan)})
        step = next_step(plan, state, queue)
        if mode is not None or step.kind == "refused":
            raise BiosError("the BIOS cannot be brought there", where=registry.id, problems=[mode or step.why])
        return _Seen(state, registry, plan, step)

    def _registry(self, reading: BiosReading, profile: BiosProfile, crossing: str | None) -> AttributeRegistry:
        """The registry that the BMC serves; else the site's own; else what the present values alone tell."""
        stored = stored_registry(self.workspace.paths.root, profile.registry)
        if crossing is not None:
            if stored is None:
                raise BiosError(
                    f"the BIOS is updated first ({crossing}): its attributes need a second plan",
                    where=self.node,
                    expected=f"the registry {profile.registry} of the new version",
                    hint="metalwright bios registry pull NODE, on a node that has the new version",
                )
            return stored
        if reading.registry is not None and (registry := parse_registry(reading.registry)).attributes:
            return registry
        return stored or infer_registry(reading.state["attributes"])

    def _judge(self, seen: _Seen, profile: BiosProfile) -> BiosObservation:
        plan, step = seen.plan, seen.step
        undeclared, drift = self._undeclared(seen, profile)
        return BiosObservation(
            plan.registry,
            to_write=tuple(AttributeChange(item.attribute, item.current, item.desired) for item in plan.changes),
            pending=tuple(AttributeChange(item.attribute, item.current, item.desired) for item in plan.pending),
            goes_first=step.why if step.kind == "restart" else None,
            blocked=step.why if step.kind == "blocked" else None,
            awaited=self._awaited(seen),
            fruitless=self._fruitless + 1 if self._awaited(seen) else 0,
            drift=drift,
            messages=tuple(seen.state["messages"]),
            reboots=plan.reboots + (step.kind == "restart"),
            evidence=_evidence(seen, undeclared),
        )

    def _awaited(self, seen: _Seen) -> tuple[str, ...]:
        """What the last act of this invocation wrote, or restarted for, and what is not in force yet."""
        acted = self._acted_on
        if acted is None:
            return ()
        if acted.step.kind == "restart":
            return (acted.step.why,) if seen.step.kind == "restart" and seen.step.why == acted.step.why else ()
        wanted = {**acted.step.stage, **{change.attribute: change.value for change in acted.plan.pending}}
        now = seen.state["attributes"]
        return tuple(
            name for name, value in wanted.items() if not is_same(seen.registry.attributes[name], now.get(name), value)
        )

    def _undeclared(self, seen: _Seen, profile: BiosProfile) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Every undeclared change since before the first act, and the critical ones among them."""
        if self._before is None:
            return (), ()
        found = [
            change
            for change in undeclared_changes(seen.registry, profile.attributes, self._before, seen.state["attributes"])
            if not is_same(
                seen.registry.attributes[change.attribute], self._expected.get(change.attribute), change.value
            )
        ]
        critical = tuple(str(change) for change in found if is_critical(seen.registry, change))
        return tuple(map(str, found)), critical


def _evidence(seen: _Seen, undeclared: tuple[str, ...]) -> dict[str, str]:
    """The second proof beside the values themselves: that nothing waits any more, and when it was applied."""
    proof = {} if seen.state["pending"] is None else {"pending": "nothing declared waits for a reset"}
    applied = {"applied": str(seen.state["applied"])} if seen.state["applied"] else {}
    return {**proof, **applied, **({"undeclared": "; ".join(undeclared)} if undeclared else {})}


def _values(plan: BiosPlan) -> Json:
    return {change.attribute: change.value for change in (*plan.consequences, *plan.pending, *plan.changes)}


def _is_old_bios(check: Any) -> bool:
    return check.name.lower() == "bios" and check.holds is False
