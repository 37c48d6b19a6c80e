"""What a resource is, and how a path finds it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from metalwright.simulator.service.answers import Json, Message, Refusal, refuse

if TYPE_CHECKING:
    from metalwright.simulator.service.bmc import Bmc
    from metalwright.simulator.state import Account


@dataclass(frozen=True)
class Call:
    """One request on its way to a resource. ``account`` is None for anonymous requests; ``raw`` is its body."""

    bmc: Bmc
    path: str
    params: Mapping[str, str]
    body: Json
    account: Account | None
    host: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes = b""


@dataclass(frozen=True)
class Answer:
    """A successful answer; ``body`` None means 204."""

    body: Json | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Read = Callable[[Call], Any]
Write = Callable[[Call], Awaitable[Answer]]
Check = Callable[[Any], str | None]


@dataclass(frozen=True)
class Field:
    """A property that a client may write: its JSON type, its allowed values, and a further check.

    ``check`` returns the key of a Base message, or None when the value is fine.
    """

    kind: type | tuple[type, ...]
    choices: tuple[Any, ...] = ()
    check: Check | None = None

    def judge(self, name: str, value: Any) -> Message | None:
        """The message that refuses ``value``, or None."""
        shown = "******" if name == "Password" else str(value)
        wrong_type = not isinstance(value, self.kind) or (isinstance(value, bool) and self.kind is int)
        if wrong_type:
            return Message("PropertyValueTypeError", (shown, name), name)
        if self.choices and value not in self.choices:
            return Message("PropertyValueNotInList", (shown, name), name)
        key = self.check(value) if self.check is not None else None
        if key is None:
            return None
        return Message(key, (shown, name), name)


@dataclass(frozen=True)
class Patch:
    """The writable properties of a resource (dotted paths) and what applies them, all or none."""

    fields: Mapping[str, Field]
    apply: Callable[[Call, Json], Awaitable[Answer | None]]

    async def run(self, call: Call, current: Json) -> Answer:
        """Check every property of the body, then apply; raises :class:`Refusal`."""
        values, messages = self._collect(call.body, current, "")
        if messages:
            raise Refusal(tuple(messages), status=400)
        if not values:
            raise refuse("NoOperation")
        answer = await self.apply(call, values)
        return answer if answer is not None else Answer(status=204)

    def _collect(self, body: Json, current: Json, prefix: str) -> tuple[Json, list[Message]]:
        values: Json = {}
        messages: list[Message] = []
        for key, value in body.items():
            if key.startswith("@odata."):
                continue
            name = f"{prefix}{key}"
            declared = self.fields.get(name)
            if declared is not None:
                message = declared.judge(name, value)
                values[name] = value
                messages.extend([message] if message is not None else [])
            elif isinstance(value, dict) and isinstance(current.get(key), dict):
                inner, more = self._collect(value, current[key], f"{name}.")
                values.update(inner)
                messages.extend(more)
            else:
                known = "PropertyNotWritable" if key in current else "PropertyUnknown"
                messages.append(Message(known, (name,), name))
        return values, messages


@dataclass(frozen=True)
class Route:
    """One resource, collection or action. ``path`` may hold ``{names}``; what is None is answered with 405.

    ``read`` returns an object, or text when ``content_type`` is another one than JSON. With ``takes_bytes`` the body
    of a POST is not JSON; ``create`` finds it in :attr:`Call.raw`.
    """

    path: str
    read: Read | None = None
    patch: Patch | None = None
    create: Write | None = None
    delete: Write | None = None
    is_anonymous: bool = False
    is_anonymous_create: bool = False
    is_volatile: bool = False
    is_open_when_locked: bool = False
    content_type: str = "application/json"
    takes_bytes: bool = False

    @property
    def allow(self) -> str:
        """The Allow header."""
        offered = {"GET": self.read, "HEAD": self.read, "PATCH": self.patch, "POST": self.create, "DELETE": self.delete}
        return ", ".join(method for method, handler in offered.items() if handler is not None)


class RouteTable:
    """Finds the route of a path; a trailing slash does not matter."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = list(routes)
        self._patterns = [(_pattern(route.path), route) for route in self.routes]

    def find(self, path: str) -> tuple[Route, dict[str, str]]:
        """The route and its parameters; raises :class:`Refusal` (404)."""
        wanted = path.rstrip("/")
        for pattern, route in self._patterns:
            match = pattern.fullmatch(wanted)
            if match is not None:
                return route, match.groupdict()
        raise refuse("ResourceMissingAtURI", path)


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", path.rstrip("/"))
    texts = [f"(?P<{part}>[^/]+)" if odd % 2 else re.escape(part) for odd, part in enumerate(parts)]
    return re.compile("".join(texts))


def collection(path: str, kind: str, name: str, members: Iterable[str]) -> Json:
    """A resource collection whose members are the given last URI segments."""
    links = [{"@odata.id": f"{path}/{member}"} for member in members]
    return {
        "@odata.id": path,
        "@odata.type": f"#{kind}Collection.{kind}Collection",
        "Name": name,
        "Members@odata.count": len(links),
        "Members": links,
    }


def listing(path: str, kind: str, name: str, members: Iterable[str] | Callable[[Call], Iterable[str]]) -> Route:
    """The route of a read-only collection; ``members`` may depend on the BMC."""
    return Route(path, read=lambda call: collection(path, kind, name, members(call) if callable(members) else members))


def link(path: str) -> Json:
    """A reference to another resource."""
    return {"@odata.id": path}
