"""Two states of a site repository → what changes, and what it does to which nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from metalwright.addressing import purposes_of
from metalwright.model.phase import PHASES, Phase
from metalwright.model.rack import Node, Rack
from metalwright.model.repository import SiteRepository
from metalwright.model.review import AddressMove, BlueprintChange, NodeImpact, SiteChange
from metalwright.planning import place_inputs, shared_inputs
from metalwright.review.differences import blueprint_changes
from metalwright.review.site_changes import networks_and_site, racks_without_nodes

_AGAIN = (Phase.SOFTWARE, Phase.ACCEPT, Phase.READY)
"""Follow every new recipe: it is applied and proven again, even where it turns out to change nothing."""

_DRAINING = ("tests", "drain", "reboot", "re-image", "firmware")
_OUT_OF_POOL = ("quarantined", "retired", "held")
_NOT_SERVING = ("spare", "quarantined", "retired")
_IDENTITY = ("serial", "uuid", "bmc_mac")


@dataclass(frozen=True)
class Impact:
    """Everything that differs; nodes in the order of the head's racks, removed ones last."""

    changes: tuple[BlueprintChange, ...]
    site: tuple[SiteChange, ...]
    nodes: tuple[NodeImpact, ...]
    gpus_out_at_once: int
    gpus_leaving: int
    removed: tuple[str, ...]


def assess(base: SiteRepository, head: SiteRepository) -> Impact:
    """Compare two valid states of a site."""
    before = {node.name: (rack, node) for rack in base.racks for node in rack.nodes}
    after = {node.name: (rack, node) for rack in head.racks for node in rack.nodes}
    comparison = _Comparison(base, head)
    old_names = _same_machines(before, after)
    nodes = [
        comparison.renamed(before[old_names[name]][1], rack, node)
        if name in old_names
        else comparison.node(before.get(name), rack, node)
        for name, (rack, node) in after.items()
    ]
    new_names = {old: new for new, old in old_names.items()}
    gone = [
        comparison.removed(rack, node, new_names.get(name))
        for name, (rack, node) in before.items()
        if name not in after
    ]
    affected = (*(impact for impact in nodes if impact is not None), *gone)
    return Impact(
        changes=tuple(change for pair in comparison.pairs(affected) for change in comparison.changes(*pair)),
        site=(*networks_and_site(base, head), *racks_without_nodes(base, head)),
        nodes=affected,
        gpus_out_at_once=_at_once(affected, head.site.limits.parallel_nodes),
        gpus_leaving=sum(node.gpus_out for node in affected if node.leaves),
        removed=tuple(
            name
            for name, (_, node) in before.items()
            if node.state != "retired" and (name not in after or after[name][1].state == "retired")
        ),
    )


