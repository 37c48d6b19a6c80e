"""Firmware versions against the blueprint's constraints. A version that does not fit is told, not changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyinfra import logger
from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.facts.redfish import FirmwareInventory
from metalwright.operations.redfish.requests import Commands, contained, look, refuse, unreadable
from metalwright.versions import satisfies


@operation()
@contained
def versions(constraints: Mapping[str, str]) -> Commands:
    """Have every constraint hold (``bmc``, ``bios``, or the id or name of a firmware component).

    Refused, with all that is wrong, where one does not hold: an update is a person's act so far. A version that the
    BMC does not tell, or that cannot be compared, is said and left to a later witness.
    """
    seen = look(FirmwareInventory) if constraints else {}
    if seen is None:
        yield unreadable("its firmware versions")
        return
    judged = [
        (name, constraint, item, satisfies(item, constraint))
        for name, constraint in constraints.items()
        for item in _found(name, seen) or [None]
    ]
    for name, constraint, item, holds in judged:
        if holds is None:
            host.log(f"firmware {name}: cannot tell whether {item or 'unknown'} is {constraint}", logger.warning)
    wrong = [f"  {name}: expected {wanted}, found {item}" for name, wanted, item, holds in judged if holds is False]
    if wrong:
        yield refuse("firmware is not as the blueprint wants it:\n" + "\n".join(wrong) + _HINT)
        return
    host.noop("no firmware contradicts the blueprint")


_HINT = "\n\nhint: update it with the maker's tool, then run this again"


def _found(name: str, seen: Mapping[str, Any]) -> Sequence[str | None]:
    if name in ("bmc", "bios"):
        return [seen[f"{name}_version"]]
    wanted = name.casefold()
    return [
        item["version"]
        for item in seen["firmware"]
        if any(wanted in str(item[key] or "").casefold() for key in ("id", "name"))
    ]
