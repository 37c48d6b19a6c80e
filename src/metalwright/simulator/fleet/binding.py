"""Which resources of a tree live: found once per tree, by their types and actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from metalwright.simulator.fleet.living import BINDERS, logs
from metalwright.simulator.fleet.tree import NOT_JSON, Tree
from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import ROOT
from metalwright.simulator.service.resources import accounts, session_service, tasks
from metalwright.simulator.service.resources.jobs import JobQueue
from metalwright.simulator.service.routes import Call, Patch, Route, RouteTable, Write

if TYPE_CHECKING:
    from metalwright.simulator.fleet.bmc import TreeBmc

Live = Callable[[Call, Json], None]
_SERVICES = (f"{ROOT}/SessionService", f"{ROOT}/AccountService", f"{ROOT}/TaskService")


@dataclass
class Bindings:
    """What lives in a tree: changes of bodies at each read, writable resources, actions, what a power-on does."""

    tree: Tree
    host: str = ""
    live: dict[str, list[Live]] = field(default_factory=dict)
    patches: dict[str, Patch] = field(default_factory=dict)
    creates: dict[str, Write] = field(default_factory=dict)
    raw_creates: set[str] = field(default_factory=set)
    power_on: list[Callable[[TreeBmc], None]] = field(default_factory=list)
    jobs: str = ""
    settings: str = ""
    log: str = ""
    moved: list[str] = field(default_factory=list)
    open_when_locked: set[str] = field(default_factory=set)

    def lives(self, path: str, change: Live) -> None:
        """Let ``change`` bring the body up to date at each read."""
        self.live.setdefault(path.rstrip("/"), []).append(change)

    def acts(self, body: Json, action: str, handler: Write) -> bool:
        """Bind an action where the body offers it; whether it does."""
        offered = body.get("Actions", {})
        target = offered.get(action, {}).get("target") if isinstance(offered, dict) else None
        if isinstance(target, str):
            self.creates[target.rstrip("/")] = handler
        return isinstance(target, str)


class TreeRoutes:
    """Finds the resource of a path in a tree; one for all BMCs of the tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.bindings = Bindings(tree, host=_find_host(tree))
        bodies = tree.bodies()
        for path, body in bodies:
            kind = str(body.get("@odata.type", "")).lstrip("#").partition(".")[0]
            for binder in BINDERS.get(kind, ()):
                binder(self.bindings, path, body)
        self.queue = JobQueue(self.bindings.jobs, self.bindings.settings) if self.bindings.jobs else None
        queue = self.queue.routes() if self.queue is not None else []
        self._services = RouteTable([*session_service.routes(), *accounts.routes(), *tasks.routes(), *queue])
        self._at_services = (*_SERVICES, *((self.queue.path, self.queue.service) if self.queue is not None else ()))
        self._routes: dict[str, Route] = {}
        self.begins_on = tree.is_captured and bool(self.bindings.host) and _is_on(tree.body(self.bindings.host))

    def power_on(self, bmc: TreeBmc) -> None:
        """What happens to a BMC's resources when the host is powered on."""
        for act in self.bindings.power_on:
            act(bmc)

    def uris(self) -> list[str]:
        """Every path that is there from the first: resources, actions, services."""
        fixed = [route.path for route in self._services.routes if "{" not in route.path]
        return [*self.tree.texts, *self.bindings.creates, *fixed]

    def growing(self) -> set[str]:
        """The last segments of collections whose members come and go: ``Sessions/``, ``Accounts/``, ``Entries/``."""
        members = [route.path.partition("/{")[0] for route in self._services.routes if "{" in route.path]
        return {f"{path.rstrip('/').rpartition('/')[2]}/" for path in (*members, self.bindings.log) if path}

    def find(self, path: str) -> tuple[Route, dict[str, str]]:
        """The route of a path; raises :class:`~metalwright.simulator.service.answers.Refusal` (404)."""
        if path.startswith(self._at_services):
            return self._services.find(path)
        path = path.rstrip("/") or "/"
        spelled = self.tree.find(path) or path
        route = self._routes.get(spelled)
        if route is None:
            route = self._make(spelled)
            if spelled in self.tree.texts or route.create is not None:
                self._routes[spelled] = route
        return route, {}

    def _make(self, path: str) -> Route:
        is_there = path in self.tree.texts
        create = self.bindings.creates.get(path)
        if not is_there and create is None:
            is_entry = bool(self.bindings.log) and path.startswith(f"{self.bindings.log}/")
            return Route(path, read=_read_entry if is_entry else _read_missing)
        text = self.tree.body(path).get(NOT_JSON) if is_there and isinstance(self.tree.body(path), dict) else None
        return Route(
            path,
            read=self._reader(path) if is_there else None,
            patch=self.bindings.patches.get(path),
            create=create,
            is_anonymous=path in ("/redfish", ROOT, f"{ROOT}/odata", f"{ROOT}/$metadata"),
            is_volatile="/LogServices/" in path,
            content_type="application/json"
            if text is None
            else "application/xml"
            if "metadata" in path
            else "text/html",
            takes_bytes=path in self.bindings.raw_creates,
            is_open_when_locked=path in self.bindings.open_when_locked,
        )

    def _reader(self, path: str) -> Callable[[Call], Any]:
        changes = tuple(self.bindings.live.get(path, ()))
        pages = {key for key in self.tree.texts if key.startswith(f"{path}?")}

        def read(call: Call) -> Any:
            bmc = _own(call)
            asked = f"{path}?{'&'.join(f'{name}={value}' for name, value in call.query.items())}"
            body = bmc.body(asked if asked in pages else path)
            if isinstance(body, dict) and NOT_JSON in body:
                return body[NOT_JSON]
            for change in changes:
                change(call, body)
            return body

        return read


def _read_missing(call: Call) -> Any:
    raise refuse("ResourceMissingAtURI", call.path)


def _read_entry(call: Call) -> Any:
    entry = logs.find_entry(call.path, call)
    if entry is None:
        raise refuse("ResourceMissingAtURI", call.path)
    return entry


def _own(call: Call) -> TreeBmc:
    bmc: Any = call.bmc
    found: TreeBmc = bmc
    return found


def _is_on(system: Json) -> bool:
    """Whether a captured host was on; one that says nothing of its power was."""
    return str(system.get("PowerState", "On")).lower() not in ("off", "false")


def _find_host(tree: Tree) -> str:
    """The system that is powered: the first one with BIOS or virtual media, else the first with a reset action."""
    systems = [
        (path, body)
        for path, body in tree.bodies()
        if str(body.get("@odata.type", "")).startswith("#ComputerSystem.")
        and "#ComputerSystem.Reset" in body.get("Actions", {})
    ]
    first = [path for path, body in systems if "Bios" in body] + [path for path, _ in systems]
    return first[0] if first else ""