class _Comparison:
    """What all nodes share is compared once."""

    def __init__(self, base: SiteRepository, head: SiteRepository) -> None:
        self.base, self.head = base, head
        self.changes = cache(self._changes)
        is_same_lock = base.addresses is head.addresses  # equal files are one object: nothing moves
        self.addresses_before = {} if is_same_lock else _by_node(base)
        self.addresses_after = {} if is_same_lock else _by_node(head)
        self.networks = _differing_networks(base, head)
        self.is_recipe_new = base.tree_digest != head.tree_digest or shared_inputs(base) != shared_inputs(head)
        self.is_all_else_equal = is_same_lock and not self.networks and not self.is_recipe_new
        self.differing = {ref for ref, item in head.blueprints.items() if base.blueprints.get(ref) is not item}

    def _changes(self, old: str, new: str) -> tuple[BlueprintChange, ...]:
        return blueprint_changes(self.base.blueprints[old], self.head.blueprints[new])

    def pairs(self, nodes: tuple[NodeImpact, ...]) -> list[tuple[str, str]]:
        """Each pair of versions that nodes move between, once."""
        moved = ((node.base, node.blueprint) for node in nodes if node.base and node.blueprint)
        known = dict.fromkeys(pair for pair in moved if pair[1] in self.head.blueprints)
        return [(old, new) for old, new in known if old in self.base.blueprints]

    def node(self, before: tuple[Rack, Node] | None, rack: Rack, node: Node) -> NodeImpact | None:
        """What happens to a node of the head; ``None`` when nothing does."""
        is_same = before is not None and before[1] is node and before[0] is rack
        if is_same and self.is_all_else_equal and node.blueprint not in self.differing:
            return None
        moves = _moves(self.addresses_before.get(node.name, {}), self.addresses_after.get(node.name, {}))
        if before is None:
            return self._new(rack, node)
        old_rack, old = before
        changes = self.changes(old.blueprint, node.blueprint)
        networks = self._networks_of(node)
        what = [*(() if is_same else _node_words(old_rack, old, rack, node))]
        what += [f"network {name} changes" for name in networks]
        is_own_new = old is not node and old.recipe_inputs() != node.recipe_inputs()
        is_own_new |= old_rack is not rack and place_inputs(old_rack) != place_inputs(rack)
        is_recipe_new = self.is_recipe_new or is_own_new or bool(changes or moves or networks)
        if not (what or changes or moves or is_recipe_new):
            return None
        acting = is_recipe_new and _is_provisioned(node)
        phases: set[Phase] = {change.phase for change in changes if change.phase not in (None, Phase.MATCH)}
        phases |= {*_AGAIN} if acting else set()
        phases |= {Phase.MATCH} if any(change.phase is Phase.MATCH for change in changes) else set()
        phases |= {Phase.ADDRESS} if _moves_bmc(self.head, moves) else set()
        if not acting:
            phases = set()
        is_identity = old.identity != node.identity or _identity(old) != _identity(node)
        phases |= {Phase.IDENTIFY} if is_identity and acting else set()
        leaves = _leaves(old, node)
        drain = leaves or (acting and (Phase.ACCEPT in phases or any(change.risk in _DRAINING for change in changes)))
        return NodeImpact(
            node=node.name,
            rack=rack.name,
            blueprint=node.blueprint,
            base=old.blueprint,
            what=tuple(what) or _recipe_words(changes, is_recipe_new),
            phases=tuple(phase for phase in PHASES if phase in phases),
            reboots=_reboots(changes) if acting else 0,
            reimage=acting and any(change.risk == "re-image" for change in changes),
            drain=drain,
            gpus_out=_serving_gpus(self.base, old) if drain else 0,
            leaves=leaves,
            addresses=moves,
            networks=networks if acting else (),
        )

    def _new(self, rack: Rack, node: Node) -> NodeImpact:
        return NodeImpact(
            node=node.name, rack=rack.name, blueprint=node.blueprint, what=("is new: every phase",),
            phases=PHASES if _is_provisioned(node) else (), reboots=None, reimage=_is_provisioned(node),
            drain=False, gpus_out=0, addresses=_moves({}, self.addresses_after.get(node.name, {})),
        )  # fmt: skip

    def renamed(self, old: Node, rack: Rack, node: Node) -> NodeImpact:
        """A new name for a machine that has another in the base: for metalwright a new node, for its workload not."""
        new = self._new(rack, node)
        leaves = _leaves(old, node)
        drain = new.reimage or leaves
        loses = ", which loses its workload and its system" if new.reimage else ""
        words = (*new.what, f"it is the machine of {old.name}{loses}")
        gpus = _serving_gpus(self.base, old) if drain else 0
        return new.model_copy(update={"what": words, "drain": drain, "gpus_out": gpus, "leaves": leaves})

    def removed(self, rack: Rack, node: Node, new_name: str | None) -> NodeImpact:
        """A node of the base alone. A machine that goes on under another name counts its GPUs there."""
        is_gone = new_name is None
        what = "is removed from the inventory; "
        what += "the machine itself is left as it is" if is_gone else f"its machine becomes {new_name}"
        return NodeImpact(
            node=node.name, rack=rack.name, blueprint="", base=node.blueprint, what=(what,),
            gpus_out=_serving_gpus(self.base, node) if is_gone else 0,
            leaves=is_gone and node.state not in _NOT_SERVING,
            addresses=_moves(self.addresses_before.get(node.name, {}), self.addresses_after.get(node.name, {})),
        )  # fmt: skip

    def _networks_of(self, node: Node) -> tuple[str, ...]:
        """The networks that change and that the node joins."""
        if not self.networks:
            return ()
        joined = purposes_of(node, self.head.blueprints[node.blueprint])
        return tuple(name for purpose, name in self.networks.items() if purpose in joined)


