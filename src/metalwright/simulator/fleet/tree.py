"""A resource tree, URI → JSON text, shared by all BMCs of a kind."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metalwright.errors import LabError
from metalwright.simulator.files import read_given_text

NOT_JSON = "__not_json__"
_TOKEN = re.compile(r"\{\{(serial|uuid|code|address|mac|MAC|guid)(?:\+(\d+))?\}\}")
_UUIDS = uuid.UUID("6d657461-6c77-4269-9000-000000000000")


@dataclass(frozen=True)
class Identity:
    """What tells one BMC of a kind from the next. ``number`` counts from 1; ``oui`` is the first half of its MACs."""

    number: int
    address: str
    prefix: str = "MW"
    oui: str = "00:1a:2b"

    @property
    def code(self) -> str:
        """Six digits that are in every serial of this machine."""
        return f"{self.number:06d}"

    @property
    def serial(self) -> str:
        """The serial of the system."""
        return f"{self.prefix}{self.code}"

    def uuid(self, offset: int = 0) -> str:
        """The UUID of the system, or of another part."""
        return str(uuid.uuid5(_UUIDS, f"{self.serial}/{offset}"))

    def mac(self, offset: int) -> str:
        """One of the 64 MAC addresses of this machine."""
        last = f"{(self.number * 64 + offset) % 2**24:06x}"
        return f"{self.oui}:{last[:2]}:{last[2:4]}:{last[4:]}"

    def fill(self, text: str) -> str:
        """Replace the tokens ``{{serial}} {{code}} {{uuid}} {{uuid+3}} {{mac+5}} {{MAC+5}} {{guid+5}} {{address}}``."""
        return _TOKEN.sub(self._value, text)

    def _value(self, match: re.Match[str]) -> str:
        name, offset = match[1], int(match[2] or 0)
        if name == "uuid":
            return self.uuid(offset)
        if name in ("mac", "MAC"):
            return self.mac(offset).upper() if name == "MAC" else self.mac(offset)
        if name == "guid":
            octets = "0C42" + self.mac(offset).replace(":", "").upper()
            return ":".join(octets[place : place + 4] for place in range(0, 16, 4))
        return {"serial": self.serial, "code": self.code}.get(name, self.address)


@dataclass
class Tree:
    """Bodies by path without trailing slash; ``factory`` is the login from the factory; ``truth`` what is in it.

    ``is_captured``: its links may differ in letter case, and it begins with the power that was captured.
    ``same_version`` says where else the version of a firmware item stands: its id → (path, property).
    """

    name: str
    texts: dict[str, str]
    factory: Mapping[str, Any] = field(default_factory=dict)
    serial_prefix: str = "MW"
    oui: str = "00:1a:2b"
    truth: Any = None
    same_version: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    is_captured: bool = False
    task_prefix: str = ""

    def __post_init__(self) -> None:
        self._own = {path for path, text in self.texts.items() if _TOKEN.search(text)}
        self._spellings = {path.lower(): path for path in self.texts} if self.is_captured else {}

    def find(self, path: str) -> str | None:
        """The path as the tree spells it, or None."""
        path = path.rstrip("/")
        if path in self.texts:
            return path
        return self._spellings.get(path.lower())

    def body(self, path: str, identity: Identity | None = None) -> Any:
        """A fresh body of a path that is in the tree."""
        text = self.texts[path]
        if identity is not None and path in self._own:
            text = identity.fill(text)
        return json.loads(text)

    def bodies(self) -> list[tuple[str, dict[str, Any]]]:
        """All bodies that are objects, tokens in them."""
        return [(path, body) for path in self.texts if isinstance(body := self.body(path), dict)]


def make_tree(name: str, bodies: Mapping[str, Any], **details: Any) -> Tree:
    """A tree of plain bodies."""
    texts = {path.rstrip("/"): json.dumps(body, separators=(",", ":")) for path, body in bodies.items()}
    return Tree(name, texts, **details)


def read_capture(path: Path) -> Tree:
    """A tree from disk: a JSON object URI → body. Raises :class:`LabError` naming the file."""
    try:
        data = json.loads(read_given_text(path, "capture"))
    except (ValueError, RecursionError) as error:
        raise LabError("the capture cannot be read", where=str(path), found=str(error)) from error
    if not isinstance(data, dict) or not any(key.rstrip("/") == "/redfish/v1" for key in data):
        raise LabError("this is no capture", where=str(path), expected="a JSON object: URI → body, with /redfish/v1")
    odd = next((uri for uri, body in data.items() if not (uri.startswith("/") and isinstance(body, dict))), None)
    if odd is not None:
        raise LabError("this is no Redfish resource", where=f"{path}: {odd!r}", expected="/redfish/…: a JSON object")
    return make_tree(path.stem, data, is_captured=True)


def read_captures(folder: Path) -> list[Tree]:
    """All captures (``*.json``) of a folder, by name; raises :class:`LabError` when there is none."""
    trees = [read_capture(path) for path in sorted(folder.glob("*.json"))]
    if not trees:
        raise LabError("no capture here", where=str(folder), expected="files NAME.json: URI → body")
    return trees
