"""Names of firmware components in blueprints, as far as they can be judged with no BMC in reach (pure)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from metalwright.firmware.components import COMPONENTS, near_component
from metalwright.model.blueprint import Blueprint


@dataclass(frozen=True, slots=True)
class ComponentDoubt:
    """A name that no maker's inventory is known to have; ``loc`` is its place in the blueprint.

    ``refused``: it is one letter away from a component, or allows a downgrade of nothing.
    """

    level: Literal["refused", "unknown"]
    loc: tuple[str | int, ...]
    what: str
    expected: str
    found: str
    hint: str | None = None


def component_doubts(blueprint: Blueprint, catalogued: Collection[str]) -> Iterator[ComponentDoubt]:
    """Doubts about ``firmware`` and ``firmware_downgrades``. ``catalogued`` are components of the site's images."""
    for name in blueprint.firmware:
        if name not in COMPONENTS and name not in catalogued:
            yield _unknown(name)
    for index, name in enumerate(blueprint.firmware_downgrades):
        if name not in blueprint.firmware:
            yield ComponentDoubt(
                "refused",
                ("firmware_downgrades", index),
                f"a downgrade of {name} is allowed, which no constraint asks for",
                f"one of {', '.join(blueprint.firmware) or 'none: the blueprint has no firmware section'}",
                name,
            )


def _unknown(name: str) -> ComponentDoubt:
    near, known = near_component(name), ", ".join(COMPONENTS)
    if near is not None:
        what, hint = f"no maker's inventory is known to have a component {name}", f"did you mean {near!r}?"
        return ComponentDoubt("refused", ("firmware", name), what, f"one of {known}", name, hint)
    return ComponentDoubt(
        "unknown",
        ("firmware", name),
        f"unknown: whether a BMC has a component {name}",
        f"one of {known}, or exactly the id or name of an entry",
        name,
        "`metalwright inspect NODE --json` lists the entries under firmware",
    )
