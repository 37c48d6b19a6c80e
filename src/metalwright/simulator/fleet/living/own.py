"""From a call to the BMC of a tree, and writing what a client may write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from metalwright.simulator.service.answers import Json
from metalwright.simulator.service.routes import Call, Field, Patch

if TYPE_CHECKING:
    from metalwright.simulator.fleet.bmc import TreeBmc


def own(call: Call) -> TreeBmc:
    """The BMC that is called; trees are served by no other kind."""
    bmc: Any = call.bmc
    found: TreeBmc = bmc
    return found


def keep(path: str, fields: Mapping[str, Field]) -> Patch:
    """A patch that keeps what was written to ``path``."""

    async def apply(call: Call, values: Json) -> None:
        own(call).change(path, values)

    return Patch(fields, apply)


def value_at(body: Json, dotted: str) -> Any:
    """The value of a dotted name, or None."""
    place: Any = body
    for part in dotted.split("."):
        place = place.get(part) if isinstance(place, dict) else None
    return place


def has(body: Json, dotted: str) -> bool:
    """Whether a body has a dotted name, null included."""
    *outer, last = dotted.split(".")
    place = value_at(body, ".".join(outer)) if outer else body
    return isinstance(place, dict) and last in place


def present(body: Json, fields: Mapping[str, Field]) -> dict[str, Field]:
    """The fields that a body has."""
    return {name: field for name, field in fields.items() if has(body, name)}
