"""One Redfish resource and tolerant access to its properties. Nothing here raises on odd content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from metalwright.model.report import CRITICAL
from metalwright.redfish.inventory import values
from metalwright.redfish.inventory.values import Odd

T = TypeVar("T")

Note = Callable[[str, str], None]
"""Takes (URI, what is wrong) and keeps it as a problem of the report."""

UNKNOWN = "unknown"
"""The last word of a problem that says so; the report adds the power state of the host to it."""

_ABSENT_STATES = frozenset({"absent"})


@dataclass(frozen=True, eq=False)
class Resource:
    """A body that the BMC gave for ``uri``; ``note`` receives what was odd in it."""

    uri: str
    body: Mapping[str, Any]
    note: Note

    @property
    def id(self) -> str:
        """The last segment of the URI."""
        return self.uri.partition("?")[0].rstrip("/").rpartition("/")[2]

    def raw(self, *path: str) -> Any:
        """The value under a path of property names, ``None`` where any part is missing or not an object."""
        value: Any = self.body
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def text(self, *path: str) -> str | None:
        """A text, ``None`` if it is absent or says nothing."""
        return self._kept(values.text_of, path)

    def identity(self, *path: str) -> str | None:
        """A text that tells machines or parts apart: filler values are ``None``."""
        return self._kept(values.identity_of, path)

    def mac(self, *path: str) -> str | None:
        """A six-octet MAC in normal form."""
        return self._kept(values.mac_of, path)

    def uuid(self, *path: str) -> str | None:
        """A UUID in normal form."""
        return self._kept(values.uuid_of, path)

    def number(self, *path: str) -> float | None:
        """A number."""
        return self._kept(values.number_of, path)

    def count(self, *path: str) -> int | None:
        """A whole number of zero or more."""
        number = self.number(*path)
        return int(number) if number is not None and number >= 0 else None

    def positive(self, *path: str) -> int | None:
        """A whole number of one or more: BMCs write 0 where they do not know."""
        return self.count(*path) or None

    def link(self, *path: str) -> str | None:
        """The target of a link property: ``{"@odata.id": …}``, or the first of a list of them."""
        targets = self.links(*path)
        return targets[0] if targets else None

    def links(self, *path: str) -> tuple[str, ...]:
        """The targets of a list of links, each once, in order."""
        return targets_of(self.raw(*path))

    def objects(self, *path: str) -> tuple[Resource, ...]:
        """The objects of an embedded list (``Devices``, ``PowerSupplies``), as resources of their own."""
        value = self.raw(*path)
        items = value if isinstance(value, list) else [value]
        return tuple(
            Resource(link_of(item) or f"{self.uri}#/{'/'.join(path)}/{index}", item, self.note)
            for index, item in enumerate(items)
            if isinstance(item, Mapping)
        )

    def part(self, *path: str) -> Resource:
        """An embedded object as a resource; empty where it is missing."""
        value = self.raw(*path)
        return Resource(self.uri, value if isinstance(value, Mapping) else {}, self.note)

    @property
    def state(self) -> str | None:
        """``Status.State`` in lower case."""
        state = self.raw("Status", "State")
        return state.strip().casefold() if isinstance(state, str) else None

    @property
    def is_absent(self) -> bool:
        """Whether the BMC says that the slot is empty."""
        return self.state in _ABSENT_STATES

    @property
    def slot(self) -> str:
        """Where a technician finds the part: its service label, else its socket or locator, else its id."""
        return (
            self.text("Location", "PartLocation", "ServiceLabel")
            or self.text("PhysicalLocation", "PartLocation", "ServiceLabel")
            or self.text("Slot", "Location", "PartLocation", "ServiceLabel")
            or self.text("DeviceLocator")
            or self.text("Socket")
            or self.id
        )

    def note_unknown(self, **fields: object) -> None:
        """Record the properties of a present part that the BMC does not tell: those given as ``None``."""
        unknown = [name for name, value in fields.items() if value is None]
        if unknown:
            self.note(self.uri, f"{', '.join(unknown)} {UNKNOWN}")

    def note_health(self) -> None:
        """Record a present part that calls itself critical: it counts, but somebody should look."""
        health = self.raw("Status", "Health")
        if isinstance(health, str) and health.casefold() == "critical":
            self.note(self.uri, CRITICAL)

    def _kept(self, read: Callable[[Any], T | Odd | None], path: tuple[str, ...]) -> T | None:
        value = read(self.raw(*path))
        if isinstance(value, Odd):
            self.note(self.uri, f"{'.'.join(path)} is {shown(self.raw(*path))}: taken as unknown")
            return None
        return value


def shown(value: Any) -> str:
    """A value as a problem shows it: short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def link_of(value: Any) -> str | None:
    """The usable target of one link object; blank links, fragments and non-text are ``None``."""
    target = value.get("@odata.id") if isinstance(value, dict) else value
    if not isinstance(target, str):
        return None
    target = target.strip()
    return target if target.startswith("/") else None


def targets_of(value: Any) -> tuple[str, ...]:
    """The targets of a link or of a list of links, each once, in order."""
    items = value if isinstance(value, list) else [value]
    found = (link_of(item) for item in items)
    return tuple(dict.fromkeys(target for target in found if target is not None))
