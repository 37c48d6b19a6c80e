"""Where link expressions start: what each noun means on a BMC, whatever its maker's paths are."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from metalwright.errors import BmcAnswerError, BmcRefusedError
from metalwright.redfish.adaptations import platform_of
from metalwright.redfish.collections import list_members
from metalwright.redfish.dialogue import member_uri, read
from metalwright.redfish.event_logs import noun_event_logs
from metalwright.redfish.extensions import noun_accounts, noun_lockdown, noun_syslog
from metalwright.redfish.failures import NOT_OFFERED, ODD_ANSWER
from metalwright.redfish.sessions import read_root
from metalwright.redfish.state import BmcState
from metalwright.redfish.walking import Declared, Found, Topology, follow, members_of
from metalwright.redfish.wire import Exchange, JsonObject

SETTINGS = "@Redfish.Settings"
BIOS_SETTINGS_NAMES = ("Settings", "SD", "Pending")
"""Where the settings resource lies when the BIOS resource does not say so (community.general #6433, Tacklebox #55)."""


def _root(state: BmcState, topology: Topology) -> Exchange[Found]:
    del topology
    root = yield from read_root(state)
    return Found("/redfish/v1/", root)


def _system(state: BmcState, topology: Topology) -> Exchange[Found]:
    known = yield from _still_there(state, topology.system_uri)
    if known is not None:
        return known
    root = yield from _root(state, topology)
    systems = yield from follow(state, root, "Systems")
    problems: list[str] = []
    members = yield from members_of(state, systems, problems)
    chosen = choose_system(state, members, topology.declared, problems)
    topology.system_uri = chosen.uri
    return chosen


def _still_there(state: BmcState, uri: str | None) -> Exchange[Found | None]:
    """Read a resource at the place where it was found before; None sends the caller on the way from the root again."""
    if uri is None:
        return None
    try:
        body = yield from read(state, uri)
    except BmcRefusedError as error:
        if error.status != 404:
            raise
        return None
    return Found(uri, body)


def choose_system(state: BmcState, systems: list[Found], declared: Declared, problems: list[str]) -> Found:
    """Return the host: the declared one, else the only one, else the only one that boots (a GPU baseboard does not).

    Raises BmcAnswerError rather than guess.
    """
    named = [system for system in systems if is_declared(system.value, declared)]
    if len(named) == 1:
        return named[0]
    if len(systems) == 1:
        return systems[0]
    hosts = [system for system in systems if _can_boot(system.value)]
    if len(hosts) == 1:
        return hosts[0]
    raise BmcAnswerError(
        "cannot tell which system of this BMC is the host" if systems else "this BMC lists no system",
        where=state.where("GET", "/redfish/v1/Systems"),
        expected=f"a system with UUID {declared.uuid} or serial {declared.serial}" if declared.uuid else "one system",
        found="; ".join([system.uri for system in systems] + problems) or "none",
        hint="declare serial and UUID of the node in its rack file",
    )


def is_declared(system: JsonObject, declared: Declared) -> bool:
    """Return whether a ComputerSystem is the declared one: the same UUID in either byte order, else the same serial."""
    if declared.uuid is not None and _same_uuid(str(system.get("UUID") or ""), declared.uuid):
        return True
    serial = str(system.get("SerialNumber") or "").strip()
    return declared.serial is not None and serial == declared.serial


def _same_uuid(left: str, right: str) -> bool:
    try:
        one, two = uuid.UUID(left.strip()), uuid.UUID(right.strip())
    except ValueError:
        return False
    return one == two or uuid.UUID(bytes_le=one.bytes) == two


def _can_boot(system: JsonObject) -> bool:
    boot = system.get("Boot")
    actions = system.get("Actions")
    is_bootable = isinstance(boot, Mapping) and "BootSourceOverrideTarget" in boot
    return is_bootable and isinstance(actions, Mapping) and "#ComputerSystem.Reset" in actions


def _manager(state: BmcState, topology: Topology) -> Exchange[Found]:
    known = yield from _still_there(state, topology.manager_uri)
    if known is not None:
        return known
    start = yield from _around_system(state, topology, "ManagedBy", "Managers")
    managers = yield from members_of(state, start, [])
    bmcs = [manager for manager in managers if manager.value.get("ManagerType") in ("BMC", None)] or managers
    with_network = [manager for manager in bmcs if "NetworkProtocol" in manager.value] or bmcs
    if not with_network:
        raise BmcAnswerError(
            "this BMC lists no manager", where=state.where("GET", "/redfish/v1/Managers"), hint=ODD_ANSWER
        )
    topology.manager_uri = with_network[0].uri
    return with_network[0]


def _around_system(state: BmcState, topology: Topology, link: str, collection: str) -> Exchange[Found]:
    """What the host links to; where it links to nothing, or the BMC has no host at all, the service root's list."""
    root = yield from _root(state, topology)
    if "Systems" in root.value:
        try:
            system = yield from _system(state, topology)
        except BmcAnswerError:
            systems = yield from follow(state, root, "Systems")
            if systems.value.get("Members"):
                raise
            return (yield from follow(state, root, collection))
        links = system.value.get("Links")
        found = links.get(link) if isinstance(links, Mapping) else None
        if isinstance(found, list) and found:
            return Found(system.uri, found)
    return (yield from follow(state, root, collection))


def _chassis(state: BmcState, topology: Topology) -> Exchange[Found]:
    start = yield from _around_system(state, topology, "Chassis", "Chassis")
    members = yield from members_of(state, start, [])
    if not members:
        raise BmcAnswerError("this BMC lists no chassis", where=state.where("GET", start.uri), hint=ODD_ANSWER)
    return members[0]


def _system_settings(state: BmcState, topology: Topology) -> Exchange[Found]:
    """The settings resource of the system, but only if it takes boot changes (sushy check-for-boot-attrs…)."""
    system = yield from _system(state, topology)
    uri = member_uri(system.value, SETTINGS, "SettingsObject")
    if uri is None:
        return system
    settings = yield from read(state, uri)
    return Found(uri, settings) if isinstance(settings.get("Boot"), Mapping) else system


def _bios_settings(state: BmcState, topology: Topology) -> Exchange[Found]:
    system = yield from _system(state, topology)
    bios = yield from follow(state, system, "Bios")
    uri = member_uri(bios.value, SETTINGS, "SettingsObject")
    candidates = [uri] if uri else [f"{bios.uri.rstrip('/')}/{name}" for name in BIOS_SETTINGS_NAMES]
    for candidate in candidates:
        try:
            body = yield from read(state, candidate)
        except BmcRefusedError as error:
            if error.status not in (404, 405):
                raise
            continue
        return Found(candidate, body)
    raise BmcAnswerError(
        "this BMC offers no place for BIOS changes",
        where=state.where("GET", bios.uri),
        expected="a settings resource of the BIOS",
        found="none at " + ", ".join(candidates),
        hint="update the BMC's firmware, or set the attributes in the setup menu of the machine",
    )


def _bios_jobs(state: BmcState, topology: Topology) -> Exchange[Found]:
    """The job queue that the BIOS settings resource names (Dell): changes there need a job to come into force."""
    settings = yield from _bios_settings(state, topology)
    oem = settings.value.get("Oem")
    for maker in oem.values() if isinstance(oem, Mapping) else ():
        uri = member_uri(maker, "Jobs") if isinstance(maker, Mapping) else None
        if uri is not None:
            queue = yield from read(state, uri)
            return Found(uri, queue)
    raise BmcAnswerError(
        "this BMC has no job queue for BIOS changes", where=state.where("GET", settings.uri), hint=NOT_OFFERED
    )


def _media(state: BmcState, topology: Topology) -> Exchange[Found]:
    """Virtual media moved from the manager to the system in newer firmware; where both list some the system's count."""
    system = yield from _system(state, topology)
    own: Found | None = None
    if member_uri(system.value, "VirtualMedia") is not None:
        own = yield from follow(state, system, "VirtualMedia")
        if own.value.get("Members"):
            return own
    manager = yield from _manager(state, topology)
    if own is not None and member_uri(manager.value, "VirtualMedia") is None:
        return own
    return (yield from follow(state, manager, "VirtualMedia"))


def _bios_registry(state: BmcState, topology: Topology) -> Exchange[Found]:
    system = yield from _system(state, topology)
    bios = yield from follow(state, system, "Bios")
    name = str(bios.value.get("AttributeRegistry") or "")
    root = yield from _root(state, topology)
    registries = yield from follow(state, root, "Registries")
    listed = yield from list_members(state, registries.uri)
    for member in listed.members:
        last = member.uri.rstrip("/").rsplit("/", 1)[-1]
        if not name or not (last.startswith(name) or name.startswith(last)):
            continue
        body = member.body
        if body is None:
            body = yield from read(state, member.uri)
        uri = _english(body)
        if uri is not None:
            registry = yield from read(state, uri)
            return Found(uri, registry)
    raise BmcAnswerError(
        "the attribute registry of this BIOS is not among the registries",
        where=state.where("GET", registries.uri),
        expected=name or "an AttributeRegistry named by the BIOS resource",
        found=f"{len(listed.members)} registries",
        hint="start the host once, so that the BIOS gives its registry to the BMC; or update the BMC's firmware",
    )


def _english(registry_file: JsonObject) -> str | None:
    """Return the URI of the registry's English text, or of the first one."""
    locations = registry_file.get("Location")
    places = [place for place in locations if isinstance(place, Mapping)] if isinstance(locations, list) else []
    ordered = sorted(places, key=lambda place: str(place.get("Language") or "") not in ("en", "en-US"))
    uris = [place.get("Uri") for place in ordered]
    plain = [uri.get("extref") if isinstance(uri, Mapping) else uri for uri in uris]
    return next((uri for uri in plain if isinstance(uri, str) and uri), None)


def _own_account(state: BmcState, topology: Topology) -> Exchange[Found]:
    """The account of this client; while its password must be changed, the BMC itself says where it is."""
    if state.password_change_uri is not None:
        return Found(state.password_change_uri, {})
    root = yield from _root(state, topology)
    service = yield from follow(state, root, "AccountService")
    accounts = yield from follow(state, service, "Accounts")
    members = yield from members_of(state, accounts, [])
    user = state.credentials.username if state.credentials else ""
    for member in members:
        if member.value.get("UserName") == user:
            return member
    raise BmcAnswerError(
        "the account that we log in with is not listed",
        where=state.where("GET", accounts.uri),
        expected=f"an account {user!r}",
        found=f"{len(members)} accounts",
        hint="log in with an account that may read the accounts, such as an administrator",
    )


def _behaviour(state: BmcState, topology: Topology) -> Exchange[Found]:
    yield from _root(state, topology)
    behaviour = state.behaviour
    value = {
        "vendor": behaviour.vendor,
        "quirks": list(behaviour.names),
        "virtual_cd_targets": list(behaviour.virtual_cd_targets),
        "is_boot_mode_sent": behaviour.is_boot_mode_sent,
        "http_boot_attributes": list(behaviour.http_boot_attributes),
        "learned": list(state.forms.recall(platform_of(state.root or {}, state.key))),
    }
    return Found("/redfish/v1/", value)


def _reset_info(state: BmcState, topology: Topology) -> Exchange[Found]:
    """The ActionInfo of the host's reset action, where the action itself does not list what it allows."""
    system = yield from _system(state, topology)
    actions = system.value.get("Actions")
    action = actions.get("#ComputerSystem.Reset") if isinstance(actions, Mapping) else None
    uri = action.get("@Redfish.ActionInfo") if isinstance(action, Mapping) else None
    if not isinstance(uri, str) or not isinstance(action, Mapping) or "ResetType@Redfish.AllowableValues" in action:
        raise BmcAnswerError(
            "the reset action has no ActionInfo", where=state.where("GET", system.uri), hint=NOT_OFFERED
        )
    body = yield from read(state, uri)
    return Found(uri, body)


NOUNS: Mapping[str, Callable[[BmcState, Topology], Exchange[Found]]] = {
    "root": _root,
    "system": _system,
    "manager": _manager,
    "chassis": _chassis,
    "system-settings": _system_settings,
    "bios-settings": _bios_settings,
    "bios-jobs": _bios_jobs,
    "media": _media,
    "bios-registry": _bios_registry,
    "own-account": _own_account,
    "behaviour": _behaviour,
    "accounts": noun_accounts(_root),
    "lockdown": noun_lockdown(_manager),
    "syslog": noun_syslog(_manager),
    "reset-info": _reset_info,
    "event-logs": noun_event_logs({"system": _system, "manager": _manager, "chassis": _chassis}),
}
