"""Desired × observed → the plan, with digests that bind what was reviewed to what is done. Pure.

Digests cover normalised, plan-relevant values only: not estimates, times, commit ids, or the order in which
files were written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from metalwright.addressing import purposes_of
from metalwright.errors import PlanError
from metalwright.estimation import History, estimate
from metalwright.model.blueprint import Blueprint
from metalwright.model.digests import digest
from metalwright.model.phase import PHASES, Phase
from metalwright.model.plan import Change, Disruption, NodePlan, Plan, PlannedIdentity
from metalwright.model.rack import Node, Rack
from metalwright.model.repository import SiteRepository

_TOLD = 8
"""Differences that a refusal names before it counts."""


SITE_INPUTS = ("name", "domain", "ntp", "dns", "admins", "ssh", "apt", "bmc_user")
"""Keys of ``site.yaml`` that every recipe takes."""


def shared_inputs(repository: SiteRepository) -> dict[str, object]:
    """What the recipes of all nodes take from the site."""
    site = repository.site.to_json()
    more = {
        "scrapers": list(repository.site.monitoring.scrapers),
        "boot_server": site["boot_server"]["address_for_node"],
    }
    return {"site": {**{key: site[key] for key in SITE_INPUTS}, **more}}


def place_inputs(rack: Rack) -> dict[str, object]:
    """What the recipe of a node takes from its rack: the names that its labels carry."""
    return {"rack": rack.name, "leaves": [switch.name for switch in rack.switches if switch.role == "leaf"]}


def network_inputs(repository: SiteRepository, node: Node) -> dict[str, object]:
    """What the recipe of a node takes from the networks that it joins, by their names."""
    joined = purposes_of(node, repository.blueprint_of(node.name))
    return {network.name: network.seen_by_nodes for network in repository.networks if network.purpose in joined}


@dataclass(frozen=True)
class Desired:
    """What git wants of one node.

    ``addresses`` maps network name to address; ``place`` is what it takes from its rack, ``networks`` what from the
    networks that it joins, ``shared`` what all share.
    """

    node: Node
    blueprint: Blueprint
    recipe: str
    addresses: Mapping[str, str]
    disk_serial: str | None
    place: Mapping[str, object] = field(default_factory=dict)
    networks: Mapping[str, object] = field(default_factory=dict)
    shared: Mapping[str, object] = field(default_factory=dict)

    def own_values(self) -> dict[str, object]:
        """The values of this node alone that the desired digest covers."""
        return {
            **self.node.recipe_inputs(),
            **self.place,
            "recipe": self.recipe,
            "allocated": dict(sorted(self.addresses.items())),
            "disk_serial": self.disk_serial,
        }


def plan_node(
    desired: Desired,
    changes_by_phase: Mapping[Phase, tuple[Change, ...]],
    unknown: Mapping[Phase, str],
    refusals: Mapping[Phase, str] | None = None,
    reboots: Mapping[Phase, int] | None = None,
    history: History | None = None,
) -> NodePlan:
    """The changes of one node in phase order.

    ``unknown`` says why a phase could not be observed yet, ``refusals`` why a phase would stop; ``reboots`` of the
    phases that counted theirs. ``history`` says how long phases took before (:mod:`metalwright.estimation`).
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
        estimate=estimate(changes, _reboots(changes, reboots or {}), history or {}),
    )


def make_plan(desired: Iterable[Desired], node_plans: Iterable[NodePlan]) -> Plan:
    """One plan over several nodes; same inputs give the same bytes."""
    values = _wanted(list(desired))
    wanted = digest(values)
    plans = tuple(sorted(node_plans, key=lambda plan: plan.node))
    seen = digest({plan.node: {"changes": _plain(plan.changes), "refusals": plan.refusals} for plan in plans})
    whole = digest({"desired": wanted, "observed": seen, "nodes": [_without_estimate(plan) for plan in plans]})
    return Plan(digest=whole, desired=wanted, observed=seen, wanted=values, nodes=plans)


