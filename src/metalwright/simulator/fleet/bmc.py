"""One BMC of a fleet: only what is its own is kept."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from metalwright.simulator.fleet.binding import TreeRoutes
from metalwright.simulator.fleet.machine import PretendMachine
from metalwright.simulator.fleet.tree import Identity
from metalwright.simulator.service.answers import Json
from metalwright.simulator.service.bmc import Bmc
from metalwright.simulator.service.traffic import Traffic
from metalwright.simulator.spec import BmcSpec, MachineSpec
from metalwright.simulator.system import SimulatedSystem


class TreeBmc(Bmc):
    """A BMC whose resources come from a tree. ``changes`` holds the properties that were written, by path.

    The host of a profile is off at first; that of a capture is as it was captured.
    """

    def __init__(self, routes: TreeRoutes, identity: Identity, port: int, folder: Path, keep: int = 100) -> None:
        spec = make_spec(routes.tree.factory, identity, port)
        system = SimulatedSystem(
            spec, folder / identity.address, PretendMachine(is_on=routes.begins_on), keeps_files=False
        )
        self.identity = identity
        self._first_power = system.power_state if routes.tree.is_captured else None
        self.changes: dict[str, Json] = {}
        self.tree_routes = routes
        super().__init__(system, routes)
        system.state.bios = {}
        system.at_power_on = lambda: routes.power_on(self)
        self.traffic = Traffic(keep)
        self.task_prefix = routes.tree.task_prefix

    def body(self, path: str) -> Any:
        """The body of a path with what was written to it; raises :class:`KeyError`."""
        body = self.tree_routes.tree.body(path, self.identity)
        changes = self.changes.get(path)
        return merge(body, changes) if changes is not None else body

    @property
    def shows_captured_power(self) -> bool:
        """Whether power is as it was when the tree was captured, so that bodies tell it in their own way."""
        return self.system.power_state == self._first_power

    def change(self, path: str, values: Mapping[str, Any]) -> None:
        """Keep properties, named by dotted paths."""
        kept = self.changes.setdefault(path, {})
        for name, value in values.items():
            place = kept
            *outer, last = name.split(".")
            for part in outer:
                place = place.setdefault(part, {})
            place[last] = value


def make_spec(factory: Mapping[str, Any], identity: Identity, port: int) -> MachineSpec:
    """The specification that the shared parts (accounts, sessions, power) work by."""
    settings = dict(factory)
    if "password" in settings:
        settings["password"] = SecretStr(Identity.fill(identity, settings["password"]))
    bmc = BmcSpec(address=identity.address, port=port, macs=(identity.mac(0),), **settings)
    return MachineSpec(name=identity.address, serial=identity.serial, uuid=identity.uuid(), bmc=bmc, firmware={})


def merge(body: Any, changes: Any) -> Any:
    """``body`` with ``changes`` laid over it; objects are merged, all else is replaced."""
    if not isinstance(body, dict) or not isinstance(changes, dict):
        return copy.deepcopy(changes)
    for key, value in changes.items():
        body[key] = merge(body[key], value) if key in body else copy.deepcopy(value)
    return body