def _same_machines(before: Mapping[str, tuple[Rack, Node]], after: Mapping[str, tuple[Rack, Node]]) -> dict[str, str]:
    """New name → old name of machines that have the same serial, UUID or BMC MAC under another name."""
    gone = {
        (key, value): name
        for name, (_, node) in before.items()
        if name not in after
        for key, value in zip(_IDENTITY, _identity(node), strict=True)
        if value is not None
    }
    found: dict[str, str] = {}
    for name, (_, node) in after.items() if gone else ():
        keys = zip(_IDENTITY, _identity(node), strict=True)
        old = next((gone[key] for key in keys if key in gone), None)
        if name not in before and old is not None and old not in found.values():
            found[name] = old
    return found


def _leaves(old: Node, node: Node) -> bool:
    """Whether a node that serves is wanted in a state in which it does not."""
    return old.state not in _NOT_SERVING and node.state in _NOT_SERVING


def _node_words(old_rack: Rack, old: Node, rack: Rack, node: Node) -> Iterator[str]:
    if old.blueprint != node.blueprint:
        yield f"{old.blueprint} → {node.blueprint}"
    if old.state != node.state:
        yield f"wanted state {old.state} → {node.state}"
    if (old_rack.name, old.unit) != (rack.name, node.unit):
        yield f"moves from {_place(old_rack, old)} to {_place(rack, node)}"
    for key in _IDENTITY:
        was, becomes = getattr(old, key), getattr(node, key)
        if was != becomes:
            yield f"identity: {key} {was or 'none'} → {becomes or 'none'}"
    if old.system_disk != node.system_disk:
        yield "another disk is named as system disk; it counts when the disk is next written"
    if old.ports != node.ports:
        yield "its network ports are declared differently"
    if old.cords != node.cords:
        yield "its power cords are declared differently"


def _place(rack: Rack, node: Node) -> str:
    return f"{rack.name} unit {node.unit}" if node.unit is not None else rack.name


def _recipe_words(changes: tuple[BlueprintChange, ...], is_recipe_new: bool) -> tuple[str, ...]:
    if changes or not is_recipe_new:
        return ()
    return ("same blueprint, other settings or templates: applied and proven again",)


def _reboots(changes: tuple[BlueprintChange, ...]) -> int | None:
    """One reset serves all BIOS attributes; writing a disk takes two. Unknown where any part is."""
    if any(change.reboots is None for change in changes):
        return None
    by_phase: dict[Phase | None, int] = {}
    for change in changes:
        by_phase[change.phase] = max(by_phase.get(change.phase, 0), change.reboots or 0)
    return sum(by_phase.values())


def _identity(node: Node) -> tuple[str | None, ...]:
    return node.serial, node.uuid, node.bmc_mac


def _is_provisioned(node: Node) -> bool:
    return node.state not in _OUT_OF_POOL


def _serving_gpus(base: SiteRepository, old: Node) -> int:
    """The GPUs that the node has before the change: those of a class that it only becomes never served."""
    gpus = base.blueprints[old.blueprint].hardware.gpus
    return gpus.count if gpus is not None and old.state not in _NOT_SERVING else 0


def _at_once(nodes: tuple[NodeImpact, ...], parallel: int) -> int:
    """The worst case: all that leave, and of the others the largest together, as many as are worked on at once."""
    leaving = sum(node.gpus_out for node in nodes if node.leaves)
    return leaving + sum(sorted((node.gpus_out for node in nodes if not node.leaves), reverse=True)[:parallel])


def _by_node(repository: SiteRepository) -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for item in repository.addresses.allocations:
        if item.freed is None:
            key = item.network if item.version == 4 else f"{item.network} (IPv6)"
            found.setdefault(item.node, {})[key] = item.address
    return found


def _moves(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[AddressMove, ...]:
    if before == after:
        return ()
    return tuple(
        AddressMove(network=name, from_=before.get(name), to=after.get(name))
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    )


def _moves_bmc(repository: SiteRepository, moves: tuple[AddressMove, ...]) -> bool:
    network = repository.network_of_purpose("oob-management") if moves else None
    return network is not None and any(move.network == network.name for move in moves)


def _differing_networks(base: SiteRepository, head: SiteRepository) -> dict[str, str]:
    """Purpose → name of those of which nodes notice the difference."""
    before = {network.purpose: network.seen_by_nodes for network in base.networks}
    return {
        network.purpose: network.name
        for network in head.networks
        if before.get(network.purpose) not in (None, network.seen_by_nodes)
    }
