"""Everything that one BMC manages, read once: its systems, chassis and managers, and what belongs to which host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from metalwright.errors import BmcAnswerError, RedfishError
from metalwright.redfish.failures import ODD_ANSWER
from metalwright.redfish.inventory.kinds import SystemKind, counts_nothing, is_bare_and_off, kinds_of
from metalwright.redfish.inventory.resource import Resource
from metalwright.redfish.inventory.walk import Listing, Walk, together

SERVICE_ROOT = "/redfish/v1/"

_COMPONENTS = frozenset({"component", "module", "card", "cartridge", "expansion", "ipbaseddrive", "storageenclosure"})
_BOXES = ("rackmount", "standalone", "blade", "sled", "shelf", "drawer", "enclosure", "other")


@dataclass(frozen=True)
class Host:
    """One host system with the chassis around it, the managers of it, and the baseboards that serve it.

    ``chassis`` are its own, ``shared`` those around several hosts: an enclosure holds their power supplies, and what
    else it holds is nobody's unless a system links to it. ``has_hidden_systems``: there are systems that cannot be
    read, or GPU baseboards of which nothing tells to which of several hosts they belong.
    """

    system: Resource
    chassis: tuple[Resource, ...]
    managers: tuple[Resource, ...]
    baseboards: tuple[Resource, ...] = ()
    shared: tuple[Resource, ...] = ()
    has_hidden_systems: bool = False

    @property
    def box(self) -> Resource | None:
        """The chassis that a technician would call the machine."""
        linked = [target.rstrip("/") for target in self.system.links("Links", "Chassis")]
        return min((*self.chassis, *self.shared), key=lambda chassis: _box_rank(chassis, linked), default=None)

    @property
    def is_off(self) -> bool:
        """Whether the host is not running, so that what its firmware reports may be missing or old."""
        state = self.system.raw("PowerState")
        return isinstance(state, str) and state.casefold() in ("off", "poweringon")

    @property
    def enclosing_chassis(self) -> tuple[Resource, ...]:
        """The chassis that can hold power supplies: not boards, cards and modules."""
        around = (*self.chassis, *self.shared)
        return tuple(chassis for chassis in around if _type_of(chassis) not in _COMPONENTS) or around


@dataclass(frozen=True)
class Estate:
    """The service root, the hosts, and the managers of one BMC.

    ``others`` are its systems that are no hosts, ``kinds`` the kind of every system by URI.
    """

    root: Resource
    hosts: tuple[Host, ...]
    managers: tuple[Resource, ...]
    others: tuple[Resource, ...] = ()
    kinds: Mapping[str, SystemKind] = field(default_factory=dict)


async def read_estate(walk: Walk, with_chassis: bool = True) -> Estate:
    """Read root, systems, managers and (unless told otherwise) chassis, and find the hosts among the systems.

    Raises:
        RedfishError: the service root or the list of systems cannot be read, so nothing can be said.
    """
    root = await walk.resource(SERVICE_ROOT)
    if root is None:
        raise _unreadable(walk, "the service root cannot be read", SERVICE_ROOT)
    walk.offer_expand(root)
    systems, managers, chassis = await together(
        walk.listing(root.link(name) if wanted else None)
        for name, wanted in (("Systems", True), ("Managers", True), ("Chassis", with_chassis))
    )
    if systems.uri is not None and not systems.is_known:
        raise _unreadable(walk, "the list of systems cannot be read", systems.uri)
    if systems.unreadable and not systems.resources:
        raise _unreadable(walk, "no listed system can be read", *systems.unreadable)
    if not with_chassis and any(map(is_bare_and_off, systems.resources)):
        chassis = await walk.listing(root.link("Chassis"))
    empty = [system for system in systems.resources if counts_nothing(system)] if not with_chassis else ()
    around = await walk.linked(target for system in empty for target in system.links("Links", "Chassis"))
    kinds = kinds_of(systems.resources, root, chassis.resources or around.resources)
    others = tuple(system for system in systems.resources if kinds[system.uri] not in ("host", "template"))
    if not with_chassis:
        chassis = Listing(uri=None)
    return Estate(root, _hosts(kinds, systems, managers, chassis), managers.resources, others, kinds)


def _hosts(kinds: Mapping[str, SystemKind], systems: Listing, managers: Listing, chassis: Listing) -> tuple[Host, ...]:
    hosts = [system for system in systems.resources if kinds[system.uri] == "host"]
    baseboards = tuple(system for system in systems.resources if kinds[system.uri] == "baseboard")
    if len(hosts) == 1:
        (system,) = hosts
        own = _managers_of(system, managers.resources)
        return (Host(system, chassis.resources, own, baseboards, has_hidden_systems=bool(systems.unreadable)),)
    owners = _owners(hosts, chassis.resources)
    shared = tuple(item for item in chassis.resources if len(owners[_key(item)]) != 1)
    return tuple(
        Host(
            system=system,
            chassis=tuple(item for item in chassis.resources if owners[_key(item)] == {_key(system)}),
            managers=_managers_of(system, managers.resources),
            shared=shared,
            has_hidden_systems=bool(baseboards or systems.unreadable),
        )
        for system in hosts
    )


def _owners(hosts: Sequence[Resource], chassis: Sequence[Resource]) -> dict[str, set[str]]:
    """Which hosts each chassis is of: those that it is linked with, else those of the chassis that contains it."""
    direct = {_key(item): {_key(host) for host in hosts if _belongs(item, host)} for item in chassis}
    parents = {_key(item): _keys(item.links("Links", "ContainedBy")) for item in chassis}
    for item in chassis:
        for child in _keys(item.links("Links", "Contains")):
            parents.setdefault(child, []).append(_key(item))
    return {uri: _inherited(uri, direct, parents, set()) for uri in direct}


def _inherited(uri: str, direct: dict[str, set[str]], parents: dict[str, list[str]], seen: set[str]) -> set[str]:
    if direct.get(uri) or uri in seen:
        return direct.get(uri, set())
    seen.add(uri)
    return {owner for parent in parents.get(uri, ()) for owner in _inherited(parent, direct, parents, seen)}


def _key(resource: Resource) -> str:
    return resource.uri.rstrip("/")


def _keys(targets: Sequence[str]) -> list[str]:
    return [target.rstrip("/") for target in targets]


def _belongs(chassis: Resource, system: Resource) -> bool:
    is_linked = _key(chassis) in _keys(system.links("Links", "Chassis"))
    return is_linked or _key(system) in _keys(chassis.links("Links", "ComputerSystems")) or chassis.id == system.id


def _managers_of(system: Resource, managers: Sequence[Resource]) -> tuple[Resource, ...]:
    """The BMC first: the system's own manager, else one that says it manages it, else by type."""
    own = [target.rstrip("/") for target in system.links("Links", "ManagedBy")]

    def rank(manager: Resource) -> tuple[bool, bool, bool]:
        servers = {target.rstrip("/") for target in manager.links("Links", "ManagerForServers")}
        kind = manager.text("ManagerType") or ""
        return (
            manager.uri.rstrip("/") not in own,
            system.uri.rstrip("/") not in servers,
            kind not in ("BMC", "ManagementController", "EnclosureManager"),
        )

    return tuple(sorted(managers, key=rank))


def _type_of(chassis: Resource) -> str:
    return (chassis.text("ChassisType") or "").casefold()


def _box_rank(chassis: Resource, linked: Sequence[str]) -> tuple[int, int]:
    kind = _type_of(chassis)
    is_box = (kind in _BOXES and kind != "enclosure") or (kind == "enclosure" and chassis.uri.rstrip("/") in linked)
    is_linked = chassis.uri.rstrip("/") in linked
    return (
        0 if is_box and is_linked else 1 if is_box else 2 if is_linked else 3,
        _BOXES.index(kind) if kind in _BOXES else 99,
    )


def _unreadable(walk: Walk, what: str, *uris: str) -> RedfishError:
    """Say ``what`` of the first of ``uris`` that failed, with the request and the BMC's own words."""
    error = walk.why(*uris)
    if error is None:
        last = walk.problems[-1].what if walk.problems else None
        return BmcAnswerError(what, where=f"GET {uris[0]}", found=last, hint=ODD_ANSWER)
    error.what = f"{what}: {error.what}"
    return error
