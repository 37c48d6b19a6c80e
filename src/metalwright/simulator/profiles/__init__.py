"""Profiles: kinds of machines of several vendors, made for this simulator and copied from none.

``machines/NAME.yaml``  what is in the machine
``styles/NAME.yaml``    how the vendor's BMC arranges it: ids, places, virtual media, settings object, job queue
``bios/NAME.yaml``      BIOS attributes with lists, bounds, read-only ones and dependencies
``render``              makes a resource tree of them, and declares what a reader must find
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from pydantic import ValidationError

from metalwright.errors import LabError
from metalwright.simulator.fleet.tree import Tree
from metalwright.simulator.profiles.machine import MachineData, Style
from metalwright.simulator.profiles.reading import file_names, read_yaml
from metalwright.simulator.profiles.render import render

NAMES: tuple[str, ...] = tuple(file_names("machines"))
"""The profiles, by name."""


@dataclass(frozen=True)
class Profile:
    """One kind of machine."""

    name: str
    summary: str
    tree: Tree


@functools.cache
def load_profile(name: str) -> Profile:
    """The profile of this name; raises :class:`LabError` when there is none."""
    if name not in NAMES:
        raise LabError("no such profile", where=name, expected=", ".join(NAMES))
    try:
        data = MachineData.model_validate(read_yaml(f"machines/{name}"))
        style = Style.model_validate(read_yaml(f"styles/{data.style}"))
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise LabError("a profile is not valid", where=f"{name}: {where}", found=first["msg"]) from error
    return Profile(name, data.summary, render(name, data, style))
