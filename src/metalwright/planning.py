"""Desired × observed → the plan, with digests that bind what was reviewed to what is done. Pure.

Digests cover normalised, plan-relevant values only: not estimates, times, commit ids, or the order in which
files were written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from metalwright.errors import PlanError
from metalwright.model.blueprint import Blueprint
from metalwright.model.digests import digest
from metalwright.model.phase import PHASES, Phase
from metalwright.model.plan import Change, Estimate, NodePlan, Plan, PlannedIdentity
from metalwright.model.rack import Node


@dataclass(frozen=True)
class Desired:
    """What git wants of one node. ``addresses`` maps network name to address."""

    node: Node
    blueprint: Blueprint
    recipe: str
    addresses: Mapping[str, str]
    disk_serial: str | None

    def fingerprint(self) -> dict[str, object]:
        """The values that the desired digest covers."""
        return {
            "node": self.node.to_json(),
            "blueprint": digest(self.blueprint),
            "recipe": self.recipe,
            "addresses": dict(sorted(self.addresses.items())),
            "disk_serial": self.disk_serial,
        }


def plan_node(
    desired: Desired,
    changes_by_phase: Mapping[Phase, tuple[Change, ...]],
    unknown: Mapping[Phase, str],
    refusals: Mapping[Phase, str] | None = None,
    reboots: Mapping[Phase, int] | None = None,
) -> NodePlan:
    """The changes of one node in phase order.

    ``unknown`` says why a phase could not be observed yet, ``refusals`` why a phase would stop; ``reboots`` of the
    phases that counted theirs.
    """
    changes = tuple(change for phase in PHASES for change in changes_by_phase.get(phase, ()))
    node, refused = desired.node, refusals or {}
    return NodePlan(
        node=node.name,
        blueprint=desired.blueprint.ref,
        recipe=desired.recipe,
        identity=PlannedIdentity(serial=node.serial, uuid=node.uuid, bmc_mac=node.bmc_mac),
        image_sha256=desired.blueprint.image.file_sha256,
        disk_serial=desired.disk_serial,
        changes=changes,
        unknown=tuple(f"{phase}: {unknown[phase]}" for phase in PHASES if phase in unknown),
        refusals=tuple(f"{phase}: {refused[phase]}" for phase in PHASES if phase in refused),
        estimate=Estimate(reboots=_reboots(changes, reboots or {}), minutes=None),
    )


def make_plan(desired: Iterable[Desired], node_plans: Iterable[NodePlan]) -> Plan:
    """One plan over several nodes; same inputs give the same bytes."""
    wanted = digest({item.node.name: item.fingerprint() for item in desired})
    plans = tuple(sorted(node_plans, key=lambda plan: plan.node))
    seen = digest({plan.node: {"changes": _plain(plan.changes), "refusals": plan.refusals} for plan in plans})
    whole = digest({"desired": wanted, "observed": seen, "nodes": [_without_estimate(plan) for plan in plans]})
    return Plan(digest=whole, desired=wanted, observed=seen, nodes=plans)


def check_still_holds(reviewed: Plan, current: Plan) -> None:
    """Refuse a plan that no longer describes the world.

    Raises:
        PlanError: names every node and change that moved.
    """
    if reviewed.digest == current.digest:
        return
    moved = list(_differences(reviewed, current))
    if reviewed.desired != current.desired:
        moved.append("desired state (blueprint, recipe, inventory or addresses) is not what was planned")
    raise PlanError(
        "the plan no longer holds",
        expected=f"digest {reviewed.digest}",
        found="; ".join(moved) or f"digest {current.digest}",
        hint="look at the differences and make a new plan: metalwright plan -o plan.json NODE…",
    )


def verify_digest(plan: Plan) -> None:
    """Refuse a plan file whose content does not match its own digest.

    Raises:
        PlanError: the file was edited or cut.
    """
    whole = digest(
        {"desired": plan.desired, "observed": plan.observed, "nodes": [_without_estimate(item) for item in plan.nodes]}
    )
    if whole != plan.digest:
        raise PlanError(
            "the plan file was changed after it was made", expected=plan.digest, found=whole, hint="make a new plan"
        )


def destructive_nodes(plan: Plan) -> tuple[NodePlan, ...]:
    """The nodes whose disk is written."""
    return tuple(item for item in plan.nodes if item.is_destructive)


def _reboots(changes: tuple[Change, ...], counted: Mapping[Phase, int]) -> int:
    usual = {Phase.BIOS: 1, Phase.IMAGE: 2}
    phases = {change.phase for change in changes if change.disruptive}
    return sum(counted.get(phase, usual.get(phase, 0)) for phase in phases)


def _plain(changes: tuple[Change, ...]) -> list[dict[str, object]]:
    return [change.to_json() for change in changes]


def _without_estimate(plan: NodePlan) -> dict[str, object]:
    return {key: value for key, value in plan.to_json().items() if key not in ("estimate", "unknown")}


def _differences(reviewed: Plan, current: Plan) -> Iterable[str]:
    before = {plan.node: plan for plan in reviewed.nodes}
    now = {plan.node: plan for plan in current.nodes}
    for name in sorted(before.keys() | now.keys()):
        if name not in now or name not in before:
            yield f"{name}: {'no longer' if name not in now else 'newly'} part of the plan"
            continue
        for change in set(_described(before[name])) ^ set(_described(now[name])):
            yield f"{name}: {change}"
        if before[name].recipe != now[name].recipe:
            yield f"{name}: recipe {before[name].recipe[:19]}… is now {now[name].recipe[:19]}…"


def _described(plan: NodePlan) -> Iterable[str]:
    for change in plan.changes:
        yield f"{change.phase}: {change.what} ({change.from_} → {change.to})"
