"""Whether a fault can bite: does its path match anything that the BMCs which it is meant for have?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from metalwright.simulator.faults import Fault
from metalwright.simulator.fleet.binding import TreeRoutes
from metalwright.simulator.fleet.plan import FaultGroup
from metalwright.simulator.fleet.tree import Identity, Tree
from metalwright.simulator.recipes import faults_of


def misaimed(fault: Fault, kinds: Iterable[TreeRoutes], beside: Sequence[Fault] = ()) -> str | None:
    """Say why a fault can never bite at these kinds of BMC; None where it can.

    A recipe bites where one of its faults does. ``beside`` are other faults in force: what they add to answers is asked
    for as well.
    """
    meant = [item for item in faults_of(fault) if item.path is not None]
    if not meant:
        return None
    known = list(kinds)
    told = {uri for item in (*beside, *faults_of(fault)) for uri in _told(item)}
    if any(_reaches(item.path or "", routes, told) for item in meant for routes in known):
        return None
    names = ", ".join(sorted({routes.tree.name for routes in known})) or "any BMC"
    return f"{fault.name}: path {meant[0].path!r} matches no URI of {names}"


def misaimed_groups(
    groups: Sequence[FaultGroup], bmcs: Sequence[tuple[Identity, Tree]], routes_of: dict[int, TreeRoutes]
) -> Iterator[str]:
    """The faults of a file that can never bite, and the groups that mean no BMC; each with its place in the list."""
    for number, group in enumerate(groups):
        meant = {id(tree): routes_of[id(tree)] for identity, tree in bmcs if group.fits(identity, tree.name)}
        if not meant:
            yield f"{number}.bmcs: no BMC is meant by {', '.join(map(str, group.bmcs))}"
            continue
        for place, fault in enumerate(group.faults):
            why = misaimed(fault, meant.values(), group.faults)
            if why is not None:
                yield f"{number}.faults.{place}: {why}"


def _reaches(pattern: str, routes: TreeRoutes, told: Iterable[str]) -> bool:
    expression = re.compile(pattern)
    uris = (*routes.uris(), *told)
    return any(expression.search(uri) or expression.search(f"{uri}/") for uri in uris) or any(
        parent in pattern for parent in routes.growing()
    )


def _told(fault: Fault) -> Iterator[str]:
    """The URIs that the edits of a fault put into answers."""
    yield from _links(json.loads(fault.do.model_dump_json()))


def _links(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("@odata.id", "Location") and isinstance(item, str):
                yield item
            yield from _links(item)
    elif isinstance(value, list):
        for item in value:
            yield from _links(item)
