"""Which BMCs a fleet has: addresses, kinds, faults."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from metalwright.errors import LabError
from metalwright.simulator.faults import Fault
from metalwright.simulator.files import read_given_text
from metalwright.simulator.fleet.tree import Identity, Tree

_LOOPBACK = ipaddress.IPv4Network("127.0.0.0/8")


class FaultGroup(BaseModel):
    """Some BMCs and their faults: ``bmcs`` are addresses, prefixes, profile names, or numbers ``3`` and ``3-7``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bmcs: list[str | int] = Field(min_length=1)
    faults: list[Fault] = Field(min_length=1)

    def fits(self, identity: Identity, kind: str) -> bool:
        """Whether a BMC is one of them."""
        return any(_is_meant(str(word), identity, kind) for word in self.bmcs)


def _is_meant(word: str, identity: Identity, kind: str) -> bool:
    if word in ("all", kind, identity.address):
        return True
    first, dash, last = word.partition("-")
    if first.isdecimal() and (not dash or last.isdecimal()):
        return int(first) <= identity.number <= int(last if dash else first)
    try:
        return ipaddress.IPv4Address(identity.address) in ipaddress.IPv4Network(word)
    except ValueError:
        return False


def read_faults(path: Path) -> list[FaultGroup]:
    """A fault file (YAML): a list of groups. Raises :class:`LabError` naming the file and the field."""
    try:
        data: Any = YAML(typ="safe").load(read_given_text(path, "fault file"))
        groups = _Groups.model_validate({"groups": data})
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"][1:])
        raise LabError("the fault file is not valid", where=f"{path}: {field}", found=first["msg"]) from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise LabError("the fault file cannot be read", where=str(path), found=str(error)) from error
    return groups.groups


class _Groups(BaseModel):
    groups: list[FaultGroup]


def place(prefix: str, kinds: Sequence[tuple[Tree, int]], count: int) -> list[tuple[Identity, Tree]]:
    """Give each BMC an address of ``prefix``; kinds with a number get that many, the others share the rest.

    Raises :class:`LabError` when the prefix is too small or not on loopback.
    """
    network = _network(prefix)
    room = max(network.num_addresses - 2, 1)
    fixed = sum(number for _, number in kinds)
    total = max(count, fixed)
    if total > room:
        raise LabError("too many BMCs for the prefix", where=prefix, expected=f"at most {room}", found=str(total))
    trees = list(_spread(kinds, total - fixed))
    hosts = network.hosts() if network.num_addresses > 1 else iter([network.network_address])
    return [
        (Identity(number, str(address), tree.serial_prefix, tree.oui), tree)
        for number, (tree, address) in enumerate(zip(trees, hosts, strict=False), 1)
    ]


def _network(prefix: str) -> ipaddress.IPv4Network:
    try:
        network = ipaddress.IPv4Network(prefix)
    except ValueError as error:
        raise LabError("this is no prefix", where=prefix, found=str(error), expected="such as 127.91.0.0/22") from error
    if not network.subnet_of(_LOOPBACK):
        raise LabError("the prefix is not on the loopback interface", where=prefix, expected=f"inside {_LOOPBACK}")
    return network


def _spread(kinds: Sequence[tuple[Tree, int]], rest: int) -> Iterator[Tree]:
    """Kinds in turn: those with a number until it is used up, those without as long as there is room."""
    left = [number for _, number in kinds]
    is_open = [number == 0 for _, number in kinds]
    if not any(is_open) and rest:
        is_open = [True] * len(kinds)
    while any(left) or (rest and any(is_open)):
        for position, (tree, _) in enumerate(kinds):
            if left[position]:
                left[position] -= 1
                yield tree
            elif is_open[position] and rest:
                rest -= 1
                yield tree