def check_still_holds(reviewed: Plan, current: Plan) -> None:
    """Refuse a plan that no longer describes the world.

    Raises:
        PlanError: names every node and change that moved.
    """
    if reviewed.digest == current.digest:
        return
    values = list(_value_differences(reviewed.wanted, current.wanted))
    moved = [*values, *_differences(reviewed, current, tell_recipes=not values)]
    told = moved[:_TOLD] + ([f"and {len(moved) - _TOLD} more"] if len(moved) > _TOLD else [])
    raise PlanError(
        "the plan no longer holds",
        expected=f"digest {reviewed.digest}",
        found="; ".join(told) or f"digest {current.digest}",
        hint="look at the differences and make a new plan: metalwright plan -o plan.json NODE…",
    )


def check_allowed(plan: Plan, allowed: Iterable[Disruption]) -> None:
    """Refuse a plan with a kind of disruption that nobody allowed.

    Raises:
        PlanError: names the kinds and the nodes.
    """
    missing = [kind for kind in plan.disruptions if kind not in set(allowed)]
    if missing:
        nodes = [item.node for item in plan.nodes if any(change.disruptive for change in item.changes)]
        raise PlanError(
            f"the plan holds a {' and a '.join(missing)} that was not allowed",
            where=", ".join(nodes[:_TOLD]),
            hint="add " + " ".join(f"--allow {kind}" for kind in missing),
        )


def verify_digest(plan: Plan) -> None:
    """Refuse a plan file whose content does not match its own digest.

    Raises:
        PlanError: the file was edited or cut.
    """
    if digest(plan.wanted) != plan.desired:
        raise PlanError("the plan file was changed after it was made", where="wanted", hint="make a new plan")
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
    usual = {Phase.FIRMWARE: 1, Phase.BIOS: 1, Phase.IMAGE: 2}
    phases = {change.phase for change in changes if change.disruptive}
    return sum(counted.get(phase, usual.get(phase, 0)) for phase in phases)


def _plain(changes: tuple[Change, ...]) -> list[dict[str, object]]:
    return [change.to_json() for change in changes]


def _without_estimate(plan: NodePlan) -> dict[str, object]:
    return {key: value for key, value in plan.to_json().items() if key not in ("estimate", "unknown")}


def _wanted(desired: list[Desired]) -> dict[str, object]:
    """Every value that the nodes are to have; what several share stands once."""
    blueprints = {item.blueprint.ref: item.blueprint for item in desired}
    return {
        "nodes": {item.node.name: item.own_values() for item in desired},
        "blueprints": {ref: blueprint.to_json() for ref, blueprint in blueprints.items()},
        "networks": {name: values for item in desired for name, values in item.networks.items()},
        "shared": dict(desired[0].shared) if desired else {},
    }


def _value_differences(reviewed: object, current: object, path: str = "") -> Iterable[str]:
    """``path: before → now`` for each value that differs. A recipe differs with what it is made from: not told."""
    if isinstance(reviewed, Mapping) and isinstance(current, Mapping):
        for key in sorted(reviewed.keys() | current.keys()):
            if key != "recipe":
                inner = f"{path}.{key}" if path else str(key)
                yield from _value_differences(reviewed.get(key), current.get(key), inner)
    elif isinstance(reviewed, list) and isinstance(current, list) and len(reviewed) == len(current):
        for index, (before, now) in enumerate(zip(reviewed, current, strict=True)):
            yield from _value_differences(before, now, f"{path}[{index}]")
    elif reviewed != current:
        yield f"{path}: {_shown(reviewed)} → {_shown(current)}"


def _shown(value: object) -> str:
    text = "not set" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _differences(reviewed: Plan, current: Plan, *, tell_recipes: bool) -> Iterable[str]:
    before = {plan.node: plan for plan in reviewed.nodes}
    now = {plan.node: plan for plan in current.nodes}
    for name in sorted(before.keys() | now.keys()):
        if name not in now or name not in before:
            yield f"{name}: {'no longer' if name not in now else 'newly'} part of the plan"
            continue
        for change in set(_described(before[name])) ^ set(_described(now[name])):
            yield f"{name}: {change}"
        if tell_recipes and before[name].recipe != now[name].recipe:
            yield f"{name}: recipe {before[name].recipe[:19]}… is now {now[name].recipe[:19]}…"


def _described(plan: NodePlan) -> Iterable[str]:
    for change in plan.changes:
        yield f"{change.phase}: {change.what} ({change.from_} → {change.to})"
