"""Everything that one BMC manages, read once: its systems, chassis and managers, and what belongs to which host."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from metalwright.errors import BmcAnswerError
from metalwright.redfish.inventory.resource import Resource
from metalwright.redfish.inventory.walk import Listing, Walk, together

SERVICE_ROOT = "/redfish/v1/"

SystemKind = Literal["host", "baseboard", "dpu", "switch", "template"]

_DPU = re.compile(r"bluefield|smartnic|\bdpu\b|\bipu\b|octeon|pensando", re.IGNORECASE)
_BASEBOARD = re.compile(r"baseboard|\bhgx\b|\bubb\b", re.IGNORECASE)
_COMPONENTS = frozenset({"component", "module", "card", "cartridge", "expansion", "ipbaseddrive", "storageenclosure"})
_BOXES = ("rackmount", "standalone", "blade", "sled", "shelf", "drawer", "enclosure", "other")


@dataclass(frozen=True)
class Host:
    """One host system with the chassis around it, the managers of it, and the baseboards that serve it."""

    system: Resource
    chassis: tuple[Resource, ...]
    managers: tuple[Resource, ...]
    baseboards: tuple[Resource, ...]
    is_alone: bool

    @property
    def box(self) -> Resource | None:
        """The chassis that a technician would call the machine."""
        linked = [target.rstrip("/") for target in self.system.links("Links", "Chassis")]
        return min(self.chassis, key=lambda chassis: _box_rank(chassis, linked), default=None)

    @property
    def is_off(self) -> bool:
        """Whether the host is not running, so that what its firmware reports may be missing or old."""
        state = self.system.raw("PowerState")
        return isinstance(state, str) and state.casefold() in ("off", "poweringon")

    @property
    def enclosing_chassis(self) -> tuple[Resource, ...]:
        """The chassis that can hold power supplies: not boards, cards and modules."""
        return tuple(chassis for chassis in self.chassis if _type_of(chassis) not in _COMPONENTS)


@dataclass(frozen=True)
class Estate:
    """The service root, the hosts, and the managers of one BMC."""

    root: Resource
    hosts: tuple[Host, ...]
    managers: tuple[Resource, ...]


async def read_estate(walk: Walk, with_chassis: bool = True) -> Estate:
    """Read root, systems, managers and (unless told otherwise) chassis, and find the hosts among the systems.

    Raises:
        BmcAnswerError: the service root or the list of systems cannot be read, so nothing can be said.
    """
    root = await walk.resource(SERVICE_ROOT)
    if root is None:
        raise BmcAnswerError("the service root cannot be read", where=f"GET {SERVICE_ROOT}", found=_why(walk))
    systems, managers, chassis = await together(
        walk.listing(root.link(name) if wanted else None)
        for name, wanted in (("Systems", True), ("Managers", True), ("Chassis", with_chassis))
    )
    if systems.uri is not None and not systems.is_known:
        raise BmcAnswerError("the list of systems cannot be read", where=f"GET {systems.uri}", found=_why(walk))
    if systems.unreadable and not systems.resources:
        raise BmcAnswerError("no listed system can be read", where=f"GET {systems.uri}", found=_why(walk))
    return Estate(root, _hosts(systems, managers, chassis), managers.resources)


def kind_of(system: Resource, others: Sequence[Resource]) -> SystemKind:
    """Tell the host from what BMCs also list as a ComputerSystem.

    A host has firmware set-up (Bios, BiosVersion, Boot). Without it, a system beside one that has it is a
    baseboard; one that counts no processors and no memory is a switch or shelf. A DPU names itself.
    """
    if any(name.endswith("@Redfish.RequiredOnCreate") for name in system.body):
        return "template"
    if str(system.raw("SystemType")).casefold() == "dpu" or any(
        _DPU.search(text) for text in (system.id, system.text("Model") or "", system.text("Name") or "")
    ):
        return "dpu"
    if _has_set_up(system):
        return "host"
    if _BASEBOARD.search(system.id) or any(_has_set_up(other) for other in others):
        return "baseboard"
    counts_nothing = system.count("ProcessorSummary", "Count") == 0 and not system.number(
        "MemorySummary", "TotalSystemMemoryGiB"
    )
    return "switch" if counts_nothing and system.raw("MemorySummary") is not None else "host"


def _has_set_up(system: Resource) -> bool:
    return system.link("Bios") is not None or system.text("BiosVersion") is not None


def _hosts(systems: Listing, managers: Listing, chassis: Listing) -> tuple[Host, ...]:
    kinds = {
        system.uri: kind_of(system, [other for other in systems.resources if other is not system])
        for system in systems.resources
    }
    hosts = [system for system in systems.resources if kinds[system.uri] == "host"]
    baseboards = tuple(system for system in systems.resources if kinds[system.uri] == "baseboard")
    alone = len(hosts) == 1
    return tuple(
        Host(
            system=system,
            chassis=_chassis_of(system, hosts, chassis.resources),
            managers=_managers_of(system, managers.resources),
            baseboards=baseboards if alone else (),
            is_alone=alone,
        )
        for system in hosts
    )


def _chassis_of(system: Resource, hosts: Sequence[Resource], chassis: Sequence[Resource]) -> tuple[Resource, ...]:
    """With one host everything is its own; with several, what links to it or bears its name, and what is shared."""
    if len(hosts) == 1:
        return tuple(chassis)
    owners = {item.uri: [host.uri for host in hosts if _belongs(item, host)] for item in chassis}
    return tuple(item for item in chassis if not owners[item.uri] or system.uri in owners[item.uri])


def _belongs(chassis: Resource, system: Resource) -> bool:
    forth = {target.rstrip("/") for target in system.links("Links", "Chassis")}
    back = {target.rstrip("/") for target in chassis.links("Links", "ComputerSystems")}
    return chassis.uri.rstrip("/") in forth or system.uri.rstrip("/") in back or chassis.id == system.id


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


def _why(walk: Walk) -> str | None:
    return walk.problems[-1].what if walk.problems else None
